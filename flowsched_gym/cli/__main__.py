"""Runs the command line by ``python -m flowsched_gym.cli``."""

import sys

from flowsched_gym.cli.app import main

sys.exit(main())
