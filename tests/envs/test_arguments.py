"""An argument is declared once, as a field of a config, and so is a column: what follows, with ones of our own.

Discrete actions are held to their ranges.
"""

import inspect
import pickle
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsched_gym.core.errors import ConfigError, InvalidAction, UnknownArgumentError
from flowsched_gym.envs.actions import read_choice, read_choices
from flowsched_gym.envs.arguments import (
    Choice,
    EnvConfig,
    about_workload,
    argument,
    describe,
)
from flowsched_gym.envs.columns import Column, Encoding, Layout, Rows, named, scaled, writer
from flowsched_gym.envs.configured import Documented, configured_by
from flowsched_gym.machine_code.numerics import squash
from flowsched_gym.registration import load_target
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import WorkloadLike, WorkloadSource, find_source
from tests.envs.episodes import each_environment


class Colour(StrEnum):
    """Two colours."""

    RED = "red"
    DARK_BLUE = "dark-blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnConfig(EnvConfig):
    """The arguments of an environment of one's own."""

    workload: WorkloadLike = field(default="gather-a1", kw_only=False, metadata=about_workload())
    size: int = argument(3, at_least=1, at_most=9, unit="slots", meaning="slots that are seen")
    speed: float | None = argument(None, between=(0.5, 8.0), none="as it was", meaning="how fast it goes")
    colour: Choice[Colour] = argument(Colour.RED, meaning="what it looks like")
    kind: str = argument("a", choices=("a", "b"), meaning="what it does")
    pair: tuple[int, ...] = argument((1, 2), convert=lambda name, given: tuple(given), meaning="two numbers")

    def check(self) -> None:
        if self.size in self.pair:
            raise ConfigError("size is in pair")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainConfig(EnvConfig):
    """Its arguments are all given by name, and one of them may be none."""

    workload: str = argument("gather-a1", meaning="where flows come from")
    colour: Choice[Colour] | None = argument(None, none="its own", meaning="what it looks like")


class OwnEnv(Documented):
    """An environment of one's own.

    ## Arguments
    Look here.

    ## Version History
    * v0: Initial version.
    """

    config: OwnConfig

    @configured_by(OwnConfig)
    def __init__(self, config: OwnConfig, source: WorkloadSource, render_mode: str | None, engine: str) -> None:
        """Notes what it gets."""
        self.given = config, source, render_mode, engine


def test_a_value_becomes_what_its_field_says() -> None:
    config = OwnConfig(size=np.uint8(9), speed=np.float32(0.5), colour="dark-blue", pair=[5, 6])

    assert (config.size, config.speed, config.colour, config.pair) == (9, 0.5, Colour.DARK_BLUE, (5, 6))
    assert [type(value) for value in (config.size, config.speed, config.colour)] == [int, float, Colour]
    assert pickle.loads(pickle.dumps(config)) == config


def test_a_choice_that_may_be_none_is_checked_like_others() -> None:
    assert (PlainConfig().colour, PlainConfig(colour="red").colour) == (None, Colour.RED)
    assert describe(PlainConfig)[1].allowed == '"red", "dark-blue"; None: its own'
    with pytest.raises(ConfigError, match="colour is 'blue': it must be one of red, dark-blue"):
        PlainConfig(colour="blue")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"size": 0}, r"^size is 0: it must be an integer >= 1$"),
        ({"size": 10}, r"^size is 10: it must be an integer below 10$"),
        ({"size": None}, r"^size is None: it must be an integer >= 1$"),
        ({"speed": 0.0}, r"^speed is 0\.0: it must be a finite number > 0$"),
        ({"speed": 9}, r"^speed is 9\.0: it must be from 0\.5 to 8$"),
        ({"colour": "blue"}, r"^colour is 'blue': it must be one of red, dark-blue \(did you mean 'dark-blue'\?\)$"),
        ({"kind": "c"}, r"^kind is 'c': it must be one of a, b$"),
        ({"size": 2}, r"^size is in pair$"),
    ],
)
def test_a_value_that_the_field_does_not_allow_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        OwnConfig(**given)


def test_an_environment_takes_the_arguments_of_its_config_and_no_others() -> None:
    env = OwnEnv("gather-a2", size=5, engine="compiled")

    assert env.given == (OwnConfig(workload="gather-a2", size=5), find_source("gather-a2"), None, "compiled")
    assert env.config is env.given[0]
    words = r"^OwnEnv\(\) got an unexpected keyword argument 'sizes': it has workload, .*'size'\?"
    with pytest.raises(UnknownArgumentError, match=words):
        OwnEnv(sizes=5)


