"""Gives what is not allowed, and reads the one error that says which argument it was."""

import pickle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from flowsched_gym import replay, replay_packets
from flowsched_gym.baselines.configuration.schema_checks import check_member
from flowsched_gym.core import errors
from flowsched_gym.core.errors import ConfigError, FlowFileError, FlowSchedError, SimulationError, WorkloadError
from flowsched_gym.evaluation import evaluate, make_environment
from flowsched_gym.fluid.disciplines import make_discipline
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import make_workload, read_cdf, read_flows, write_flows
from tests.envs.episodes import SHORT, each_environment, make

ARTEMIS = "flowsched/Artemis-v0"
ENDLESS = "x" * 100_000
HUGE = 10**5000
COLUMNS: dict[str, Any] = {"flow_id": [0, 1], "source": [0, 0], "destination": [1, 1]} | {
    "size_bytes": [1.0, 2.0],
    "arrival_s": [0.0, 1.0],
}


def test_a_value_is_shown_on_one_line_and_a_long_one_is_cut() -> None:
    for value, text in (
        (7, "7"),
        ("fifo", "'fifo'"),
        ([1, HUGE], "[1, an integer of about 5001 digits]"),
        (np.array([[1, 2], [3, 4]]), "array([[1, 2], [3, 4]])"),
        ([[[[[1]]]]], "[[[[...]]]]"),
    ):
        assert errors.shown(value) == text
    assert len(errors.shown("x" * 10_000)) < 300
    assert len(errors.shown(np.zeros((100, 100)))) < 300


def every_kind(root: type[Exception]) -> list[type[Exception]]:
    return [root, *(each for below in root.__subclasses__() for each in every_kind(below))]


def test_no_message_is_longer_than_a_few_lines_or_has_what_does_not_print() -> None:
    kinds = every_kind(FlowSchedError) + every_kind(errors.FlowSchedWarning)
    with_words = {"MissingDependencyError": {"extra": "a", "purpose": "b"}, "SameEpisodesWarning": {"episodes": 3}}
    assert len(kinds) > 10
    for kind in kinds:
        words = with_words.get(kind.__name__, {})
        for text in ("x" * 100_000, "\x1b[31m\n\ud800" * 1_000):
            message = str(kind(f"{text}: it must be short", **words))
            assert 0 < len(message) <= errors.LONGEST_MESSAGE, kind
            assert message.isprintable(), kind
            assert words or message.endswith(": it must be short")
    assert str(pickle.loads(pickle.dumps(ConfigError("a\nb")))) == r"a\nb"


def test_the_most_similar_name_is_suggested_where_there_is_one() -> None:
    meant = {"edff": "edf", "EDF": "edf", "least_slack": "least-slack", "zzz": None, 3: None, ("edf",): None}
    for name, found in meant.items():
        expected = "" if found is None else f" (did you mean {found!r}?)"
        assert errors.similar(name, ["fifo", "edf", "least-slack"]) == expected
        assert errors.listed(name, ["fifo", "edf", "least-slack"]) == f"fifo, edf, least-slack{expected}"
    assert errors.listed("edf", []) == "none"


