"""Sound → features.

resampling.py  any rate to any other, a piece at a time
features.py    log-mel features, as librosa and Kaldi have them, a piece at a time
"""
