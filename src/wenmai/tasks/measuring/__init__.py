"""What compare shows of a trained estimator on the test part, task by task: quality, mistakes, speed, and what every row adds to
the metric, from which intervals follow. Each gives (what stands in the rung's row of the report, those terms).

rows.py          classify, tag, regress: answers, right or wrong; and the latency of one prediction, of all tasks
running_text.py  generate: how likely the lines of a text are; perplexity, or bits per byte where models cut it differently
hidden_words.py  pretrain: how many hidden words are guessed, and pairs told right
compositions.py  compose: how likely the test texts are, the least likely of them, and some that are written
translations.py  translate: the texts that are written, by length of source too; and the lead, a summary without a model
transcripts.py   transcribe: the texts that are heard
baselines.py     what can be had without a model, of every task
"""
