"""Holds policies to what they stand for, those that skip, wait or postpone to choices by hand, options to bounds."""

import itertools
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import evaluate, rollout
from flowsched_gym.evaluation.runner import OnRecords
from flowsched_gym.players import find_player, make_policy
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import Action
from flowsched_gym.systems.artemis.env import ArtemisEnv
from flowsched_gym.systems.artemis.policies import BASES
from tests.envs.episodes import core, following, play
from tests.simulate import make_flows

ARTEMIS = "flowsched/Artemis-v0"
SLOTS = 3
EARLIEST = "transmissions=0,slot_ms=0,margin_transmissions=2"
NEAR = 1e-5
"""Relative; scores that float32 cannot tell apart."""


def make(**kwargs: Any) -> gym.Env:
    """Makes an environment with four requests at once, 1, 2, 1 and 4 ms long; the second has 1 ms of slack."""
    sizes, spans = [1.25e5, 2.5e5, 1.25e5, 5e5], [0.5, 0.003, 0.4, 0.3]
    flows = make_flows([0.0] * 4, sizes, span=spans, source=[1, 2, 3, 4])
    return gym.make(ARTEMIS, workload=flows, k=3, f=SLOTS, link_delay_us=0.0, **kwargs)


def test_a_rule_of_the_whole_queue_serves_the_best_of_all_requests_and_says_so() -> None:
    player = find_player("edf:queue=whole", ARTEMIS)
    assert (player.name, player.actions) == ("edf:queue=whole", (Action.GRANT, Action.GRANT_ANY))
    sizes, spans = [1.25e5] * 6, [0.6, 0.5, 0.4, 0.3, 0.02, 0.01]
    flows = make_flows([0.0] * 6, sizes, span=spans, source=[1, 2, 3, 4, 5, 6])
    few = {"workload": flows, "k": 1, "f": 2, "link_delay_us": 0.0}
    orders: list[list[int]] = []
    for policy in ("edf", "edf:queue=whole"):
        keep: OnRecords = lambda _, records: orders.append(np.argsort(records.completion_time).tolist())  # noqa: E731
        evaluate(ARTEMIS, policy, episodes=1, seed=0, kwargs=few, on_records=keep)
    assert orders == [[1, 2, 3, 4, 5, 0], [5, 4, 3, 2, 1, 0]]
    with pytest.raises(ConfigError, match="policy is 'edf:queue=whole': it needs f=10000, the environment has 2"):
        make_policy("edf:queue=whole", gym.make(ARTEMIS, **few))


def scores(env: ArtemisEnv, rows: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.float64]]:
    """Returns what each policy serves the smallest of, by all that is known of requests."""
    flows, place = env.workload, np.arange(len(rows), dtype=np.float64)
    assert flows.deadline_span is not None
    size, span = flows.size[rows], flows.deadline_span[rows]
    left = flows.arrival_time[rows] + span - env.simulation.now
    # Behind all others are those that come too late if three flows share the link.
    hopeless = left < 4 * 250e-6 + 3 * size / 125e6
    return {
        **{"fifo": place, "lifo": -place, "edf": left, "sjf": size, "ssdf": size / span, "lsdf": -size / span},
        **{"least-slack": left - size / 125e6, "feasible-first": np.where(hopeless, 1e3, 0.0) + left},
        "in-time": np.where(left < 3 * size / 125e6, 1e3 + size, left + 3 * size / 125e6 + 0.002 * place),
    }


