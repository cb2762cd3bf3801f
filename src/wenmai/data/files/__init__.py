"""Files → rows, a format a file.

readers.py    which format a file is in; Chunk and Table, what every format gives
bounds.py     how much of a file is read at the most
opening.py    finding files, undoing their compression, decoding their text; packing.py: writing them packed
columns.py    which column is which: headers, --columns, the words that tasks know
languages.py  names of columns and common characters, in English and Chinese
guessing.py   which column is which, told by what they hold
delimited.py  CSV, TSV, plain text
objects.py    JSON: an object a line, a list of them, SQuAD
stories.py    questions about texts: bAbI, C3
conll.py      CoNLL: a token a line with its marks
sheets.py     workbooks of Excel
folders.py    a file or a folder a label
part_files.py  a folder with files to train, to validate and to test; several as one
images.py     manifests of PNG and JPG files
sounds.py     WAV, FLAC and OGG files; waves.py: plain WAV, with nothing installed
idx.py        the idx images of MNIST
pairs.py      a text and what it becomes: two columns, or two aligned files
vectors.py    vectors, written row by row: .npy, Parquet, the text of GloVe
corpus.py     running text, a block of whole lines at a time; documents.py: parted by blank lines
"""
