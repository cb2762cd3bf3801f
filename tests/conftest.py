"""What holds for all tests."""

import os

# Models this small gain nothing from threads, which on a busy machine wait for one another; set before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
