"""Files → rows, a format a file.

readers.py    which format a file is in; Chunk and Table, what every format gives
opening.py    finding files, undoing their compression, decoding their text
columns.py    which column is which: headers, --columns, the words that tasks know
delimited.py  CSV, TSV, plain text
objects.py    JSON: an object a line, a list of them, SQuAD
conll.py      CoNLL: a token a line with its marks
images.py     manifests of PNG and JPG files
idx.py        the idx images of MNIST
pairs.py      a text and what it becomes: two columns, or two aligned files
corpus.py     running text, a block of whole lines at a time
"""
