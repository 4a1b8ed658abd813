"""Makes environments with arguments that a generator makes up, or that ask for more than there is time or memory for.

They are made, or refused at once with one clear error. ``FLOWSCHED_FAULTS=full`` tries 4,000 calls in place of 100.
"""

import dataclasses
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import (
    LONGEST_MESSAGE,
    ConfigError,
    FlowSchedError,
    FlowSchedWarning,
    WorkloadError,
    shown,
)
from flowsched_gym.envs.vector_episodes import check_room
from flowsched_gym.evaluation import evaluate
from flowsched_gym.registration import load_target
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import WORKLOADS, FixedWorkload, LinkChanges, Workload, make_workload
from tests.envs.episodes import ENVIRONMENTS, SHORT
from tests.faults.test_files import share
from tests.simulate import make_flows

NUM_CALLS: Final = len(share(4_000, 100))

Generator = np.random.Generator

WRONG_KINDS: Final[tuple[Any, ...]] = (
    *(None, True, False, "", "x", "a\0b.csv", "\ud800", b"ideal", [], {}, set(), [1, [2]], [[1.0], [2.0]], (1.0, "2")),
    *(np.array([]), np.array([1, 2]), np.array(["ideal"]), np.array([[1.0, 2.0]]), np.float64(np.nan)),
    *(np.datetime64("2020-01-01"), 1j, Decimal(3), object(), Exception("no"), range(3), type, len),
    *(np.timedelta64(3), {1}, frozenset({1.0}), {1: 2}.keys(), {"x" * 100_000: 1}, b"\x01\x02", memoryview(b"ab")),
    *("x" * 100_000, ["x" * 1_000] * 1_000, [[[[[[1]]]]]] * 100, "\x1b[31m\n\u202e", np.zeros((40, 40))),
    *(Fraction(1, 3), np.array([1.0, None]), np.array([True]), np.array([1j]), np.array([math.nan]), {"class": "x"}),
    *([np.float64(1e4), 1e5], [10**400], [math.nan, 1.0], [True, 2], (10**30,), ["1", "2"], [b"1"], bytearray(b"12")),
)
NUMBERS: Final[tuple[Any, ...]] = (
    *(0, -1, 1, 2, 3, 10**3, 10**7, 10**9, 2**48, 2**63, 10**400, 10**5000, -(10**5000)),
    *(10**30, -(10**30), 2**31, 2**32, 2**53 + 1, 2**64, Fraction(1, 2), Fraction(10**400), Decimal("nan")),
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
    names.append("engine")
    arguments = dict(SHORT[spec.id]) if rng.random() < 0.7 else {}
    for name in rng.choice(names, size=(1, 1, 1, 2, 3)[rng.integers(5)], replace=False).tolist():
        arguments[name] = any_value(name, rng, forms)
    return spec, arguments


def refusal(call: Callable[[], object], what: str) -> list[str]:
    """Makes a call; returns what is wrong with the way in which it is refused, if anything is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlowSchedWarning)
        try:
            call()
        except FlowSchedError as error:
            message = str(error)
            clear = 0 < len(message) <= LONGEST_MESSAGE and message.isprintable()
            return [] if clear else [f"{what}: no clear message: {message!r}"]
        except Exception as error:  # noqa: BLE001 - any other error is what these tests look for
            return [f"{what}: {type(error).__name__}: {shown(str(error))}"]
    return []


def test_every_call_of_make_works_or_is_refused_with_one_clear_error(tmp_path: Path) -> None:
    forms = workloads(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    made: list[gym.Env[Any, Any]] = []
    num_made, faults = 0, []
    for number in range(NUM_CALLS):
        rng = np.random.default_rng([14, number])
        spec, arguments = any_call(rng, forms)
        call = f"{number}: gym.make({spec.id!r}, **{shown(arguments)})"
        faults += refusal(lambda: made.append(gym.make(spec.id, **arguments)), call)  # noqa: B023 - called at once
        if made:
            env = made.pop().unwrapped
            num_made += 1
            faults += refusal(lambda: env.reset(seed=any_value("seed", rng, ())), f"{call}.reset")  # noqa: B023
            faults += refusal(lambda: env.reset(options=any_value("options", rng, ())), f"{call}.reset")  # noqa: B023
            try:
                env.reset(seed=number)
            except Exception as error:  # noqa: BLE001 - whatever it is, it comes too late
                if "no flow" not in str(error):
                    faults.append(f"{call}: only reset refuses: {type(error).__name__}: {error}")
            env.close()

    assert not faults, "\n".join(faults)
    assert 0.02 * NUM_CALLS < num_made < 0.7 * NUM_CALLS
    assert sorted(tmp_path.rglob("*")) == before


def test_every_call_of_make_vec_works_or_is_refused_with_one_clear_error(tmp_path: Path) -> None:
    faults, own = [], ("num_envs", "num_threads", "max_episode_steps", "autoreset_mode")
    for number in range(NUM_CALLS):
        rng = np.random.default_rng([15, number])
        spec, arguments = any_call(rng, workloads(tmp_path))
        arguments = (arguments if number % 4 == 0 else dict(SHORT[spec.id])) | {"num_envs": 2}
        for name in rng.choice(own, size=1 + number % 2, replace=False).tolist():
            arguments[name] = any_value(name, rng, ())
        call = f"{number}: gym.make_vec({spec.id!r}, **{shown(arguments)})"
        vector_class = load_target(spec.vector_entry_point)
        faults += refusal(lambda: vector_class(**arguments), call)  # noqa: B023 - called at once
    assert not faults, "\n".join(faults)


ARTEMIS = "flowsched/Artemis-v0"
ORDER = "flowsched/MERPOrder-v0"
ROUTE = "flowsched/MERPRoute-v0"
THRESHOLDS = "flowsched/AuTOThresholds-v0"
LONG_FLOWS = "flowsched/AuTOLongFlows-v0"
TWO = make_flows([0.0, 1.0], [1e5, 1e5])


def test_an_argument_that_asks_for_too_much_is_refused() -> None:
    for env_id, arguments, message in (
        (LONG_FLOWS, {"period_ms": 1e-300}, r"period_ms is 1e-300: it must be from 1e-06 to 1e\+09"),
        (LONG_FLOWS, {"period_ms": 1e-5}, "period_ms makes periods of .* s: an episode would have about 2e"),
        (LONG_FLOWS, {"link_gbps": 1e-9, "load": 1e-6, "period_ms": 1e-6}, "a larger load, or fewer flows"),
        ("flowsched/QCluster-v0", {"link_gbps": 1e-9, "flows": 2}, "^period_us makes periods of 0.005 s"),
        (ARTEMIS, {"f": 10**7}, "f is 10000000: it must be an integer below 10001"),
        (LONG_FLOWS, {"n_l": 10**7}, "n_l is 10000000: it must be an integer below 10001"),
        (THRESHOLDS, {"m_s": 10**7}, "m_s is 10000000: it must be an integer below 10001"),
        (LONG_FLOWS, {"paths": 10**6}, "paths is 1000000: it must be an integer below 65"),
        (THRESHOLDS, {"hosts": 10**6}, "hosts is 1000000: it must be an integer below 4097"),
        (ROUTE, {"arity": 10**9}, "arity is 1000000000: it must be an integer below 13"),
        *((env_id, {"flows": 10**8}, "flows is 1") for env_id in (ORDER, ROUTE, THRESHOLDS, LONG_FLOWS)),
        (ARTEMIS, {"bursts": 10**7}, "num_bursts 10000000 of 10 senders would draw 1e.08 flows: at most 10000000"),
        (ARTEMIS, {"seconds": 1e8}, "duration 1e.08 s with 30 bursts per s of 10 senders would draw 3e.10 flows"),
        (ARTEMIS, {"link_gbps": 1e300}, r"link_gbps is 1e\+300: it must be from 1e-09 to 1e\+06"),
    ):
        for make in (gym.make, partial(gym.make_vec, num_envs=2)):
            with pytest.raises(ConfigError, match=message):
                make(env_id, **arguments)


def test_a_name_that_python_uses_itself_is_an_unknown_argument() -> None:
    for env_id in (ARTEMIS, THRESHOLDS):
        for make in (gym.make, partial(gym.make_vec, num_envs=2)):
            for name in ("self", "cls", "config", "arguments", "spec"):
                with pytest.raises(ConfigError, match=rf"unexpected keyword argument '{name}': it has "):
                    make(env_id, **{name: 1})
    for name in ("name", "self"):
        with pytest.raises(ConfigError, match=f"has no field '{name}'"):
            make_workload("gather-a1", **{name: 1})


def test_so_many_environments_or_episodes_are_refused_before_memory_is_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"num_envs is 100000000000000: with .* it must be an integer from 1 to "):
        gym.make_vec(ARTEMIS, num_envs=10**14)
    with pytest.raises(ConfigError, match="episodes is 1000000000: it must be an integer below 1000001"):
        evaluate(ARTEMIS, "fifo", episodes=10**9, seed=1)


def test_vector_environments_and_sketches_without_room_are_refused_before_memory_is_asked_for() -> None:
    for num_envs, num_flows, size, most in ((10**9, 1000, 39, 16_777), (20_000, 1, 70_000, 3_834), (2, 10**7, 9, 1)):
        with pytest.raises(ConfigError, match=f"num_envs is {num_envs}: .* it must be an integer from 1 to {most}$"):
            check_room(num_envs, num_flows, f"{num_flows} flows", size)
        check_room(most, num_flows, f"{num_flows} flows", size)
    for env_id in (ARTEMIS, ORDER, ROUTE, THRESHOLDS, LONG_FLOWS):
        with pytest.raises(ConfigError, match="num_envs is 1000000000: with"):
            gym.make_vec(env_id, num_envs=10**9)
    with pytest.raises(ConfigError, match=r"buckets is 1000000000: .* from 1 to 1398101, since each takes 24 B in"):
        gym.make("flowsched/QCluster-v0", buckets=10**9)
    with pytest.raises(ConfigError, match=r"num_envs is 100: with .* a sketch of 72000000 B and observations"):
        gym.make_vec("flowsched/QCluster-v0", num_envs=100, buckets=10**6)


@pytest.mark.parametrize("env_id", [ARTEMIS, ORDER, ROUTE, THRESHOLDS, LONG_FLOWS])
@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (make_flows([0.0, 1e17], [1e5, 1e5]), "arrival_time in row 1 is 1e.17 s after the clock starts"),
        (make_flows([0.0, 1.0], [1.0, 5e-324]), "size in row 1 takes 5e-324 B"),
        (make_flows([0.0, 1.0], [1e5, 1e5], source=[1, 5000]), "5001"),
        (make_flows([], []), "no flow"),
    ],
    ids=["far apart", "too small", "too many hosts", "none"],
)
def test_flows_that_no_episode_can_have_are_refused_before_reset(env_id: str, workload: Workload, message: str) -> None:
    # One link has room for flows between any hosts, nine hosts not.
    arguments = {"topology": "tree9"} if env_id == ORDER else {}
    with pytest.raises((ConfigError, WorkloadError), match=message):
        gym.make(env_id, workload=workload, **arguments)


def test_links_that_are_not_there_or_cannot_change_and_what_is_no_workload_are_refused_before_reset() -> None:
    nothing = type("Nothing", (FixedWorkload,), {"draw": lambda self, seed: None})
    with pytest.raises(ConfigError, match=r"workload draws None: its draw\(seed\) must return a Workload"):
        gym.make(ARTEMIS, workload=nothing(workload=TWO))
    for env_id in (ROUTE, LONG_FLOWS):
        with pytest.raises(WorkloadError, match="link of link changes is 9999 in row 0"):
            gym.make(env_id, workload=replace(TWO, link_changes=LinkChanges.of([(0.0, 9999, False)])))
    changing = replace(TWO, link_changes=LinkChanges.of([(0.0, 0, False), (1.0, 0, True)]))
    for env_id in (ARTEMIS, ORDER, THRESHOLDS):
        with pytest.raises(ConfigError, match="workload has link changes: the links of this environment stay up"):
            gym.make(env_id, workload=changing)
