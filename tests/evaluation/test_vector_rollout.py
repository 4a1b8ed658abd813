"""Holds episodes played side by side to the same episodes played one after the other, bit by bit."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from flowsched_gym.envs.policies import EarliestDeadline, is_pure
from flowsched_gym.evaluation import EpisodeResult, Player, evaluate, make_environment, rollout
from flowsched_gym.evaluation import player as player_module
from flowsched_gym.evaluation.player import has_machine_code, has_vector, make_vector
from flowsched_gym.evaluation.rollout import rollout_vector
from flowsched_gym.registration import find_environment, heuristic_arguments, make_policy
from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import SHORT, each_environment
from tests.processes import run_python

ARTEMIS = "flowsched/Artemis-v0"
BRIEF = {"workload": "gather-heavy", "k": 3, "f": 4, "bursts": 3}
CASES: dict[str, dict[str, Any]] = {
    "terminated": BRIEF,
    "both": {"workload": "gather-heavy", "k": 3, "f": 4, "seconds": 0.4, "max_decisions": 100},
    "different lengths": {"workload": "gather-a1", "k": 3, "f": 4, "seconds": 0.4, "burst_rate": 30.0},
    "waiting": BRIEF | {"defer": "wait"},
    "to the back": BRIEF | {"defer": "to-back", "transport": "tcp"},
    "several destinations": {"workload": "gather-multi", "k": 2, "bursts": 3},
}


class LastAllowed:
    """Takes the last action that the mask allows: it waits, or sends to the back, whenever it may."""

    pure: ClassVar[bool] = True

    def predict(self, observation, state=None, episode_start=None, deterministic=False, action_masks=None):
        """Reads the masks from behind."""
        masks = np.asarray(action_masks)
        assert masks.any(axis=-1).all(), "a mask that allows nothing is no mask"
        return masks.shape[-1] - 1 - np.argmax(masks[..., ::-1], axis=-1), state


class Oldest:
    """Grants the oldest request and remembers what it was asked with."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[int, ...], bool]] = []

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.asked.append((np.shape(observation), deterministic))
        return np.zeros(np.shape(observation)[:-1], dtype=np.int64), state


class PureOldest(Oldest):
    """Promises what its parent does not."""

    pure: ClassVar[bool] = True


KINDS = ("native", "sync")
"""Our own vector environment, and Gymnasium's of single ones."""


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player_module, "has_machine_code", lambda env_id: True)


def make_envs(kind: str, kwargs: dict[str, Any], *, num_envs: int) -> Any:
    """Makes a vector that waits to be reset."""
    if kind == "native":
        return make_vector(ARTEMIS, kwargs, num_envs=num_envs)
    mode = {"autoreset_mode": AutoresetMode.DISABLED}
    return gymnasium.make_vec(ARTEMIS, num_envs=num_envs, vectorization_mode="sync", vector_kwargs=mode, **kwargs)


def bits(episodes: Iterable[EpisodeResult]) -> list[str]:
    """Returns all that episodes hold but their actions; a number is written with all of its digits."""
    return [repr((each.seed, each.num_decisions, each.reward, dict(each.metrics))) for each in episodes]


def one_by_one(env_id: str, policy: Any, seeds: Sequence[int], kwargs: dict[str, Any]) -> list[EpisodeResult]:
    """Plays episodes in a single environment."""
    env = make_environment(env_id, kwargs)
    player = make_policy(policy, env, seed=seeds[0]) if isinstance(policy, str) else policy
    return [rollout(env, player, seed=seed) for seed in seeds]


