"""Looking inside: what a trained model came to on a user's own text, as panels (page/panels.py) that terminal, files, notebook
and lab show alike.
"""