def test_every_kind_of_name_is_suggested() -> None:
    for call, meant in (
        (lambda: replay(COLUMNS, discipline="srp"), "srpt"),
        (lambda: replay(COLUMNS, discipline="ps", topology="fattree"), "fat-tree"),
        (lambda: replay(COLUMNS, discipline="ps", parameters={"routing": "ecpm"}), "ecmp"),
        (lambda: replay(COLUMNS, discipline="ps", parameters={"dealy": 1.0}), "delay"),
        (lambda: replay(COLUMNS, discipline="mlfq", parameters={"thresholdd": [1.0]}), "thresholds"),
        (lambda: replay(COLUMNS, discipline="mlfq", parameters={"thresholds": [1.0], "within": "fifi"}), "fifo"),
        (lambda: gym.make(ARTEMIS, burst_rat=3.0), "burst_rate"),
        (lambda: gym.make_vec(ARTEMIS, num_envs=1, burst_rat=3.0), "burst_rate"),
        (lambda: gym.make(ARTEMIS, workload="gather-hevy"), "gather-heavy"),
        (lambda: gym.make("flowsched/MERPRoute-v0", rerouting="congo"), "conga"),
        (lambda: make_environment("flowsched/Artemix-v0", {}), ARTEMIS),
        (lambda: evaluate(ARTEMIS, "eddf", episodes=1, seed=0), "edf"),
        (lambda: evaluate(ARTEMIS, "flowsched_gym.envs.policies:RandomSlt", episodes=1, seed=0), "RandomSlot"),
        (lambda: make_workload("gather-a1", brust_rate=3), "burst_rate"),
        (lambda: make_workload("poisson-tree", size="web-serch"), "web_search"),
        (lambda: make_workload("poisson-tree", size={"kind": "paretto"}), "pareto"),
        (lambda: check_member("logger.wandb_mode", "ofline", ("offline", "online")), "offline"),
    ):
        with pytest.raises(ConfigError) as error:
            call()
        assert str(error.value).count(f"(did you mean {meant!r}?)") == 1
    with pytest.raises(
        TypeError, match=r"ArtemisEnv\(\) got an unexpected keyword argument 'num_tokens': it has workload, "
    ):
        gym.make(ARTEMIS, num_tokens=3)


