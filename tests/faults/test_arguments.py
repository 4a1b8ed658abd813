"""Makes environments with arguments that a generator makes up: they are made, or refused with one clear error.

``FLOWSCHED_FAULTS=full`` tries 4,000 calls in place of 100.
"""

import dataclasses
import math
import os
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import gymnasium as gym
import numpy as np

from flowsched_gym.errors import FlowSchedError, FlowSchedWarning, shown
from flowsched_gym.registration import load_target
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import WORKLOADS, FixedWorkload
from tests.envs.episodes import ENVIRONMENTS, SHORT
from tests.flows import make_flows

NUM_CALLS: Final = 4_000 if os.environ.get("FLOWSCHED_FAULTS") == "full" else 100

Generator = np.random.Generator

WRONG_KINDS: Final[tuple[Any, ...]] = (
    *(None, True, False, "", "x", "a\0b.csv", "\ud800", b"ideal", [], {}, set(), [1, [2]], [[1.0], [2.0]], (1.0, "2")),
    *(np.array([]), np.array([1, 2]), np.array(["ideal"]), np.array([[1.0, 2.0]]), np.float64(np.nan)),
    *(np.datetime64("2020-01-01"), 1j, Decimal(3), object(), Exception("no"), range(3), type, len),
)
NUMBERS: Final[tuple[Any, ...]] = (
    *(0, -1, 1, 2, 3, 10**3, 10**7, 10**9, 2**48, 2**63, 10**400, 10**5000, -(10**5000)),
    *(0.0, -0.0, 0.5, 1.5, -1.0, 5e-324, 1e-300, 1e-9, 1e9, 1e300, math.inf, -math.inf, math.nan),
    *(np.int64(2), np.uint8(3), np.float32(0.5), np.float16(2), np.array(2), np.bool_(True)),
)
NAMES: Final[tuple[Any, ...]] = (
    *("ideal", "tcp", "IDEAL", "full", "paper", "lagged", "wait", "to-back", "tree9", "one-link", "big-switch", "ps"),
    *("fifo", "merp", "conga", "memr", "fct", "both", "recorded", "network", "progress", "web_search", "none.csv"),
    *("none.parquet", ".", "/", "ansi"),
)


def workloads(folder: Path) -> tuple[Any, ...]:
    """Returns names, files, flows and sources, some of which can be played."""
    good, bad = folder / "good.csv", folder / "bad.csv"
    good.write_text("flow_id,source,destination,size_bytes,arrival_s\n0,1,0,1e5,0\n1,1,0,1e5,1\n")
    bad.write_text("flow_id,source,destination,size_bytes,arrival_s\n0,1,0,1e5\n")
    flows = make_flows([0.0, 0.1], [1e5, 1e5], span=[0.1, 0.1])
    far = make_flows([0.0, 1e17], [1e5, 1e5])
    return (good, bad, str(good), folder, flows, far, FixedWorkload(workload=flows), *WORKLOADS)


def any_value(name: str, rng: Generator, forms: tuple[Any, ...]) -> Any:
    """Draws a value that an argument may or may not be."""
    pools: list[tuple[Any, ...]] = [WRONG_KINDS, NUMBERS, NUMBERS, NAMES]
    if name == "workload":
        pools += [forms] * 4
    if "threshold" in name:
        pools.append(((1e4, 1e5), (1e5, 1e4), [1e4, 1e5, 1e6], np.array([1e4, 1e5, 1e6]), (math.nan,), [[1e4]] * 3))
    pool = pools[rng.integers(len(pools))]
    return pool[rng.integers(len(pool))]


def any_call(rng: Generator, forms: tuple[Any, ...]) -> tuple[EnvironmentSpec, dict[str, Any]]:
    """Draws an environment and arguments, most often one of them made up."""
    spec = ENVIRONMENTS[rng.integers(len(ENVIRONMENTS))]
    names = [field.name for field in dataclasses.fields(load_target(spec.config))]
    arguments = dict(SHORT[spec.id]) if rng.random() < 0.7 else {}
    for name in rng.choice(names, size=(1, 1, 1, 2, 3)[rng.integers(5)], replace=False).tolist():
        arguments[name] = any_value(name, rng, forms)
    return spec, arguments


def test_every_call_of_make_works_or_is_refused_with_one_clear_error(tmp_path: Path) -> None:
    forms = workloads(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    made, faults = 0, []
    for number in range(NUM_CALLS):
        rng = np.random.default_rng([14, number])
        spec, arguments = any_call(rng, forms)
        call = f"{number}: gym.make({spec.id!r}, **{shown(arguments)})"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FlowSchedWarning)
            try:
                env = gym.make(spec.id, **arguments)
                made += 1
            except FlowSchedError as error:
                if not 0 < len(str(error)) < 2_000 or "\n" in str(error):
                    faults.append(f"{call}: no clear message: {error}")
                continue
            except Exception as error:  # noqa: BLE001 - any other error is what this test looks for
                faults.append(f"{call}: {type(error).__name__}: {error}")
                continue
            try:
                env.unwrapped.reset(seed=number)
            except Exception as error:  # noqa: BLE001 - whatever it is, it comes too late
                if "no flow" not in str(error):
                    faults.append(f"{call}: only reset refuses: {type(error).__name__}: {error}")
            env.close()

    assert not faults, "\n".join(faults)
    assert 0.02 * NUM_CALLS < made < 0.7 * NUM_CALLS
    assert sorted(tmp_path.rglob("*")) == before
