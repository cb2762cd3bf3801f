"""What others use a model for.

filtering.py  the lines of a file that a language model finds likely enough
"""