@pytest.mark.parametrize(
    ("kind", "name", "policy"),
    [
        *(("native", name, LastAllowed()) for name in CASES),
        *(("sync", name, "edf") for name in ("both", "different lengths")),
        ("native", "both", "edf"),
    ],
    ids=lambda value: value if isinstance(value, str) else "masks",
)
def test_episodes_in_a_vector_are_those_of_a_single_environment(kind: str, name: str, policy: Any) -> None:
    kwargs, seeds = CASES[name], range(30, 37)
    expected = bits(one_by_one(ARTEMIS, policy, seeds, kwargs))
    for num_envs in (1, 3, 9):
        envs = make_envs(kind, kwargs, num_envs=num_envs)
        chosen = make_policy(policy, make_environment(ARTEMIS, kwargs)) if isinstance(policy, str) else policy
        assert bits(rollout_vector(envs, chosen, seeds=seeds)) == expected, f"{num_envs} environments"


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_need_no_order_and_a_vector_can_be_played_again(kind: str) -> None:
    envs, seeds = make_envs(kind, CASES["both"], num_envs=2), [5, 9, 2]
    played, again = (rollout_vector(envs, LastAllowed(), seeds=seeds) for _ in range(2))
    assert bits(played) == bits(again)
    assert [episode.seed for episode in played] == seeds
    assert bits(played) == bits(one_by_one(ARTEMIS, LastAllowed(), seeds, CASES["both"]))


@pytest.mark.parametrize("kind", KINDS)
def test_those_that_have_ended_are_told_while_their_environments_are_as_they_ended(kind: str) -> None:
    kwargs, told = CASES["both"], {}
    envs = make_envs(kind, kwargs, num_envs=3)

    def ended(place, number):
        assert place not in told
        records = envs.records(number) if kind == "native" else envs.envs[number].get_wrapper_attr("records")()
        told[place] = records.completion_time.tobytes()

    rollout_vector(envs, LastAllowed(), seeds=range(5), ended=ended)

    env = make_environment(ARTEMIS, kwargs)
    for place in range(5):
        rollout(env, LastAllowed(), seed=place)
        assert told[place] == env.get_wrapper_attr("records")().completion_time.tobytes()


@each_environment
def test_an_evaluation_is_what_rollouts_one_by_one_are(spec: EnvironmentSpec) -> None:
    for name in spec.heuristics:
        arguments = heuristic_arguments(spec, SHORT[spec.id], name)
        expected = one_by_one(spec.id, name, range(3, 6), arguments)
        result = evaluate(spec.id, name, episodes=3, seed=3, kwargs=arguments)
        assert bits(result.episodes) == bits(expected), name


UNCOMPILED = {"has_machine_code": lambda spec: False}


@pytest.mark.parametrize(
    ("episodes", "limits", "shape"),
    [
        (9, {"MAX_ENVS": 4}, (3,)),
        (7, {"MAX_ENVS": 2}, (2,)),
        (6, {"MAX_FLOWS": 60}, (2,)),
        (1, {}, ()),
        (3, {"MAX_FLOWS": 59}, ()),
        (2, {"LITTLE_WORK": 60} | UNCOMPILED, ()),
        (2, {"LITTLE_WORK": 59} | UNCOMPILED, (2,)),
    ],
    ids=["equal rounds", "pairs", "large", "alone", "huge", "little work waits for no compiler", "more work does"],
)
def test_a_pure_policy_is_asked_for_many_episodes_where_that_is_sooner(episodes, limits, shape, monkeypatch) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(player_module, name, value)
    policy = PureOldest()
    result = evaluate(ARTEMIS, policy, episodes=episodes, seed=0, kwargs=BRIEF)
    assert {asked[:-1] for asked, _ in policy.asked} == {shape}
    assert len(policy.asked) == 30 * math.ceil(episodes / math.prod(shape))
    assert bits(result.episodes) == bits(one_by_one(ARTEMIS, PureOldest(), range(episodes), BRIEF))


