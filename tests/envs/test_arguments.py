"""An argument is declared once, as a field of a config: what follows from it, in a config of one's own."""

import inspect
import pickle
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, UnknownArgumentError
from flowsched_gym.envs.arguments import (
    Choice,
    Documented,
    EnvConfig,
    about_workload,
    argument,
    configured_by,
    describe,
)
from flowsched_gym.registration import load_target
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.workload import WorkloadLike
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


class OwnEnv(Documented):
    """An environment of one's own.

    ## Arguments
    Look here.

    ## Version History
    * v0: Initial version.
    """

    config: OwnConfig

    @configured_by(OwnConfig)
    def __init__(self, config: OwnConfig, workload: object, render_mode: str | None, engine: str) -> None:
        """Notes what it gets."""
        self.given = config, workload, render_mode, engine


def test_a_value_becomes_what_its_field_says() -> None:
    config = OwnConfig(size=np.uint8(9), speed=np.float32(0.5), colour="dark-blue", pair=[5, 6])

    assert (config.size, config.speed, config.colour, config.pair) == (9, 0.5, Colour.DARK_BLUE, (5, 6))
    assert [type(value) for value in (config.size, config.speed, config.colour)] == [int, float, Colour]
    assert pickle.loads(pickle.dumps(config)) == config


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

    assert env.given == (OwnConfig(workload="gather-a2", size=5), "gather-a2", None, "compiled")
    assert env.config is env.given[0]
    with pytest.raises(UnknownArgumentError, match=r"^OwnEnv has no argument 'sizes': it has workload, .*'size'\?"):
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
