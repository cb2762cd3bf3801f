"""What a model reads and writes: each kind learns from the training rows, encodes values, and goes to JSON and back.

kinds.py         texts, pairs of texts, numbers, images, frames; which kind a user's inputs are
tokens.py        tokens that were cut already, with their letters
pieces.py        such tokens, each read in pieces
questions.py     questions and the passages that answer them
labels.py        one of a few names, by which a text is asked for
target_texts.py  texts that a model learns to write
sides.py         what is read and what is written, side by side; stories.py: read are a context and a question, apart
sounds.py        sounds, and sounds with what is said in them
copying.py       words of a source that can be copied
"""
