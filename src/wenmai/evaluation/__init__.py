"""Estimators side by side, and small experiments.

compare.py         every rung on the same rows under one budget
recommendation.py  the smallest that cannot be told from the best
report.py          report.json, report.md, report.html and the pictures
probes/            why a rung is built as it is: a table and a picture each
"""