def test_machine_code_is_there_once_it_has_been_used_and_not_before(tmp_path: Path) -> None:
    program = (
        "from flowsched_gym.evaluation.player import find_environment, has_machine_code; "
        f"print(has_machine_code(find_environment({ARTEMIS!r})))"
    )
    rollout_vector(make_vector(ARTEMIS, BRIEF, num_envs=2), PureOldest(), seeds=[0])
    assert has_vector(find_environment(ARTEMIS))
    assert has_machine_code(find_environment(ARTEMIS))
    assert run_python(program, NUMBA_CACHE_DIR=str(tmp_path)) == "False"


def test_the_promise_is_not_inherited() -> None:
    class Drawing(EarliestDeadline):
        """May do anything."""

    layout = make_environment(ARTEMIS, BRIEF).get_wrapper_attr("layout")

    assert is_pure(EarliestDeadline(layout))
    assert not is_pure(Drawing(layout))
    assert not is_pure(make_policy("random", make_environment(ARTEMIS, BRIEF)))


@pytest.mark.parametrize("why", ["rendered", "drawing", "no promise", "no vector"])
def test_those_that_cannot_be_asked_together_play_one_by_one(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    policy: Any = Oldest() if why == "no promise" else PureOldest()
    kwargs = BRIEF | ({"render_mode": "ansi"} if why == "rendered" else {})
    if why == "no vector":
        monkeypatch.setattr(player_module, "has_vector", lambda env_id: False)

    result = evaluate(ARTEMIS, policy, episodes=2, seed=0, kwargs=kwargs, deterministic=why != "drawing")
    assert {(len(shape), mode) for shape, mode in policy.asked} == {(1, why != "drawing")}
    assert len(policy.asked) == 2 * 30
    assert bits(result.episodes) == bits(one_by_one(ARTEMIS, PureOldest(), range(2), BRIEF))


@pytest.mark.parametrize("policy", [Oldest(), PureOldest()], ids=["one by one", "side by side"])
def test_progress_and_records_are_told_for_every_episode(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player_module, "MAX_ENVS", 2)
    told, records = [], {}
    calls: dict[str, Any] = {
        "progress": lambda *call: told.append(call),
        "on_records": lambda episode, found: records.update({episode: found.completion_time.tobytes()}),
    }
    evaluate(ARTEMIS, policy, episodes=3, seed=4, kwargs=CASES["both"], **calls)
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
    env = make_environment(ARTEMIS, CASES["both"])
    for episode in range(3):
        rollout(env, policy, seed=4 + episode)
        assert records[episode] == env.get_wrapper_attr("records")().completion_time.tobytes()


def test_a_player_keeps_its_vector_for_episodes_of_the_same_number() -> None:
    player = Player(find_environment(ARTEMIS), BRIEF)
    policy = PureOldest()

    three = player.play(policy, episodes=3, seed=0)
    vector = player._vector
    assert player.play(policy, episodes=3, seed=0) == three
    assert player._vector is vector
    assert player.play(policy, episodes=2, seed=0) == three[:2]
    assert vector.closed
    player.close()
    assert player._vector.closed


@each_environment
def test_policies_that_promise_to_be_pure_are(spec: EnvironmentSpec) -> None:
    env = make_environment(spec.id, SHORT[spec.id])
    env.action_space.seed(0)
    found = [env.reset(seed=2)[0]]
    while len(found) < 40:
        observation, _, ended, *_ = env.step(env.action_space.sample())
        found.append(env.reset()[0] if ended else observation)
    batch, rng = np.stack(found), np.random.default_rng(0)
    policies = [
        make_policy(name, make_environment(spec.id, heuristic_arguments(spec, SHORT[spec.id], name)), seed=1)
        for name in spec.heuristics
    ]
    pure = [policy for policy in policies if is_pure(policy)]
    assert pure
    for policy in pure:
        alone = np.array([policy.predict(row, deterministic=True)[0] for row in batch])
        order = rng.permutation(len(batch))
        assert (policy.predict(batch[order], deterministic=True)[0] == alone[order]).all()
        assert (policy.predict(batch[:7], deterministic=True)[0] == alone[:7]).all()
