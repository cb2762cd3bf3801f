"""Running text over any network that can `step`: how probable it is, and how it is written.

network_model.py     a network with the verbs of a language model
scoring.py           log p of every token, as the network reads on
judging.py           other ways to judge a text: windows, a cache, dynamic evaluation
continuous_cache.py  what was written a while ago is written again
spelling.py          what unknown tokens cost when they are spelled out
dynamic.py           the network learns from a text while it is judged by it
replay.py            a step recorded once and replayed, on a GPU
"""
