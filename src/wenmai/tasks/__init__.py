"""Tasks, one file a shape: columns, targets, head, answers, scores.

classify.py    N→1: a label                      tag.py      N→N: a tag a token
regress.py     N→1, N→N: numbers                 generate.py the next token
compose.py     1→N: a text for a label …         translate.py N→M: a text for a text
pretrain.py    N→N, N→1: hidden words, and whether a sentence follows another
answer.py      N→span: a part of a context       choose.py   one of several answers
reply.py       N→M: an answer written out        references.py contexts, questions, right answers; spans.py: the best of all
transcribe.py  frames→M: what is said in a sound; transcripts.py: how it is found; prefix_beam.py: by CTC and a language model;
               listening.py: while it comes
contract.py    what an estimator asks of a task, and what passes between the two
rows.py        what tasks share whose data are rows; writing.py: those that write texts
columns.py     what all of them read of a row
profile.py     what compare, the report and the command line ask of a task
measuring/     what compare shows of a trained estimator
overviews.py   what `wenmai data` tells of a data set
reading_scores.py exact match and F1 of answers
metrics.py     the bootstrap and its intervals; overlap.py: BLEU, chrF, ROUGE
decoding.py    the next token chosen; beam.py: the best of many texts; hypotheses.py: of a translator; continuation.py: how a
               language model goes on
"""
