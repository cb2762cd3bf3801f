"""The rungs, a file a family, each opening with its paper and formula; in the order of the ladder.

ngram/                  counts, smoothed
perceptron.py           and structured_perceptron.py: learning from mistakes only
linear.py               linear, logistic, softmax
network.py              what every rung with gradients is: input layer, body, head
mlp.py, cnn.py, rnn.py  layers, filters, cells
attention.py            a recurrent network that looks back; transformer.py: nothing but looking
attention_reader.py     the same for the answer to a question
gpt.py                  blocks that look back only; bert.py: both ways, over texts that are framed
encoder_decoder.py      networks that read one thing and write another: seq2seq.py, attention_decoder.py, recurrent_decoder.py
repliers.py             those that read a question and a context apart, and write the answer
transcribers.py         those that hear a sound and write what is said
sizes.py                how large a language model should be; token_scores.py: what one says of tokens
explanation.py          what rungs without gradients say of an answer of theirs
"""
