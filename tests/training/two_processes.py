"""Trains every case and writes what each of them answers; started alone or by torchrun (test_distributed.py)."""

import sys

import numpy as np
from test_contract import NETWORKS, encoded, made

from wenmai.data.examples.sequences import Sequences
from wenmai.estimators import ESTIMATORS
from wenmai.options import NoEffect
from wenmai.training.distributed import team

SMALL = {
    "hidden": 8,
    "embed": 8,
    "width": 8,
    "heads": 2,
    "filters": 4,
    "stages": 1,
    "patch": 2,
    "dropout": 0.0,
    "masks": 0,
    "steps": 6,
    "evaluations": 2,
    "precision": "float32",
    "device": "cpu",
}
# What moves all scores of a row alike, which are compared with one another, has no gradient but noise: Adam would step by it.
COMPARED = ("answer", "choose")
found = {}
for rung, task, kind in NETWORKS:
    for parallel, optimizer in (("ddp", "lazy-adamw"), ("fsdp", "adamw")):
        options = {
            name: value
            for name, value in SMALL.items()
            if name in ESTIMATORS[task](rung).get_params()
        }
        options |= {"optimizer": "sgd" if task in COMPARED else optimizer} | (
            {"parallel": parallel} if team().size > 1 else {}
        )
        data, model = made(kind, rows=37, task=task), None
        while model is None:
            try:
                model = ESTIMATORS[task](rung, **options).fit(*data)
            except NoEffect as idle:  # on what is read here
                del options[idle.message.values["option"]]
        if team().rank == 0:
            outputs = model.outputs(encoded(model, data[0]))
            name = f"{rung} {task} {kind} {parallel}"
            found[f"{name} outputs"] = outputs.flat if isinstance(outputs, Sequences) else outputs
            found[f"{name} losses"] = np.array([progress.loss for progress in model.progress_])
DOCUMENTS = [
    "\n".join(f"{one} {two} {three}" for one in "abc") for two in "defg" for three in "hijk"
]
for parallel, optimizer in (
    ("ddp", "lazy-adamw"),
    ("fsdp", "adamw"),
):  # two losses, each with a count of its own
    options = {
        name: SMALL[name]
        for name in ("width", "heads", "dropout", "steps", "evaluations", "precision", "device")
    }
    options |= {"optimizer": optimizer, "batch_tokens": 100} | (
        {"parallel": parallel} if team().size > 1 else {}
    )
    model = ESTIMATORS["pretrain"]("bert", **options).fit(DOCUMENTS)
    if team().rank == 0:
        found[f"bert pretrain {parallel} outputs"] = model.predict_proba(
            [("a d h", "b d h"), ("a e i", "c g")]
        )
        found[f"bert pretrain {parallel} losses"] = np.array(
            [progress.loss for progress in model.progress_]
        )
if team().rank == 0:
    np.savez(sys.argv[1], **found)
