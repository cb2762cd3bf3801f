"""Training: what makes weights of examples, and keeps them.

loop.py         the schedule of anything that has gradients
descent.py      one update; captured.py: all of it in one launch of a GPU
optimizers.py   and the learning rate's path
passes.py       over the rows, for rungs that learn without the loop
progress.py     what training yields
memory.py       what there is, what a batch needs, and what to do when it does not fit
distributed.py  more than one process
checkpoints.py  going on after a stop
run_folder.py   all there is to know of a trained estimator; folders.py: whole or not there
"""
