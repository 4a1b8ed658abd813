"""Compiles the engines that many tests need, before tests run in several processes, which would compile the same.

``python -m tests.compile 2`` does so in two processes; where everything is on disk, it takes seconds.
"""

import gc
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Final

import gymnasium as gym

import flowsched_gym
from flowsched_gym.machine_code.drawing import take_loops
from flowsched_gym.machine_code.messages import QUIET_VARIABLE
from flowsched_gym.workload import draw_flows, make_workload
from tests.environments import FEW_OVER_PACKETS, OVER_PACKETS
from tests.envs.episodes import SHORT
from tests.simulate import COMPILED, Variant, parameters_for


def compile_environment(env_id: str, **arguments: object) -> None:
    """Plays a step of a vector environment."""
    envs = gym.make_vec(env_id, 2, "vector_entry_point", **arguments)
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())


def compile_replay(variant: Variant, **parameters: object) -> None:
    """Replays a few flows by a discipline."""
    flows = draw_flows(make_workload("gather-heavy"), num_flows=10, seed=0)
    parameters |= parameters_for(variant, flows)
    flowsched_gym.replay(
        flows, discipline=variant.discipline, topology="big-switch", parameters=parameters, engine="compiled"
    )


# The longest ones come first, so that the processes end at about the same time.
WORK: Final[tuple[Callable[[], None], ...]] = (
    take_loops,
    *(partial(compile_environment, OVER_PACKETS[case][0], **OVER_PACKETS[case][1]) for case in FEW_OVER_PACKETS),
    *(partial(compile_environment, env_id, **arguments) for env_id, arguments in reversed(SHORT.items())),
    *(partial(compile_replay, Variant("merp"), routing=routing) for routing in ("ecmp", "memr")),
    *(partial(compile_replay, variant) for variant in COMPILED),
)


def main() -> None:
    """Compiles in as many processes as the command line says."""
    sys.stdout.write("Compiling what many tests need, which takes minutes the first time\n")
    sys.stdout.flush()
    os.environ.setdefault(QUIET_VARIABLE, "1")
    # To look through all that the compiler keeps again and again took a tenth of the time.
    collect_seldom = partial(gc.set_threshold, 50_000, 50, 100)
    with ProcessPoolExecutor(int(sys.argv[1]), get_context("spawn"), collect_seldom) as pool:
        for done in [pool.submit(work) for work in WORK]:
            done.result()


if __name__ == "__main__":
    main()
