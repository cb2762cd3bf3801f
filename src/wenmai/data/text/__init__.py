"""Text → numbers, and tags ↔ spans.

special.py     tokens that stand for no part of a text
tokenizers.py  bytes, characters, words, Chinese words, and the subwords BPE, WordPiece, Unigram
vocabulary.py  words and their numbers; hashing.py: the table in which they are looked up
lines.py       running text as numbers, every line opened and closed
vectors.py     pretrained word vectors
features.py    n-grams of a text as sparse rows; templates.py: of a token in its row
schemes.py     tagging schemes: how spans are written as tags
languages.py   which language a text is in
"""