def test_what_is_no_argument_or_parameter_is_named() -> None:
    for arguments, message in (
        ({"f": np.array([3, 4])}, r"f is array\(\[3, 4\]\): it must be an integer >= 1"),
        ({"transport": np.array(["ideal"])}, r"transport is array\(\['ideal'\].*: it must be one of ideal, tcp"),
        ({"reward": ["lagged"]}, r"reward is \['lagged'\]: it must be one of"),
        ({"k": HUGE}, "k is an integer of about 5001 digits: it must be an integer below"),
        ({"workload": np.arange(3)}, r"workload is array\(\[0, 1, 2\]\): it must be a name"),
        ({ENDLESS: 1}, r"ArtemisEnv\(\) got an unexpected keyword argument 'xxx"),
        ({"transport": "tcp-lossy", "transport_figures": {ENDLESS: 1.0}}, "transport_figures .*'xxx"),
        ({"workload": "a\0b.csv"}, r"path of the flows is 'a\\x00b.csv': it must not contain a NUL character"),
    ):
        with pytest.raises(FlowSchedError, match=message):
            gym.make(ARTEMIS, **arguments)
    for mode in (1, True, b"ansi", ["ansi"], {"ansi"}, float("nan"), np.array(["ansi"]), Path("ansi")):
        with pytest.raises(ConfigError, match=r"render_mode is .*: it must be None or one of human, rgb_array, ansi"):
            gym.make(ARTEMIS, render_mode=mode)
    for name, parameters, message in (
        (ENDLESS, {}, "discipline is 'xxx.*it must be one of"),
        ("fifo", {ENDLESS: 1}, "discipline fifo has no parameter 'xxx"),
        ("merp", {"gap": HUGE}, "gap is an integer of about 5001 digits: it must be a finite number >= 0 s"),
        ("merp", {"mode": np.array([1.0, 2.0])}, r"mode is array\(\[1\., 2\.\]\): it must be one of greedy, strict"),
        ("mlfq", {"thresholds": [[[1.0]]]}, "thresholds is .*: it must be a list of numbers"),
        ("mlfq", {"thresholds": [[1.0, 2.0], [3.0]]}, "thresholds is .*: there must be a group, and each must have as"),
        ("mlfq", {"thresholds": [HUGE]}, r"thresholds is \[inf\]: they must be finite"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_discipline(name, parameters)
    for columns in ({ENDLESS: [1, 2]}, {"size_bytes": [1.0, ENDLESS]}):
        with pytest.raises(WorkloadError, match="'xxx"):
            replay(COLUMNS | columns, discipline="fifo")
    for delay in (1.7e308, HUGE, np.array([1.0])):
        with pytest.raises(ConfigError, match=r"delay is .*: it must be"):
            replay(COLUMNS, discipline="fifo", topology="multi-plane", parameters={"delay": delay})


def test_numbers_are_numbers_and_lists_have_an_order_and_an_end() -> None:
    dates = np.datetime64("2020-01-01"), np.timedelta64(1)
    no_list = {1e4}, {1e4: 1}, {1e4: 1}.keys(), "12", b"12", (each for each in (1e4,)), np.array(1e4), [1j], [[1e4]]
    no_numbers = [True], ["1"], [None], [dates[0]], [dates[1]], np.array([True]), [float("nan")]
    lists: tuple[Any, ...] = (*no_list, *no_numbers, range(2**60))
    numbers = 10**400, *dates, True, "1", 1j
    for env_id, name, values, message in (
        ("flowsched/AuTOLongFlows-v0", "thresholds", lists, r"thresholds? is|size distribution"),
        ("flowsched/AuTOThresholds-v0", "initial_thresholds", lists, r"thresholds? is|size distribution"),
        ("flowsched/TAFETasks-v0", "cpus", (*lists, *numbers), "cpus is"),
        *(
            (ARTEMIS, name, (np.timedelta64(3), np.bool_(True)), f"{name} is")
            for name in ("k", "load", "f", "link_gbps")
        ),
    ):
        for value in values:
            with pytest.raises(ConfigError, match=message):
                gym.make(env_id, **{name: value})
    for value in lists[:-1]:
        with pytest.raises(ConfigError, match="thresholds is"):
            replay_packets(COLUMNS, scheduler="pias", parameters={"thresholds": value})
    for number in numbers:
        with pytest.raises(ConfigError, match=r"transport_figures \w+ is .*: it must be a finite number"):
            gym.make(ARTEMIS, transport="tcp-lossy", transport_figures={"largest_window": number})
    with gym.make(ARTEMIS, bursts=1, transport="tcp-lossy", transport_figures={"largest_window": 10**30}) as env:
        env.reset(seed=0)


@each_environment
def test_a_seed_is_an_integer_and_a_closed_environment_is_not_gone_on_with(spec: EnvironmentSpec) -> None:
    env = make(spec)
    base: Any = env.unwrapped
    for seed in (1.5, -1, "1", True, np.array([1])):
        with pytest.raises(ConfigError, match=r"seed is .*: it must be an integer >= 0"):
            base.reset(seed=seed)
    assert base.reset(seed=np.int64(3))[0].tolist() == base.reset(seed=3)[0].tolist()
    env.reset(seed=0)
    state = base.get_state()
    env.close()
    for go_on in (lambda: env.step(env.action_space.sample()), base.reset, lambda: base.set_state(state)):
        with pytest.raises(SimulationError, match="the environment is closed: make a new one"):
            go_on()
    env.close()
    assert base.records().num_flows > 0


@each_environment
def test_nothing_is_told_before_the_first_reset(spec: EnvironmentSpec) -> None:
    with make(spec) as env, make(spec) as other:
        base: Any = env.unwrapped
        other.reset(seed=0)
        state = other.unwrapped.get_state()  # type: ignore[attr-defined]
        asks = [base.records, base.get_state, lambda: base.workload, lambda: base.simulation]
        asks += [lambda: base.set_state(state), *([base.action_masks] if hasattr(base, "action_masks") else [])]
        for ask in asks:
            with pytest.raises(SimulationError, match=r"there is no episode yet: call reset\(\) first"):
                ask()
        with pytest.raises(SimulationError, match=r"call reset\(\) before step\(\)"):
            base.step(env.action_space.sample())
    for mode in ("ansi", "rgb_array"):
        with make(spec, render_mode=mode) as env, pytest.raises(SimulationError, match="there is no episode yet"):
            env.unwrapped.render()


def test_vector_environments_say_the_same() -> None:
    arguments = SHORT[ARTEMIS]
    envs: Any = gym.make_vec(ARTEMIS, num_envs=2, **arguments)

    for seed, message in (
        (1.5, r"seed is 1\.5: it must be an integer >= 0"),
        ("12", "seed is '12': it must be an integer >= 0"),
        ([1, 2.5], r"seed of environment 1 is 2\.5: it must be an integer >= 0"),
        ([1], "seed has 1 entries: it must have one for each of 2 environments"),
    ):
        with pytest.raises(ConfigError, match=message):
            envs.reset(seed=seed)
    with pytest.raises(ConfigError, match=r"options is \[1\]: it must be a dict or None"):
        envs.reset(options=[1])
    envs.reset(seed=0)
    state = envs.get_state()
    for numbers in ([-1], [2], [0.5], [True], [[0]], "0", None, np.array([0.0])):
        with pytest.raises(ConfigError, match=r"numbers is .*: it must be integers from 0 to 1"):
            state.pick(numbers)
    assert [len(state.pick(numbers)) for numbers in ([], [1, 1, 0])] == [0, 3]
    for number in (-1, 2, 0.5):
        with pytest.raises(ConfigError, match=r"number is .*: it must be an integer"):
            envs.records(number)
    for actions in ([True, 1], np.array([True, False]), [0], None, [0, HUGE]):
        with pytest.raises(errors.InvalidAction, match=r"actions is .*: it must be 2 integers"):
            envs.step(actions)
    envs.close()
    for go_on in (lambda: envs.step([0, 0]), envs.reset, lambda: envs.set_state(state)):
        with pytest.raises(SimulationError, match="the environments are closed: make new ones"):
            go_on()


def test_a_path_with_a_nul_character_is_refused(tmp_path: Path) -> None:
    path = f"{tmp_path}/a\0b"
    with pytest.raises(FlowFileError, match=r"path of the flows is '.*a\\x00b': it must not contain a NUL character"):
        read_flows(path)
    with pytest.raises(ConfigError, match=r"workload '.*a\\x00b' does not exist"):
        replay(path, discipline="fifo")
    with pytest.raises(ConfigError, match="path of a size distribution is"):
        read_cdf(path)
    with pytest.raises(ConfigError, match=r"path is .*NUL character"):
        write_flows(make_workload("gather-a1", num_bursts=1).draw(0), path)
    assert not list(tmp_path.iterdir())


def test_parquet_with_text_that_is_not_utf8_or_a_column_twice_is_refused_and_short_floats_are_numbers(tmp_path) -> None:
    offsets = pa.py_buffer(np.array([0, 2, 4], dtype=np.int32).tobytes())
    text = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfe\xc3\x28")])
    path = tmp_path / "flows.parquet"
    parquet.write_table(pa.table({**COLUMNS, "size_bytes": text}), path)
    with pytest.raises(FlowFileError, match=r"flows\.parquet, column size_bytes: its type is string, which cannot be"):
        read_flows(path)
    columns = [pa.array(column) for column in (*COLUMNS.values(), [1.0, 2.0])]
    parquet.write_table(pa.Table.from_arrays(columns, names=[*COLUMNS, "size_bytes"]), path)
    with pytest.raises(FlowFileError, match=r"flows\.parquet: column size_bytes appears more than once"):
        read_flows(path)
    short = {name: pa.array(np.array(column, dtype=np.float16)) for name, column in COLUMNS.items()}
    parquet.write_table(pa.table(short), path)
    assert read_flows(path).size.tolist() == [1.0, 2.0]


def test_the_column_after_may_have_ids_with_gaps_and_holds_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "flows.parquet"
    parquet.write_table(pa.table({**COLUMNS, "after": [None, 0]}), path)
    after: Any = read_flows(path).after
    assert (after.earlier.tolist(), after.later.tolist()) == ([0], [1])
    for cell in (10**400, np.timedelta64(0), np.array(0), {0}, b"0", True, float("inf")):
        with pytest.raises(WorkloadError, match="column after: "):
            replay({**COLUMNS, "after": [None, cell]}, discipline="fifo")
