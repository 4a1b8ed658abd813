"""Times a decision about long flows (AuTO, Figure 17): the paper's networks, and the environment's own work."""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Final

import numpy as np

from flowsched_gym.envs import NetworkView
from flowsched_gym.evaluation.environment import make_vector
from flowsched_gym.systems.auto.long_flows.control import RATE_STEPS, LongFlowsControl
from flowsched_gym.systems.auto.long_flows.vector import AuTOLongFlowsVectorEnv
from flowsched_gym.units import SECONDS_PER_MILLISECOND

ENVIRONMENT: Final = "flowsched/AuTOLongFlows-v0"
SIZES: Final = ((11, 10), (100, 100), (300, 300), (1000, 1000))
"""Active and finished flows that an agent sees; the first pair is the paper's (section 5.2.2)."""
ACTOR: Final = (700, 600, 600, 3)
"""Widths of the thresholds agent's actor: its observation, two hidden layers, its action."""
HIDDEN: Final = (300,) * 10
"""Hidden layers of the long-flow agent."""
ACTIVE_FEATURES: Final = 6
FINISHED_FEATURES: Final = 7
STEPS: Final = 200
"""Steps before the environment's work is timed, so that there are long flows."""
REPEATS: Final = 101


def measure(repeats: int = REPEATS) -> dict[str, object]:
    """Times forward passes on one thread and the environment's own work; medians in ms."""
    rows = []
    for active, finished in SIZES:
        widths = (
            ACTIVE_FEATURES * active + FINISHED_FEATURES * finished,
            *HIDDEN,
            active * 4 * len(RATE_STEPS) * 3,
        )
        rows.append(
            {
                "n_l": active,
                "m_l": finished,
                "network_ms": forward_ms(widths, repeats),
                "environment_ms": environment_ms(active, finished, repeats),
            }
        )
    return {"repeats": repeats, "actor_ms": forward_ms(ACTOR, repeats), "long_flows": rows}


def forward_ms(widths: tuple[int, ...], repeats: int) -> float:
    """Times one observation through a fully connected network with these widths, on one thread."""
    import torch  # noqa: PLC0415 - the other studies run without it

    torch.set_num_threads(1)
    layers: list[torch.nn.Module] = []
    for before, behind in pairwise(widths):
        layers += [torch.nn.Linear(before, behind), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1])
    observation = torch.zeros(1, widths[0])
    with torch.no_grad():
        return median_ms(lambda: network(observation), repeats)


def environment_ms(active: int, finished: int, repeats: int) -> float:
    """Times acting, paying and observing of the environment in one state of the network; nothing is simulated."""
    arguments = {"scope": "network", "n_l": active, "m_l": finished}
    envs = make_vector(ENVIRONMENT, arguments, num_envs=1)
    assert isinstance(envs, AuTOLongFlowsVectorEnv)
    envs.reset(seed=0)
    nothing = np.zeros((1, *envs.single_action_space.shape), dtype=np.int64)  # type: ignore[misc]  # MultiDiscrete has one
    for _ in range(STEPS):
        envs.step(nothing)
    view, control = envs.view(0), LongFlowsControl(envs.config)
    memory = np.zeros(control.memory_size)
    return median_ms(lambda: decide(view, control, memory, nothing[0]), repeats)


def decide(view: NetworkView, control: LongFlowsControl, memory: np.ndarray, action: np.ndarray) -> None:
    """Does what the environment does once per step beside simulating."""
    control.act(view, memory, control.check(action))
    control.pay(view, memory)
    control.observe(view, memory)


def median_ms(work: Callable[[], object], repeats: int) -> float:
    """Returns the median time of some work in ms; the first run is not counted."""
    work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return round(float(np.median(times)) / SECONDS_PER_MILLISECOND, 4)
