"""Wenmai (文脉): the ladder of language models as one tool."""

import os

# How often OpenMP threads that wait look again before they sleep: by themselves 300,000 times, which beside another program was
# seen to slow small layers fifteenfold. It is read once, when torch is loaded, and yields to the user's own; kernels/waiting.py
# has them sleep at once while others want their cores.
SPIN_COUNT = "10000"
os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)

__version__ = "0.1.0"
__all__ = [
    "Answerer",
    "Chooser",
    "Classifier",
    "Composer",
    "Encoder",
    "LanguageModel",
    "Mistake",
    "Regressor",
    "Replier",
    "Tagger",
    "Transcriber",
    "Translator",
    "checkpoint",
    "compare",
    "inspect",
    "load",
    "sounds",
]


def __getattr__(name: str):
    """Names are found when they are first used, so that `import wenmai` loads no torch."""
    if name == "Mistake":
        from wenmai.errors import Mistake

        return Mistake
    if name == "checkpoint":
        from wenmai.exchange.hugging_face import checkpoint

        return checkpoint
    if name == "sounds":
        from wenmai.data.files.sounds import sounds

        return sounds
    if name == "compare":
        from wenmai.evaluation.comparison import compare

        return compare
    if name == "inspect":
        from wenmai.inspection.inspecting import inspect

        return inspect
    if name in __all__:
        from wenmai import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'wenmai' has no attribute {name!r}")


def __dir__():
    return __all__
