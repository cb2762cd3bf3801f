"""Parts that two or more rungs use, as formulas.

body.py             what a body is: x, mask, state → y, mask, state
embedding.py        input layers: a batch → (x, mask); spelling.py: a token from its letters; positions.py: where it stands
cells.py            one step of every recurrent cell; recurrent.py: a cell over a sequence
attention.py        queries, keys, values; transformer.py: the Transformer block, and blocks upon one another
packing.py          rows laid end to end, so that nothing is computed on padding; cache.py: what is kept of a text
window.py           every place with its neighbours
context.py          attention of a recurrent network to states; cross_attention.py: of a Transformer to a memory
query_reduction.py  a question that changes with every sentence that bears on it
copying.py          a word is said, or taken from the source
heads.py            the last weights, the losses (losses.py), the outputs; crf.py: of whole rows of tags
ctc.py              a text for frames that nobody has aligned; sound.py: what training changes in sounds
questions.py        heads of questions about a text: a span of it, one of several
pretraining.py      the head that guesses hidden words, and whether a sentence follows another
dropout.py          and first_weights.py: what is drawn by chance
trace.py            what a network writes down of its inside
"""
