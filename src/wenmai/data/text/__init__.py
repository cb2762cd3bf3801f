"""Text → numbers, and tags ↔ spans.

tokenizers.py  bytes, characters, words, Chinese words; subwords.py: BPE, WordPiece, Unigram; special.py: tokens of no text
wrapping.py    what stands around texts: [CLS] a [SEP] b [SEP]
unigram.py     how the pieces of Unigram are learned: the same texts give the same
sentences.py   the sentences of documents; sentence_places.py: where those of a text stand
whole_words.py which tokens make a word together
vocabulary.py  words and their numbers; hashing.py: the table in which they are looked up
lines.py       running text as numbers, every line opened and closed
vectors.py     pretrained word vectors
features.py    n-grams of a text as sparse rows; templates.py: of a token in its row
schemes.py     tagging schemes: how spans are written as tags
languages.py   which language a text is in
"""
