"""Makes every test process single-threaded, without a display and without a network, before anything is imported.

What tests read of standard error does not depend on what is compiled yet: no line tells of it.
"""

import os

# Libraries read these when they are first imported; a value that the caller set stays.
for _name, _value in {
    "FLOWSCHED_QUIET": "1",
    "OMP_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
    "WANDB_MODE": "offline",
    "WANDB_SILENT": "true",
}.items():
    os.environ.setdefault(_name, _value)
