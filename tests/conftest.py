"""Makes every test process single-threaded, without a display and without a network, before anything is imported."""

import os

# Libraries read these when they are first imported; a value that the caller set stays.
for _name, _value in {
    "OMP_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
}.items():
    os.environ.setdefault(_name, _value)
