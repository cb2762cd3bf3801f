"""The sums of layers/ as machine code, where the library's usual way is slow.

block_step.py  one token more through a stack of Transformer blocks, on a CPU
products.py    products with a few vectors
unrolled.py    an LSTM over time, forward and back
next_loss.py   the loss of the next token without its table
"""
