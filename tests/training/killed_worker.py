"""`wenmai …`, whose second process is killed once in the middle of training (test_distributed.py)."""

import os
import signal
import sys

from wenmai.cli.commands import main
from wenmai.training import checkpoints, loop

loop.TOLD, checkpoints.OFTEN, checkpoints.SHARE = -1.0, -1.0, 0
often, command = sys.argv[1], sys.argv[2:]
keep = checkpoints.Checkpoints.keep


def kept(self, estimator, progress, asked):
    keep(self, estimator, progress, asked)
    first = os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0"
    if often == "once" and first and self.team.rank == 1 and progress.step >= 20:
        os.kill(os.getpid(), signal.SIGKILL)


checkpoints.Checkpoints.keep = kept
sys.argv = ["wenmai", *command]
main()
