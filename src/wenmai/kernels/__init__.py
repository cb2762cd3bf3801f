"""The sums of layers/ as machine code, where the library's usual way is slow.

attention.py   the library's fused attention, and which of its kernels is used
block_step.py  one token more through a stack of Transformer blocks, on a CPU
encoding.py    whole texts through such a stack, end to end
products.py    products with a few vectors; cores.py: work in parts, a thread and a core a part
recurrent.py   a recurrent layer by the library's kernels; unrolled.py: an LSTM over time by hand, forward and back
next_loss.py   the loss of the next token without its table
crf.py         the passes of a conditional random field
"""