def test_help_shows_every_argument_with_its_type_default_and_meaning() -> None:
    signature = inspect.signature(OwnEnv)

    shown = [str(each).replace(" ", "") for each in signature.parameters.values()]
    assert shown[0].startswith("workload:str|")
    assert shown[0].endswith("='gather-a1'")
    assert shown[1:] == [
        *("size:int=3", "speed:float|None=None", "colour:str='red'", "kind:str='a'", "pair:tuple[int,...]=(1,2)"),
        *("render_mode:str|None=None", "engine:str='simpy'"),
    ]
    document = inspect.getdoc(OwnEnv)
    section = document.partition("## Arguments\n")[2].partition("## Version History")[0]
    assert "Look here." in section
    assert "| ``size`` | 3 | slots | integer from 1 to 9 | slots that are seen |\n" in section
    assert "| ``speed`` | None |  | number from 0.5 to 8; None: as it was | how fast it goes |\n" in section
    assert '| ``colour`` | "red" |  | "red", "dark-blue" | what it looks like |\n' in section
    assert document.endswith("## Version History\n* v0: Initial version.")
    assert "    size: Slots that are seen (slots): integer from 1 to 9; default: 3." in inspect.getdoc(OwnConfig)
    assert [each.name for each in describe(OwnConfig)] == list(signature.parameters)[:-2]


@each_environment
def test_an_editor_finds_the_arguments_of_an_environment_and_their_types(spec: EnvironmentSpec) -> None:
    jedi = pytest.importorskip("jedi")
    module, _, name = spec.entry_point.partition(":")
    (found,) = jedi.Script(f"from {module} import {name}\n{name}(").get_signatures()
    types = {each.name: each.to_string().partition("=")[0].partition(": ")[2] for each in found.params}

    assert set(types) == set(inspect.signature(load_target(spec.entry_point)).parameters)
    assert "" not in types.values()
    assert (types["workload"], types["engine"]) == ("WorkloadLike | None", "str")
    assert types["max_decisions"] == "int | None"


FREE = Column(name="free", meaning="free tokens over all", unit="1", encoding=Encoding.FRACTION)
SIZE = Column(name="size", meaning="bytes to deliver", unit="B", encoding=Encoding.SQUASHED, scale=300.0)
SLACK = Column(name="slack", meaning="time to spare", unit="s", encoding=Encoding.SIGNED, scale=0.02)
PORT = Column(name="port", meaning="number of a port", unit="1", encoding=Encoding.PLAIN, scale=65_535.0)
FCT = Column(name="fct", meaning="completion time", unit="s", encoding=Encoding.SQUASHED, scale=0.1)
LATE = Column(name="late", meaning="time since a deadline", unit="s", encoding=Encoding.SIGNED, scale=0.02)
LAYOUT = Layout(
    context=(FREE,),
    slot=(SIZE, SLACK),
    num_slots=3,
    rows=(Rows(columns=(PORT, FCT), count=2), Rows(columns=(LATE,), count=3), Rows(columns=(), count=4)),
)
OBSERVATION = np.array(
    [*(0.25, 0.5, 0.0, 0.75, 0.5, 0.0, -0.5), *(80.0, 0.5, 443.0, 0.0, 0.5, 0.0, -0.5)], dtype=np.float32
)
"""A free quarter; sizes 300, 900 and 0 B; slacks 0, 0.02 and -0.02 s; behind the slots, group by group, ports 80 and
443 with 0.1 and 0 s, and 0.02, 0 and -0.02 s late."""


def test_a_layout_refuses_a_scale_that_is_still_the_name_of_a_field() -> None:
    aged = Column.squashed("age", "age of the oldest flow", "s", "age_scale")
    with pytest.raises(ConfigError, match=r"column age has the scale 'age_scale', a field of the rules: .* scaled"):
        Layout(context=(FREE,), slot=(aged,), num_slots=3)
    assert Layout(context=scaled((aged,), {"age_scale": 2.0}), slot=(), num_slots=1).context[0].scale == 2.0


def test_a_column_is_read_by_name_in_its_unit_and_a_batch_like_its_rows() -> None:
    batch = np.stack([OBSERVATION, np.zeros(14, dtype=np.float32), OBSERVATION])
    for read, name, values in (
        (LAYOUT.context_column, "free", 0.25),
        (LAYOUT.slot_column, "size", [300.0, 900.0, 0.0]),
        (LAYOUT.slot_column, "slack", [0.0, 0.02, -0.02]),
        (LAYOUT.row_column, "port", [80.0, 443.0]),
        (LAYOUT.row_column, "fct", [0.1, 0.0]),
        (LAYOUT.row_column, "late", [0.02, 0.0, -0.02]),
    ):
        assert read(OBSERVATION, name).tolist() == values, name
        assert read(batch, name).tolist() == [read(row, name).tolist() for row in batch], name
        with pytest.raises(ConfigError, match=r"observation ha.* no column 'colour'(: it has (free|size, slack))?$"):
            read(OBSERVATION, "colour")


