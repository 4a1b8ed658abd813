"""Holds the search to what it may know, to both engines, and to a toy with a known optimum."""

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.cli import main
from flowsched_gym.core.errors import ConfigError, SpaceMismatchError
from flowsched_gym.envs.copies import EpisodeCopies
from flowsched_gym.envs.policies import FirstSlot, Planner, SmallestSize
from flowsched_gym.envs.policies.policy import record_of
from flowsched_gym.evaluation import rollout
from flowsched_gym.players import make_policy
from flowsched_gym.search import Search, SearchConfig, most_tries, sequential_halving
from flowsched_gym.workload import find_source, with_future
from tests.envs.episodes import core
from tests.simulate import make_flows

ARTEMIS = "flowsched/Artemis-v0"
ROUTE = "flowsched/MERPRoute-v0"
HEAVY: dict[str, Any] = {"workload": "gather-heavy", "k": 3, "f": 10, "bursts": 12}
QUICK = "search:futures=1,rounds=2,lookahead=20"
ROUTES: dict[str, Any] = {"workload": "poisson-fat-tree-failures", "flows": 60}


def actions_of(env: gym.Env, *, future: int | None, count: int = 12) -> list[int]:
    """Takes a few actions of the base policy, and tells what the search would do in place of each."""
    search, base = make_policy(QUICK, env, seed=5), make_policy("random", env, seed=5)
    observation, _ = env.reset(seed=3)
    found = []
    for _ in range(count):
        state = core(env).get_state()
        if future is not None:
            core(env).set_state(state.with_future(future))
        found.append(int(search.predict(observation)[0]))
        core(env).set_state(state)
        observation = env.step(int(base.predict(observation)[0]))[0]
    return found


@pytest.mark.parametrize(("env_id", "kwargs"), [(ARTEMIS, HEAVY), (ROUTE, ROUTES)], ids=["artemis", "merp-route"])
def test_actions_depend_on_the_past_alone_and_are_those_of_both_engines(
    env_id: str, kwargs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flowsched_gym.search.record_of", lambda _: None)  # no machine code for each base
    compiled, simpy = (gym.make(env_id, engine=engine, **kwargs) for engine in ("compiled", "simpy"))
    actions = actions_of(compiled, future=None)

    assert len(set(actions)) > 1
    assert actions_of(compiled, future=8) == actions
    assert actions_of(simpy, future=9) == actions


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        (ARTEMIS, HEAVY | {"destinations": 3, "transport": "tcp", "defer": "wait"}),
        (ROUTE, ROUTES),
        ("flowsched/MERPOrder-v0", {"workload": "poisson-tree", "topology": "tree9", "flows": 60}),
        ("flowsched/TAFETasks-v0", {"workload": "tafe-log", "tasks": 20}),
    ],
    ids=["artemis", "merp-route", "merp-order", "tafe-tasks"],
)
def test_a_copy_goes_on_as_the_episode_does_with_the_same_future(env_id: str, kwargs: dict[str, Any]) -> None:
    env: Any = core(gym.make(env_id, engine="compiled", **kwargs))
    policy = make_policy("random", gym.make(env_id, **kwargs), seed=1)
    copies, only = EpisodeCopies(env, 4), np.array([3])
    env.reset(seed=1)
    for num_before in (1, 20, 21):
        while len(env.get_state().decisions) < num_before:
            env.step(0)
        state, past = env.get_state(), env.workload
        copies.follow(past, state.decisions)
        futures = [with_future(past, env._source.draw(seed), state.now) for seed in (5, 6)]
        copies.branch(np.array([1, 2]), futures)
        copies.copy(np.array([2]), only)
        env.set_state(state.with_future(6))
        steps = 0
        while not copies.over[3]:
            action = policy.predict(copies.observation[3])[0]
            copies.step(only, action)
            observation, reward, _, _, info = env.step(int(action))
            assert copies.observation[3].tobytes() == observation.tobytes()
            assert copies.mask[3].tolist() == info["action_mask"].tolist()
            assert copies.reward[3] == reward
            steps += 1
        assert steps > 20
        assert not copies.over[:3].any()
        env.set_state(state)


