"""Encoded rows, and the batches made of them.

sequences.py  ragged rows in two arrays
pieces.py     words that are read in pieces, and answered word by word
passages.py   questions about passages, read in windows that overlap
choices.py    questions with several choices, read side by side
rows.py       inputs and their targets, row for row
streams.py    running text as one row of tokens, read in windows
masked.py     running text with words hidden, and pairs of its sentences
stored.py     texts and tokens that are too many for memory, in files
batches.py    tensors of rows of like length
"""
