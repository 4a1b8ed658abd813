"""Holds evaluations to their seeds, to policies' protocol, and to the same episodes played one after the other."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import FlattenObservation, TimeLimit

import flowsched_gym
from flowsched_gym import evaluation
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.envs.policies import EarliestDeadline, is_pure
from flowsched_gym.evaluation import EpisodeResult, EpisodeRunner, evaluate, make_environment, rollout
from flowsched_gym.evaluation import runner as runner_module
from flowsched_gym.evaluation.engines import has_machine_code, has_vector, make_vector
from flowsched_gym.evaluation.rollout import rollout_vector
from flowsched_gym.flows.metrics import summary
from flowsched_gym.players import find_player, make_policy
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import SHORT, each_environment, play
from tests.processes import run_python
from tests.simulate import make_flows

ARTEMIS = "flowsched/Artemis-v0"
EIGHT = {"workload": "gather-heavy", "k": 3, "f": 10, "bursts": 8}
BRIEF = {"workload": "gather-heavy", "k": 3, "f": 4, "bursts": 3}
CASES: dict[str, dict[str, Any]] = {
    "terminated": BRIEF,
    "both": {"workload": "gather-heavy", "k": 3, "f": 4, "seconds": 0.4, "max_decisions": 100},
    "different lengths": {"workload": "gather-a1", "k": 3, "f": 4, "seconds": 0.4, "burst_rate": 30.0},
    "waiting": BRIEF | {"defer": "wait"},
    "to the back": BRIEF | {"defer": "to-back", "transport": "tcp"},
    "several destinations": {"workload": "gather-multi", "k": 2, "bursts": 3},
}
KINDS = ("native", "sync")
"""Our own vector environment, and Gymnasium's of single ones."""


