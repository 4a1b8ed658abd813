"""Times decisions of AuTO's agents (Figure 17): the paper's networks, and the environments' own work."""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np

from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.envs import DecisionEnv
from flowsched_gym.evaluation.engines import make_environment
from flowsched_gym.flows.decisions import show
from flowsched_gym.machine_code import decorators as compiling
from flowsched_gym.machine_code.decorators import SteadyRule
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.systems.auto.long_flows.rules import PARTS, RATE_STEPS
from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv

THRESHOLDS: Final = "flowsched/AuTOThresholds-v0"
LONG_FLOWS: Final = "flowsched/AuTOLongFlows-v0"
SIZES: Final = ((11, 10), (100, 100), (300, 300), (1000, 1000))
"""Active and finished flows that an agent of long flows sees; the first pair is the paper's (section 5.2.2)."""
OBSERVATIONS: Final = ("paper", "summary")
"""What the agent of thresholds sees."""
ACTOR: Final = (600, 600)
"""Hidden layers of the actor of the thresholds agent."""
HIDDEN: Final = (300,) * 10
"""Hidden layers of the long-flow agent."""
ACTIVE_FEATURES: Final = 6
FINISHED_FEATURES: Final = 7
PERIODS: Final = {THRESHOLDS: 10, LONG_FLOWS: 100}
"""Periods before the environment's work is timed, after which about half of the flows have finished."""
REPEATS: Final = 101
TURN: Final = 10
"""Turns of network and environment, and runs in each: what else the machine does then weighs on both alike."""


def measure(repeats: int = REPEATS) -> dict[str, object]:
    """Times forward passes on one thread, and the environments' own work, in turn; medians in ms.

    Rules are compiled at once, as they are soon in longer runs.
    """
    compiling.TIME_BEFORE_COMPILING = 0.0
    thresholds, long_flows = [], []
    for observation in OBSERVATIONS:
        env = thresholds_env(observation)
        actor = forward_pass((env.layout.size, *ACTOR, env.config.num_thresholds))
        work = work_of(env, np.zeros(env.config.num_thresholds), PERIODS[THRESHOLDS])
        thresholds.append({"observation": observation, **medians_ms(actor, work, repeats)})
    for active, finished in SIZES:
        seen = ACTIVE_FEATURES * active + FINISHED_FEATURES * finished
        network = forward_pass((seen, *HIDDEN, active * 4 * len(RATE_STEPS) * 3))
        work = work_of(long_flows_env(active, finished), np.zeros(active * PARTS, dtype=np.int64), PERIODS[LONG_FLOWS])
        long_flows.append({"n_l": active, "m_l": finished, **medians_ms(network, work, repeats)})
    return {"repeats": repeats, "thresholds": thresholds, "long_flows": long_flows}


def forward_pass(widths: tuple[int, ...]) -> Callable[[], object]:
    """Sends one observation through a fully connected network with these widths, on one thread."""
    import torch  # noqa: PLC0415 - the other studies run without it

    torch.set_num_threads(1)
    layers: list[torch.nn.Module] = []
    for before, behind in pairwise(widths):
        layers += [torch.nn.Linear(before, behind), torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1])
    observation = torch.zeros(1, widths[0])

    def forward() -> None:
        with torch.no_grad():
            network(observation)

    return forward


def thresholds_env(observation: str) -> AuTOThresholdsEnv:
    """Makes an environment of thresholds."""
    env = make_environment(THRESHOLDS, {"observation": observation}).unwrapped
    assert isinstance(env, AuTOThresholdsEnv)
    return env


def long_flows_env(active: int, finished: int) -> AuTOLongFlowsEnv:
    """Makes an environment of long flows."""
    env = make_environment(LONG_FLOWS, {"scope": "network", "n_l": active, "m_l": finished}).unwrapped
    assert isinstance(env, AuTOLongFlowsEnv)
    return env


def work_of(env: DecisionEnv[Any], action: Any, periods: int) -> Callable[[], object]:
    """Does what an environment does per step, always in the same state; nothing is simulated.

    The action is a neutral one, which is taken for some periods before.
    """
    env.reset(seed=0)
    for _ in range(periods):
        env.step(action)
    results, look = env._new_results(1), SteadyRule(show)

    def decide() -> None:
        decision = env.decision()
        env.rules.act(decision, action)
        env.rules.reward(decision, decision.episodes["num_before"][0], results.terms[0])
        look(env.rules, decision, results.observation[0], results.mask[0])

    return decide


def medians_ms(network: Callable[[], object], environment: Callable[[], object], repeats: int) -> dict[str, float]:
    """Returns the median times of both in ms; they take turns of ``TURN`` runs, of which the first is not counted."""
    works = {"network_ms": network, "environment_ms": environment}
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            work()
            for _ in range(TURN - 1):
                begin = time.perf_counter()
                work()
                times[name].append(time.perf_counter() - begin)
    return {name: round(float(np.median(taken)) / SECONDS_PER_MILLISECOND, 4) for name, taken in times.items()}
