"""Compiles the engine before it is needed, for images and clusters: ``flowsched compile``."""

import argparse
import time
from typing import Any

import gymnasium

from flowsched_gym.cli.arguments import key_values
from flowsched_gym.registration import SYSTEMS, check_arguments


def run(options: argparse.Namespace) -> None:
    """Plays a step of each environment in its vector form, and tells how long that took."""
    kwargs: Any = key_values("--kwarg", options.kwarg)
    ids = options.environments or [environment.id for system in SYSTEMS for environment in system.environments]
    for env_id in ids:
        check_arguments(env_id, kwargs)
    for env_id in ids:
        begin = time.monotonic()
        envs = gymnasium.make_vec(env_id, num_envs=1, **kwargs)
        envs.reset(seed=0)
        envs.action_space.seed(0)
        envs.step(envs.action_space.sample())
        envs.close()
        print(f"{env_id} is compiled ({time.monotonic() - begin:.1f} s)", flush=True)
