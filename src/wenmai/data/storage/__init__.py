"""What is kept in files, and how memory and threads read it.

arrays.py       named arrays in one file, mapped into memory
saved.py        what was saved as JSON, each value checked as it is taken out
caches.py       a folder of the user's own for what is compiled, or none
prefetching.py  memory asked for ahead of a loop
threads.py      work cut into parts, a thread a part
"""
