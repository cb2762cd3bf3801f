"""The checkpoints that a run kept (train --keep N): the same estimator with the weights it had on the way."""

from __future__ import annotations

from copy import copy, deepcopy
from pathlib import Path

import torch
from torch import nn

from wenmai.errors import Mistake, typed
from wenmai.training.run_folder import KEPT_WEIGHTS


def estimators_of(run: Path, estimator) -> dict[str, object]:
    """By the number of updates, the first first; the last is the run itself."""
    from safetensors.numpy import load_file

    estimators = {}
    for path in sorted(
        path for path in run.glob("kept-*.safetensors") if KEPT_WEIGHTS.fullmatch(path.stem)
    ):
        weights, model = load_file(path), deepcopy(estimator.model_)
        if isinstance(model, nn.Module):
            known = model.state_dict()
            model.load_state_dict(
                {
                    name: torch.from_numpy(array).view_as(known[name])
                    for name, array in weights.items()
                }
            )
        else:
            model.load(weights)
        earlier = copy(estimator)
        earlier.model_ = model
        estimators[f"{int(path.stem.removeprefix('kept-')):,}"] = earlier
    if not estimators:
        raise Mistake(
            "{run} kept no checkpoints on its way; train it again with --keep 5, and then --steps shows them.",
            run=typed(run),
        )
    last = estimator.progress_[-1].step if estimator.progress_ else 0
    return estimators | {f"{last:,}": estimator}