def test_policies_choose_as_if_they_knew_the_true_values_of_what_they_see_in_single_precision() -> None:
    wrapped = gym.make(ARTEMIS, workload="gather-uniform", k=3, f=8, bursts=6)
    env: Any = wrapped.unwrapped
    num_choices = 0

    def check_and_choose(_: gym.Env, observation: np.ndarray, __: dict[str, Any]) -> int:
        nonlocal num_choices
        rows = env.simulation.asking.requests[env.simulation.asking.head : env.simulation.asking.tail][:8]
        choices = []
        for name, score in scores(env, rows).items():
            choices.append(int(make_policy(name, wrapped).predict(observation)[0]))
            reached = score[choices[-1]]
            assert reached <= score.min() + NEAR * np.abs(score[score < 1e2]).max(initial=1.0), name
            if (score == score.min()).sum() > 1 and reached == score.min():
                assert choices[-1] == int(np.argmin(score)), "a tie goes to the oldest"
        num_choices += len(rows) > 1
        return choices[num_choices % len(choices)]

    for seed in range(4):
        play(wrapped, check_and_choose, seed=seed)

    assert num_choices > 100


def test_of_equal_requests_the_oldest_goes_first_and_those_without_a_deadline_before_hopeless_ones() -> None:
    for spans, first in (([0.1] * 3, 0), ([np.inf, 1e-3, 0.04], 2), ([1e-3, np.inf, 1e-3], 1), ([5e-3, 1e-3, 2e-3], 1)):
        flows = make_flows([0.0] * 3, [2.5e5] * 3, span=spans, source=[1, 2, 3])
        env = gym.make(ARTEMIS, workload=flows, k=3, f=4, link_delay_us=0.0)
        observation = env.reset(seed=0)[0]
        equal = len(set(spans)) == 1
        for name in scores(core(env), np.arange(3)) if equal else ("feasible-first",):
            assert make_policy(name, env).predict(observation)[0] == (2 if name == "lifo" else first), (name, spans)


@pytest.mark.parametrize(
    ("policy", "defer", "actions"),
    [
        # Two flows are sent, the youngest visible ones; whenever one has ended, the next may go.
        ("paced:base=lifo,active=2", "wait", [2, 2, SLOTS, 1, SLOTS, 0]),
        ("paced:base=fifo,active=1", "wait", [0, SLOTS, 0, SLOTS, 0, SLOTS, 0]),
        ("paced:base=fifo,active=3", "wait", [0, 0, 0, 0]),
        # The request in slot 1 goes to the back; the smallest of 0, 2 and 3 is the oldest. Then 2 and 3, and 1 at last.
        ("postpone-late:base=sjf,margin_ms=2", "to-back", [SLOTS + 1, 0, 0, 0, 0]),
        # The youngest that is not late: 3, then 2, then 0.
        ("postpone-late:base=lifo,margin_ms=2", "to-back", [SLOTS + 1, 2, 1, 0, 0]),
        # The second has less than two transmissions left; the others go by their deadlines.
        (f"in-time:{EARLIEST}", "none", [2, 2, 0, 0]),
        (f"paced-in-time:{EARLIEST},active=2,waiting=0,flight_kb=1000000", "wait", [2, 2, SLOTS, 0, SLOTS, 0]),
        (f"paced-in-time:{EARLIEST},active=2,waiting=1,flight_kb=1000000", "wait", [2, 2, 0, 0]),
        (f"postpone-in-time:{EARLIEST},back_transmissions=2", "to-back", [SLOTS + 1, 2, 1, 0, 0]),
        # With enough slack nothing is postponed.
        ("postpone-late:base=edf,margin_ms=0", "to-back", [1, 2, 1, 0]),
        # The oldest with the slack, then the next of them; the late one, alone in the end, last.
        ("skip-late:base=fifo,margin_ms=2", "none", [0, 1, 1, 0]),
        ("skip-late:base=lifo,margin_ms=2", "none", [2, 2, 0, 0]),
        # Nobody has a second of slack: the smallest, of equal ones the oldest.
        ("skip-late:base=lifo,margin_ms=1000", "none", [0, 1, 0, 0]),
    ],
)
def test_rules_wait_postpone_and_skip_as_they_say(policy: str, defer: str, actions: list[int]) -> None:
    env = make(defer=defer)
    steps = play(env, following(make_policy(policy, env)), seed=0)
    assert [int(step.action) for step in steps[1:]] == actions
    assert all(before.info["action_mask"][after.action] for before, after in itertools.pairwise(steps))


