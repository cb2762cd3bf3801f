"""Models of other tools.

arpa_files.py  ARPA files become runs, runs become ARPA files
"""
