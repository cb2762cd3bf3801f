"""N-gram models, in the order in which they are made and read.

model, classifier              the rung: a language model, or one a class; numbering: how both number words
counts                         n-grams of a text, sorted; spilled, merging: larger than memory; spark, spark_session: a machine
smoothing, additive, discounts what the unseen gets; weights: what comes of it; held_out: a text looked up in counts
pruning                        what the model can do without
estimation                     all of this, as the user chose it
table, trie                    the two layouts, fast and small; layout: what they share; packing: fields of bits
arpa                           the format of other tools; scanning, joining, printing: its bytes
"""