def test_columns_stand_in_their_order_and_rows_behind_the_slots_group_by_group() -> None:
    assert LAYOUT.size == len(OBSERVATION)
    assert LAYOUT.column_names == (
        *("free", "size[0]", "slack[0]", "size[1]", "slack[1]", "size[2]", "slack[2]"),
        *("port[0]", "fct[0]", "port[1]", "fct[1]", "late[0]", "late[1]", "late[2]"),
    )
    assert [column.name for column in LAYOUT.columns] == ["free", "size", "slack", "port", "fct", "late"]


def test_the_space_is_bounded_by_the_scale_of_plain_values_and_signed_only_where_values_are() -> None:
    space = LAYOUT.space()
    assert space.shape == (14,)
    assert space.dtype == np.float32
    assert space.low.tolist() == [0.0, 0.0, -1.0, 0.0, -1.0, 0.0, -1.0, *[0.0] * 4, *[-1.0] * 3]
    assert space.high.tolist() == [*[1.0] * 7, 65_535.0, 1.0, 65_535.0, *[1.0] * 4]
    assert space.contains(OBSERVATION)
    assert not space.contains(OBSERVATION + np.float32(65_500.0) * (np.arange(14) == 7))


@given(value=st.floats(0.0, 1e9), scale=st.floats(1e-3, 1e6))
def test_what_is_squashed_can_be_decoded(value: float, scale: float) -> None:
    column = Column(name="x", meaning="a value", unit="s", encoding=Encoding.SQUASHED, scale=scale)
    encoded = squash(value, scale)
    assert 0.0 <= encoded <= 1.0
    # The difference 1 - encoded carries the digits: of its 53 bits, as many are lost as value / scale has.
    assert column.decode(np.array(encoded)) == pytest.approx(value, rel=1e-15 * (4 + value / scale), abs=1e-300)


@given(value=st.floats(-1e3, 1e3))
def test_a_sign_survives(value: float) -> None:
    column = Column(name="x", meaning="a value", unit="s", encoding=Encoding.SIGNED, scale=2.0)
    assert column.decode(np.array(squash(value, 2.0))) == pytest.approx(value, rel=1e-12, abs=1e-300)
    assert squash(-value, 2.0) == -squash(value, 2.0)


class Scaled(NamedTuple):
    """Rules with a scale."""

    time_unit: float


def test_values_are_handed_over_by_name_in_their_units_and_each_must_be() -> None:
    columns = (FREE, SLACK, PORT, Column.squashed("{}_waiting", "time of {}", "s", "time_unit"))
    write, row = writer(columns), np.zeros(6, dtype=np.float32)
    values = {"free": 0.25, "slack": -0.02, "port": 443, "waiting": 4.0}
    assert write(Scaled(2.0), row, 1, **values) == 5
    assert row.tolist() == [0.0, 0.25, -0.5, 443.0, np.float32(4.0 / 6.0), 0.0]
    (waiting,) = named(scaled(columns[3:], {"time_unit": 2.0}), {"oldest": "the oldest request"})
    assert (waiting.name, waiting.meaning, waiting.scale) == ("oldest_waiting", "time of the oldest request", 2.0)
    assert waiting.decode(row[4]) == pytest.approx(4.0, rel=1e-6)
    for wrong in ({"free": 0.25}, values | {"colour": 1.0}):
        with pytest.raises(TypeError, match=r"write\(\) (missing|got an unexpected)"):
            write(Scaled(2.0), row, 1, **wrong)


def test_any_integer_in_the_range_is_an_action_and_nothing_else() -> None:
    for action in (2, np.int64(2), np.uint8(2), np.array(2)):
        choice = read_choice(action, 3)
        assert (choice, type(choice)) == (2, int)
    for wrong in (3, -1, np.int64(99), 1.0, "1", None, np.array([1, 2]), np.float32(1)):
        with pytest.raises(InvalidAction, match=r"action is .*: it must be an integer from 0 to 2"):
            read_choice(wrong, 3)


CHOICES = np.array([4, 3, 2])


def test_as_many_integers_as_there_are_choices_are_an_action_and_nothing_else() -> None:
    arrays = np.array([3, 0, 1]), np.array([3, 0, 1], dtype=np.uint8)
    for action in ([3, 0, 1], (3, 0, 1), *arrays):
        choices = read_choices(action, CHOICES)
        assert choices.tolist() == [3, 0, 1]
        assert choices.dtype == np.int64
        assert choices is not action
    lists = [3, 0], [3, 0, 1, 0], [[3, 0, 1]], [3.0, 0.0, 1.0], [True] * 3, [[3], [0, 1]], ["3"] * 3
    for wrong in (*lists, 3, None, "301"):
        with pytest.raises(InvalidAction, match=r"action of number 5 is .*: it must be 3 integers"):
            read_choices(wrong, CHOICES, "action of number 5")
    for outside, message in (([4, 0, 1], "has 4 at index 0: .* 0 to 3"), ([0, 0, 2**40], "at index 2: .* 0 to 1")):
        with pytest.raises(InvalidAction, match=message):
            read_choices(outside, CHOICES)
