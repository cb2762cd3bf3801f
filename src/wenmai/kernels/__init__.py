"""The sums of layers/ as machine code, where the library's usual way is slow.

attention.py       the library's fused attention, and which of its kernels is used
panels.py          products with some vectors: W in the order in which it is read; functions.py: functions of one number
self_attention.py  attention of whole texts by such products
sharing.py         products and attention that threads share; cores.py: work in parts, a thread and a core a part
waiting.py         torch's own threads: awake or asleep while they wait for one another
block_step.py      one token more through a stack of Transformer blocks, on a CPU; encoding.py: whole texts
beam_search.py     beam search through a Transformer's decoder, whole
products.py        products with a few vectors, and in 16 bits; kept.py: what is made of weights, as long as they stay
recurrent.py       a recurrent layer by the library's kernels; unrolled.py: an LSTM over time by hand, forward and back
next_loss.py       the loss of the next token without its table
crf.py             the passes of a conditional random field
"""