@pytest.mark.parametrize(
    ("env_id", "kwargs", "policy"),
    [
        (ARTEMIS, HEAVY, "feasible-first"),
        (ROUTE, ROUTES, "memr"),
        ("flowsched/MERPOrder-v0", {"workload": "poisson-pareto", "flows": 60}, "vdg"),
        ("flowsched/TAFETasks-v0", {"workload": "tafe-log", "tasks": 20, "information": "full"}, "stf"),
    ],
)
def test_the_record_of_a_base_chooses_as_the_policy_does(env_id: str, kwargs: dict[str, Any], policy: str) -> None:
    env = gym.make(env_id, engine="compiled", **kwargs)
    asked = make_policy(policy, env)
    record = asked.record()
    assert make_policy("search", env)._rollouts._record == record
    observation, _ = env.reset(seed=2)
    scratch, chosen, over = np.zeros(0), np.zeros(1, dtype=np.int64), False
    while not over:
        record.choose(np.zeros(0), observation, env.get_wrapper_attr("action_masks")(), scratch, chosen)
        action = int(asked.predict(observation)[0])
        assert chosen[0] == action
        observation, _, over, *_ = env.step(action)


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        (ARTEMIS, HEAVY),
        # To compile one takes fifteen seconds.
        *(
            pytest.param(*case, marks=pytest.mark.exhaustive)
            for case in (
                (ROUTE, ROUTES),
                ("flowsched/MERPOrder-v0", {"workload": "poisson-pareto", "flows": 60}),
                ("flowsched/TAFETasks-v0", {"workload": "tafe-log", "tasks": 20, "information": "full"}),
            )
        ),
    ],
)
def test_a_base_in_machine_code_plays_as_the_one_that_is_asked(
    env_id: str, kwargs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    env = gym.make(env_id, engine="compiled", **kwargs)
    found = actions_of(env, future=None, count=3)
    monkeypatch.setattr("flowsched_gym.search.record_of", lambda _: None)
    assert actions_of(env, future=None, count=3) == found


def test_a_base_that_chooses_otherwise_than_the_class_it_derives_from_is_asked_itself() -> None:
    class Largest(SmallestSize):
        def choose(self, batch):
            return np.zeros(len(batch), dtype=np.int64)

    layout = core(gym.make(ARTEMIS, **HEAVY)).layout
    assert record_of(SmallestSize(layout)) == SmallestSize(layout).record()
    assert record_of(Largest(layout)) is record_of(object()) is None


def test_tasks_of_the_future_are_none_of_the_past() -> None:
    source = find_source("tafe-log")
    past, future = source.draw(1), source.draw(2)
    now = float(np.quantile(past.arrival_time, 0.4))
    arrived, to_come = past.task_id[past.arrival_time <= now], future.task_id[future.arrival_time > now]
    assert set(arrived) & set(to_come)
    joined = with_future(past, future, now).task_id
    assert len(set(joined)) == len(set(arrived)) + len(set(to_come))
    assert joined[: len(arrived)].tolist() == arrived.tolist()


def test_the_true_future_shows_what_a_heuristic_misses() -> None:
    # One token at 1 Gbps: first come, first served sends 4 ms, then 1 ms, so that the second deadline is missed.
    workload = make_flows([0.0, 0.0], [5e5, 1.25e5], span=[0.006, 0.003], source=[1, 2])
    env = gym.make(ARTEMIS, workload=workload, k=1, f=2, link_delay_us=0.0)
    search = Search(env, SearchConfig(base="fifo", clairvoyant=True))

    assert isinstance(search, Planner)
    assert rollout(env, make_policy("fifo", env), seed=0).reward == 1.0
    assert rollout(env, search, seed=0).reward == 2.0
    assert rollout(env, Search(env, SearchConfig(clairvoyant=True), base=FirstSlot.for_env(env)), seed=0).reward == 2.0
    with pytest.raises(ConfigError, match="workload has the same flows in every episode: no other future"):
        Search(env)
    with pytest.raises(ConfigError, match="workload has all its flows from the start, some after others: no other"):
        Search(gym.make("flowsched/TAFETasks-v0", workload="tafe-short", information="full"))


def test_sequential_halving_drops_the_worse_half_and_keeps_what_is_preferred() -> None:
    rounds: list[tuple[list[int], list[int]]] = []

    def values(left, samples):
        rounds.append((left.tolist(), samples.tolist()))
        return np.tile(np.array([0.0, 3.0, 1.0, 2.0, 3.0])[left], (len(samples), 1))

    assert sequential_halving(np.arange(5), 0, (1, 2, 4), values) == 1
    assert rounds == [([0, 1, 2, 3, 4], [0]), ([0, 1, 3, 4], [1, 2]), ([0, 1, 4], [3, 4, 5, 6])]
    assert sequential_halving(np.arange(5), 4, (1, 2, 4), values) == 4
    assert max(len(left) * len(samples) for left, samples in rounds) == most_tries(5, (1, 2, 4)) == 12


def test_options_are_read_from_the_name_and_wrong_ones_refused(capsys) -> None:
    arguments = ["--episodes", "1", "--kwarg", "workload=gather-heavy", "--kwarg", "bursts=3", "--kwarg", "k=3"]
    assert main(["evaluate", ARTEMIS, "--policy", QUICK, *arguments, "--kwarg", "f=10"]) == 0
    assert QUICK in capsys.readouterr().out
    for options, message in (
        ("depth=3", "search has no option 'depth': it has base, futures"),
        ("futures", "policy is 'search:futures': its options must be key=value,key=value, each key once"),
        ("futures=0", "futures is 0: it must be an integer >= 1"),
        ("futures=200", "futures is 200: 1400 in all are too many, 256 allowed"),
        ("base=oracle", r"base is 'oracle': flowsched/Artemis-v0 has random, fifo"),
        ("base=no.zip", r"model is 'no.zip': there is no such file"),
        ("clairvoyant=1", "clairvoyant is 1: it must be true or false"),
    ):
        with pytest.raises(ConfigError, match=message):
            make_policy(f"search:{options}", gym.make(ARTEMIS, **HEAVY))


def test_a_search_plays_in_one_environment() -> None:
    env = gym.make(ARTEMIS, **HEAVY)
    search = make_policy("search", env)
    observation = env.reset(seed=0)[0]

    with pytest.raises(SpaceMismatchError, match="a search plays in one environment"):
        search.predict(np.tile(observation, (2, 1)))
    with pytest.raises(ConfigError, match=r"search plays in single environments of gym\.make"):
        search.enter(gym.make_vec(ARTEMIS, num_envs=2, vectorization_mode="sync", **HEAVY))


def test_all_choices_are_tried_on_the_futures_of_the_first_round_which_leaves_the_episode_as_it_is() -> None:
    env = gym.make(ARTEMIS, engine="compiled", **HEAVY)
    one_round, search = (make_policy(f"search:futures=4,rounds={rounds}", env, seed=5) for rounds in (1, 2))
    observation, _ = env.reset(seed=3)
    for _ in range(8):
        tried = one_round.tried()
        assert tried.choices.tolist() == np.flatnonzero(env.get_wrapper_attr("action_masks")()).tolist()
        assert search.tried().values.tolist() == tried.values.tolist()
        best = tried.choices[tried.values == tried.values.max()]
        chosen = int(one_round.predict(observation)[0])
        assert chosen == (tried.preferred if tried.preferred in best else best[0])
        observation = env.step(chosen)[0]


def test_what_was_delivered_before_the_first_action_counts_in_every_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowsched_gym.search.record_of", lambda _: None)  # no machine code for the base
    # The first flow has one path, so that nobody is asked about it; the first action is rewarded for it too.
    flows = make_flows([0.0, 0.01], [1e5, 1e5], source=[0, 0], destination=[1, 15])
    env = gym.make(ROUTE, engine="compiled", workload=flows)
    env.reset(seed=0)
    tried = Search(env, SearchConfig(clairvoyant=True)).tried()
    assert tried.values == pytest.approx(-2.0)  # two flows alone, slowdown 1 each
