"""Estimators side by side, and small experiments.

compare.py         every rung on the same rows under one budget; unfinished.py: the rungs that are done, if it is stopped
comparison.py      the same in Python: leaderboard, recommendation and report as one object
added.py           what is added to them: whether a run has seen the rows that judge it; what is started from
how_far.py         whether more minutes would change what is said of a rung
recommendation.py  the smallest of those that may be the best
groups.py          rows have groups, such as the tasks of bAbI: each is scored too
report.py          report.json, report.md, report.html and the pictures
probes/            why a rung is built as it is: a table and a picture each
"""
