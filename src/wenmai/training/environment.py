"""What libraries below torch read from the environment, once, when they are first used; a value that the user has set stays."""

import os

# A product of another shape is another kernel, and batches have many shapes: by itself oneDNN keeps a thousand kernels.
ALWAYS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64"}
# cuBLAS adds in one order only where it has memory of its own to do so.
DETERMINISTIC = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


def prepare(deterministic: bool) -> None:
    """To be called before the first update."""
    for name, value in (ALWAYS | (DETERMINISTIC if deterministic else {})).items():
        os.environ.setdefault(name, value)
