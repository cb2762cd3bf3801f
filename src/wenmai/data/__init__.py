"""A user's data, on its way from files to batches; the folders stand in the order of that way.

files/       files → rows: a format a file
text/        text → numbers: tokenizers, vocabularies, features; tags ↔ spans; languages
sound/       sound → features: resampling, log-mel frames
inputs/      what a model reads and writes: the kinds of input, and how each is encoded
examples/    encoded rows, streams, batches; what is too large for memory
storage/     arrays in files, what was saved and is checked, threads
builtin/     data sets that need no download
dataset.py   a user's data, opened: its task, its parts, what is wrong with it
understanding.py  which columns are read: found again, named so, or guessed
parts.py     the rows of a table as inputs and targets; what is bad among them
splits.py    rows by seed and group, or by position: no input on both sides
values.py    whatever a user holds inputs and targets in
"""