@pytest.mark.exhaustive
def test_fewer_flows_at_once_meet_far_more_deadlines_where_a_buffer_overflows() -> None:
    kwargs = {"workload": "artemis-thesis", "k": 10, "f": 5, "transport": "tcp-lossy-2018a"}
    kwargs |= {"bursts": 20, "defer": "wait"}
    met = [
        evaluate(ARTEMIS, policy, episodes=3, seed=50, kwargs=kwargs).interval("deadline_hit_ratio").mean
        for policy in ("lifo", "paced:base=lifo,active=5")
    ]
    assert met[1] > met[0] + 0.05


def test_skipping_or_postponing_late_requests_helps_where_they_fill_the_window() -> None:
    for policy, defer in (("skip-late", "none"), ("postpone-late", "to-back")):
        env = gym.make(ARTEMIS, workload="gather-heavy", k=3, f=10, bursts=40, defer=defer)
        met = [
            np.mean([rollout(env, make_policy(name, env), seed=seed).reward for seed in range(4)])
            for name in ("feasible-first", policy)
        ]
        assert met[1] > met[0], policy


def test_bases_are_all_rules_that_grant_and_draw_nothing() -> None:
    specs = find_environment(ARTEMIS).policies
    assert set(BASES) == {spec.name for spec in specs if not (spec.base or spec.ranges)} - {"random"}


def test_wrong_options_and_environments_are_refused() -> None:
    for policy, kwargs, message in (
        ("paced", {}, "policy paced needs defer=wait: the environment was made with defer=none"),
        ("postpone-late", {"defer": "wait"}, "policy postpone-late needs defer=to-back: .* defer=wait"),
        ("search:clairvoyant=true,base=paced", {}, "policy paced needs defer=wait"),
        ("paced", {"defer": "wait", "observation": "paper"}, "the observation has no column 'active_flows'"),
        ("paced:pace=3", {"defer": "wait"}, "paced has no option 'pace': it has base, active"),
        ("paced:active=0", {"defer": "wait"}, "active is 0: it must be an integer >= 1"),
        ("paced:base=ssfd", {"defer": "wait"}, r"base is 'ssfd': it must be one of fifo, .*did you mean '[sl]sdf'"),
        ("paced:base=random", {"defer": "wait"}, "base is 'random': it must be one of fifo"),
        ("paced:active", {"defer": "wait"}, "policy is 'paced:active': its options must be key=value"),
        ("paced:active=5,active=6", {"defer": "wait"}, "each key once"),
        ("paced:base=" + "x" * 1000, {"defer": "wait"}, "policy is .*: it must have at most 500 letters"),
        ("postpone-late:margin_ms=-1", {"defer": "to-back"}, "margin_ms is -1: it must be a finite number >= 0"),
        ("skip-late", {"observation": "paper"}, "the observation has no column"),
        ("postpone-late:margin_ms=NaN", {"defer": "to-back"}, "margin_ms is nan: it must be a finite number"),
        ("fifo:active=5", {}, "fifo has no option 'active': it has none"),
    ):
        with pytest.raises(ConfigError, match=message) as caught:
            make_policy(policy, make(**kwargs))
        assert len(str(caught.value)) <= 500


def test_search_goes_on_by_a_rule_that_waits_or_postpones() -> None:
    kwargs = {"workload": "gather-heavy", "k": 3, "f": 4, "bursts": 3}
    for base, chosen in (("paced:base=lifo,active=2", "paced,base.base=lifo,base.active=2"), ("postpone-late",) * 2):
        search = f"search:rounds=1,lookahead=10,base={chosen}"
        spec = find_environment(ARTEMIS)
        env = gym.make(ARTEMIS, **find_player(search, spec).arguments(kwargs))
        assert env.unwrapped.config.defer == spec.named_policies[base.partition(":")[0]].requires["defer"]  # type: ignore[attr-defined]
        played = make_policy(search, env)
        assert played.config.base == base
        assert rollout(env, played, seed=2).metrics["num_flows"] == 30
