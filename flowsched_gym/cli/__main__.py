"""Runs the command line by ``python -m flowsched_gym.cli``."""

import sys

from flowsched_gym.cli import main

if __name__ == "__main__":
    sys.exit(main())
