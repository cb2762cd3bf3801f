"""iris and digits: what people have measured, from scikit-learn."""

import numpy as np

from wenmai.data.builtin.packages import module
from wenmai.data.readers import Chunk


def iris() -> Chunk:
    data = module("sklearn.datasets", "iris").load_iris()
    names = [name.removesuffix(" (cm)").replace(" ", "_") for name in data.feature_names]
    columns = {name: np.ascontiguousarray(values) for name, values in zip(names, data.data.T)}  # each (150,)
    columns["label"] = [str(data.target_names[target]) for target in data.target]
    return Chunk(columns, range(1, len(data.target) + 1))


def digits() -> Chunk:
    data = module("sklearn.datasets", "digits").load_digits()
    image = data.images.astype(np.uint8)  # (1797, 8, 8), 0 to 16
    return Chunk({"image": image, "label": [str(target) for target in data.target]}, range(1, len(image) + 1))
