"""Holds the heuristics of the ordering environment to the disciplines that they are on one link."""

from typing import Any

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.evaluation import make_environment
from flowsched_gym.fluid import Records
from flowsched_gym.registration import make_policy
from flowsched_gym.workload import Workload
from tests.exact import cases_of

ID = "flowsched/MERPOrder-v0"
VDG = [case for case in cases_of("vdg") if len(case["size"]) > 1]
DISCIPLINES = {"fifo": "fifo", "sjf": "psjf", "srpt": "srpt", "vdg": "merp"}
"""What each heuristic is on one link while all flows are seen."""


def played(policy: str, seed: int = 0, **arguments: Any) -> tuple[Workload, Records]:
    """Plays an episode by a heuristic; returns its flows and what became of them."""
    env = make_environment(ID, arguments)
    chooser = make_policy(policy, env, seed=1)
    observation, _ = env.reset(seed=seed)
    over = False
    while not over:
        observation, _, terminated, truncated, info = env.step(int(chooser.predict(observation)[0]))
        over = terminated or truncated
    assert info["empty_slot_choices"] == 0
    core: Any = env.unwrapped
    return core.workload, core.records()


@pytest.mark.parametrize("policy", DISCIPLINES)
@pytest.mark.parametrize(
    "arguments",
    [
        {"flows": 300, "load": 0.95},
        {"workload": "poisson-web-search", "flows": 300, "load": 0.6},
        {"workload": "poisson-exponential", "flows": 300, "link_gbps": 10.0},
    ],
    ids=str,
)
def test_on_one_link_a_heuristic_is_its_discipline(policy: str, arguments: dict[str, Any]) -> None:
    capacity = 1.25e8 * arguments.get("link_gbps", 1.0)
    for seed in range(2):
        workload, records = played(policy, seed, f=400, **arguments)
        expected = flowsched_gym.replay(workload, discipline=DISCIPLINES[policy], capacity=capacity)
        assert records.fct.tolist() == pytest.approx(expected.fct.tolist(), rel=1e-9)


@pytest.mark.parametrize("case", VDG, ids=lambda case: case["id"])
def test_vdg_puts_first_whom_the_exact_solution_puts_first(case: dict[str, Any]) -> None:
    count = len(case["size"])
    env = make_environment(ID, {"f": count})
    policy = make_policy("vdg", env)
    layout = env.unwrapped.layout  # type: ignore[attr-defined]
    order = np.lexsort((np.arange(count), case["arrival"]))
    size, remaining = np.array(case["size"], dtype=float)[order], np.array(case["remaining"], dtype=float)[order]
    so_far = (case["now"] - np.array(case["arrival"], dtype=float)[order]) * case["capacity"] / size
    observation = np.zeros(layout.size, dtype=np.float32)
    # The unit of bytes does not matter to an order: it is chosen so that sizes are about the scale of the columns.
    unit = layout.slot_scale("size") / size.max()
    for name, values in (("size", unit * size), ("remaining", unit * remaining), ("slowdown_so_far", so_far)):
        observation[layout.slot_slice(name)] = values / (values + layout.slot_scale(name))

    assert int(order[policy.predict(observation)[0]]) == case["order_first_to_last"][0]