class Oldest:
    """Grants the oldest request and remembers how it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[int, ...], Any, Any, bool]] = []

    @classmethod
    def for_env(cls, env, *, seed=0):
        return cls()

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.asked.append((np.shape(observation), state, np.array(episode_start), deterministic))
        return np.zeros(np.shape(observation)[:-1], dtype=np.int64), (state or 0) + 1


class PureOldest(Oldest):
    """Promises what its parent does not."""

    pure: ClassVar[bool] = True


class LastAllowed:
    """Takes the last action that the mask allows: it waits, or sends to the back, whenever it may."""

    pure: ClassVar[bool] = True

    def predict(self, observation, state=None, episode_start=None, deterministic=False, action_masks=None):
        """Reads the masks from behind."""
        masks = np.asarray(action_masks)
        assert masks.any(axis=-1).all(), "a mask that allows nothing is no mask"
        return masks.shape[-1] - 1 - np.argmax(masks[..., ::-1], axis=-1), state


class LastOfSome(LastAllowed):
    """Cannot be made without a number."""

    def __init__(self, number):
        self.number = number


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "has_machine_code", lambda *_: True)


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


def test_every_episode_has_its_own_seed_and_the_same_seed_gives_the_same_result():
    result = evaluate(ARTEMIS, "edf", episodes=3, seed=5, kwargs=EIGHT)
    assert result.seeds == [5, 6, 7]
    assert repr(result.runs) == repr(evaluate(ARTEMIS, "edf", episodes=3, seed=5, kwargs=EIGHT).runs)
    later = evaluate(ARTEMIS, "edf", episodes=1, seed=7, kwargs=EIGHT)
    assert later.episodes[0] == result.episodes[2]


def test_all_policies_see_the_same_flows():
    results = [evaluate(ARTEMIS, name, episodes=2, seed=1, kwargs=EIGHT) for name in ("fifo", "lifo", "feasible-first")]
    assert len({tuple(result.values("num_flows")) for result in results}) == 1
    flows = evaluation.EnvironmentFlows(ARTEMIS, EIGHT)
    env = make_environment(ARTEMIS, EIGHT)
    rollout(env, Oldest(), seed=1)
    assert env.unwrapped.workload.arrival_time.tolist() == flows.draw(1).arrival_time.tolist()  # type: ignore[attr-defined]


def test_a_policy_gets_its_memory_and_the_start_of_the_episode():
    policy = Oldest()
    episode = rollout(make_environment(ARTEMIS, EIGHT), policy, seed=0, deterministic=False)
    _, states, starts, modes = zip(*policy.asked, strict=True)
    assert np.concatenate(starts).tolist() == [True] + [False] * (episode.num_decisions - 1)
    assert list(states) == [None, *range(1, episode.num_decisions)]
    assert set(modes) == {False}


def test_an_episode_cut_by_a_time_limit_counts_only_the_flows_that_were_due():
    env = TimeLimit(make_environment(ARTEMIS, EIGHT), max_episode_steps=20)
    episode = rollout(env, Oldest(), seed=2)
    base, metrics = env.unwrapped, episode.metrics
    expected = summary(base.records(), capacity=125e6, now=base.simulation.now).as_dict()  # type: ignore[attr-defined]
    np.testing.assert_equal(metrics, expected)
    assert (episode.num_decisions, metrics["num_finished"] < 80) == (20, True)
    assert metrics["deadlines_met"] + metrics["deadlines_missed"] < 80


def test_an_object_is_named_by_its_class_or_its_label_and_a_class_is_found_by_module_and_name():
    fifo = evaluate(ARTEMIS, "fifo", episodes=1, seed=2, kwargs=EIGHT)
    for policy, label, name in (
        (Oldest(), None, "Oldest"),
        (Oldest(), "mine", "mine"),
        (f"{__name__}:Oldest", None, f"{__name__}:Oldest"),
    ):
        result = evaluate(ARTEMIS, policy, episodes=np.int64(1), seed=np.int32(2), kwargs=EIGHT, label=label)
        assert (result.policy, result.episodes) == (name, fifo.episodes)
    wrapped = rollout(FlattenObservation(make_environment(ARTEMIS, EIGHT)), Oldest(), seed=2)
    assert (wrapped,) == fifo.episodes


def test_an_argument_that_is_not_allowed_is_named():
    for change, message in (
        ({"episodes": 0}, "episodes is 0: it must be an integer >= 1"),
        ({"seed": -1}, "seed is -1: it must be an integer >= 0"),
        ({"kwargs": {"tokens": 3}}, "no argument 'tokens': it has workload, "),
        ({"kwargs": {"render_mode": "gif"}}, "render_mode is 'gif': it must be None or one of human, rgb_array, ansi"),
        ({"policy": "..policies:FirstSlot"}, r"target is '\.\.policies:FirstSlot': it must have the form module:name"),
        ({"policy": "fastest"}, "policy is 'fastest'"),
        (
            {"policy": f"{__name__}:LastOfSome"},
            "must have a class method for_env.* or a method predict and no arguments",
        ),
        ({"policy": f"{__name__}:Missing"}, "has no 'Missing'"),
    ):
        arguments = {"environment": ARTEMIS, "policy": "edf", "episodes": 1, "seed": 0, "kwargs": EIGHT} | change
        with pytest.raises(ConfigError, match=message):
            evaluate(**arguments)
    with pytest.raises(ConfigError, match="gives no episode_metrics"):
        rollout(gymnasium.make("CartPole-v1"), Oldest(), seed=0)


@pytest.mark.parametrize("kwargs", [EIGHT | {"transport": "tcp"}, EIGHT | {"workload": "gather-multi"}], ids=str)
def test_no_policy_beats_the_bound(kwargs):
    bound = evaluation.evaluate_bound(ARTEMIS, episodes=3, seed=11, kwargs=kwargs)
    assert (bound.values("reachable_hit_ratio") <= bound.values("deadline_hit_ratio")).all()
    for name in ("fifo", "lifo", "feasible-first"):
        met = evaluate(ARTEMIS, name, episodes=3, seed=11, kwargs=kwargs).values("deadlines_met")
        assert (met <= bound.values("deadlines_met")).all()
    simulation = evaluation.EnvironmentFlows(ARTEMIS, EIGHT).simulation(11)
    workload, capacity = simulation.workload, float(simulation.topology.capacity[0])
    upper = evaluation.deadline_bound(workload, capacity=capacity, latency_after=0.5e-3).upper
    for discipline in ("edf", "srpt", "ps"):
        records = flowsched_gym.replay(workload, discipline=discipline, topology=simulation.topology)
        assert records.deadline_met.sum() <= upper


def test_an_idle_network_meets_its_bound():
    kwargs = {"workload": "gather-a1", "bursts": 3, "burst_rate": 1.0}
    bound = evaluation.evaluate_bound(ARTEMIS, episodes=2, seed=0, kwargs=kwargs)
    met = evaluate(ARTEMIS, "edf", episodes=2, seed=0, kwargs=kwargs)
    assert bound.values("deadline_hit_ratio").tolist() == met.values("deadline_hit_ratio").tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("transport", "needed"),
    [
        # Request and token 0.5 ms each, 100 segments of 1448 B at 1 Gbps, 0.5 ms for the last byte to arrive.
        ("ideal", 1.5e-3 + 144_800 / 125e6),
        # Besides, a handshake of 1 ms and two packets, 54 B of header on each segment, and five windows, of 10, 15, 19,
        # 19.95 and 20.9475 segments, that take as long as the handshake each.
        ("tcp", 1.5e-3 + 6 * (1e-3 + 2 * 1502 / 125e6) + (100 - 84.8975) * 1502 / 125e6),
    ],
)
@pytest.mark.parametrize(("spare", "met"), [(1e-7, 1), (-1e-7, 0)])
def test_the_bound_knows_the_time_that_a_lone_flow_needs_at_least(transport, needed, spare, met):
    flow = make_flows([0.0], [144_800.0], span=[needed + spare])
    flows = evaluation.EnvironmentFlows(ARTEMIS, {"workload": flow, "transport": transport})
    assert evaluation.bound_of_simulation(flows.simulation(0)).upper == met


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
def test_seeds_need_no_order_a_vector_can_be_played_again_and_those_that_have_ended_are_told(kind: str) -> None:
    """They are told of while their environments are as they ended."""
    kwargs, seeds = CASES["both"], [5, 9, 2, 4, 3]
    envs = make_envs(kind, kwargs, num_envs=2)
    told: dict[int, bytes] = {}

    def ended(place, number):
        assert place not in told
        records = envs.records(number) if kind == "native" else envs.envs[number].get_wrapper_attr("records")()
        told[place] = records.completion_time.tobytes()

    played = rollout_vector(envs, LastAllowed(), seeds=seeds, ended=ended)

    assert [episode.seed for episode in played] == seeds
    assert bits(rollout_vector(envs, LastAllowed(), seeds=seeds)) == bits(played)
    env = make_environment(ARTEMIS, kwargs)
    for place, episode in enumerate(played):
        assert bits([rollout(env, LastAllowed(), seed=seeds[place])]) == bits([episode])
        assert told[place] == env.get_wrapper_attr("records")().completion_time.tobytes()


@each_environment
def test_an_evaluation_is_what_rollouts_one_by_one_are(spec: EnvironmentSpec) -> None:
    for name in spec.heuristics:
        arguments = find_player(name, spec).arguments(SHORT[spec.id])
        expected = one_by_one(spec.id, name, range(3, 6), arguments)
        result = evaluate(spec.id, name, episodes=3, seed=3, kwargs=arguments)
        assert bits(result.episodes) == bits(expected), name


UNCOMPILED = {"has_machine_code": lambda *_: False}


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
        monkeypatch.setattr(runner_module, name, value)
    policy = PureOldest()
    result = evaluate(ARTEMIS, policy, episodes=episodes, seed=0, kwargs=BRIEF)
    assert {asked[:-1] for asked, *_ in policy.asked} == {shape}
    assert len(policy.asked) == 30 * math.ceil(episodes / math.prod(shape))
    assert bits(result.episodes) == bits(one_by_one(ARTEMIS, PureOldest(), range(episodes), BRIEF))


def test_machine_code_is_there_once_it_has_been_used_and_not_before(tmp_path: Path) -> None:
    program = (
        "from flowsched_gym.evaluation.engines import find_environment, has_machine_code; "
        f"print(has_machine_code(find_environment({ARTEMIS!r}), {{}}))"
    )
    rollout_vector(make_vector(ARTEMIS, BRIEF, num_envs=2), PureOldest(), seeds=[0])
    assert has_vector(find_environment(ARTEMIS))
    assert has_machine_code(find_environment(ARTEMIS), {})
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
        monkeypatch.setattr(runner_module, "has_vector", lambda env_id: False)

    result = evaluate(ARTEMIS, policy, episodes=2, seed=0, kwargs=kwargs, deterministic=why != "drawing")
    assert {(len(shape), mode) for shape, *_, mode in policy.asked} == {(1, why != "drawing")}
    assert len(policy.asked) == 2 * 30
    assert bits(result.episodes) == bits(one_by_one(ARTEMIS, PureOldest(), range(2), BRIEF))


@pytest.mark.parametrize("policy", [Oldest(), PureOldest()], ids=["one by one", "side by side"])
def test_progress_and_records_are_told_for_every_episode(policy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_module, "MAX_ENVS", 2)
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
    player, policy = EpisodeRunner(find_environment(ARTEMIS), BRIEF), PureOldest()
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
    steps = [step for seed in (2, 3, 4) for step in play(env, seed=seed, limit=40)[:-1]][:40]
    batch, rng = np.stack([step.observation for step in steps]), np.random.default_rng(0)
    made = {
        name: make_environment(spec.id, find_player(name, spec).arguments(SHORT[spec.id])) for name in spec.heuristics
    }
    policies = [
        make_policy(name, each, seed=1)
        for name, each in made.items()
        if each.observation_space == env.observation_space
    ]
    pure = [policy for policy in policies if is_pure(policy)]
    assert pure
    assert len(batch) == 40
    for policy in pure:
        alone = np.array([policy.predict(row, deterministic=True)[0] for row in batch])
        order = rng.permutation(len(batch))
        assert (policy.predict(batch[order], deterministic=True)[0] == alone[order]).all()
        assert (policy.predict(batch[:7], deterministic=True)[0] == alone[:7]).all()
