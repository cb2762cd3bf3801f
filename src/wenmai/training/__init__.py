"""Training: what makes weights of examples, and keeps them.

loop.py         trains anything that has gradients; options.py: its options
schedule.py     how long, when judged, the rate of a step
updater.py      one update; captured.py: all of it in one launch of a GPU; averaging.py: the mean of the weights
recovery.py     what it goes back to when a loss is no number
optimizers.py   from gradients to weights; fine_tuning.py: with care, where they were learned before
passes.py       over the rows, for rungs that learn without the loop
progress.py     what training yields; progress_line.py: on one line, as fit shows it
memory.py       what there is, what a batch needs, and what to do when it does not fit
distributed.py  more than one process
checkpoints.py  going on after a stop; interrupts.py: Ctrl-C and SIGTERM
run_folder.py   all there is to know of a trained estimator; folders.py: whole or not there
"""
