"""iris and digits: what people have measured, from scikit-learn."""

import numpy as np

from wenmai.data.builtin.packages import module
from wenmai.data.files.readers import Chunk
from wenmai.errors import unknown

ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
NAMES = {"words": ENGLISH, "zh": list("零一二三四五六七八九")}


def iris() -> Chunk:
    data = module("sklearn.datasets", "iris").load_iris()
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in data.feature_names]
    columns = {
        name: np.ascontiguousarray(values) for name, values in zip(names, data.data.T)
    }  # each (150,)
    columns["label"] = [str(data.target_names[target]) for target in data.target]
    return Chunk(columns, range(1, len(data.target) + 1))


def digits(*, digits: str = "") -> Chunk:
    """Pictures and their labels; with the option `words` or `zh`, pictures and their names in English or Chinese."""
    if digits and digits not in NAMES:
        raise unknown("kind of names", digits, NAMES)
    data = module("sklearn.datasets", "digits").load_digits()
    image = data.images.astype(np.uint8)  # (1797, 8, 8), 0 to 16
    answer = (
        {"text": [NAMES[digits][target] for target in data.target]}
        if digits
        else {"label": list(map(str, data.target))}
    )
    return Chunk({"image": image} | answer, range(1, len(image) + 1))
