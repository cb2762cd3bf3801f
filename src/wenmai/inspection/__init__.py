"""Looking inside: what a trained model came to on a user's own text, as panels (page/panels.py) that terminal, files, notebook
and lab show alike.

inspecting.py   one input looked into: which panels there are, which come unasked; runs side by side, a run over its checkpoints
reading.py      a reading: one input, its words, its answer, what speaks for it, what is left without a word
words.py        pieces and bytes joined into words
attention.py    every layer and head, mean, rollout, alignment, patches of a picture
gates.py        gates and states of recurrent cells; units that follow quotes, brackets, the line
attribution.py  input × gradient, integrated gradients, occlusion
explained.py    rungs without gradients: features and their weights, n-grams and their back-off
filters.py      filters that fired, and where
switches.py     a head, layer, unit, gate, filter or word taken out: the answer before and after, ranked
neighbours.py   training rows nearest to an input in the last layer
sounds.py       the spectrogram, and which step says which letter
surprise.py     probability and entropy of each token
embeddings.py   nearest words, analogies, a map
positions.py    the matrix of positions, and how alike they are
gradients.py    gradient flow over steps
activations.py  activation functions with the values that the model saw
formula.py      one square of a map, or one step of a cell, with its numbers and its line of source
kept.py         the checkpoints that a run kept
structure.py    the diagram of a rung or a run; unrolled.py: networks over time; sketch.py: the sheet they are drawn on
"""
