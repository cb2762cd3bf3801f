"""`wenmai …` in which the second process of torchrun is given something else: it reads `other` where the first reads `same`, and
takes the seed 1 (test_distributed.py)."""

import os
import sys

from wenmai.cli import main

what, *words = sys.argv[1:]
if os.environ["RANK"] == "1":
    words = (
        [word.replace("same", "other") for word in words]
        if what == "rows"
        else [*words, "--seed", "1"]
    )
sys.argv = ["wenmai", *words]
main()
