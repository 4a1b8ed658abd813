"""Holds the environment of long flows to hand-worked episodes: who is asked about what and sees what, what is paid.

Links carry 1 B/s and take no time, and the agent is asked every second.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.systems.auto.long_flows.observation import recorded_layout, recorded_states
from flowsched_gym.systems.auto.long_flows.rules import asked_server, list_seen
from flowsched_gym.workload import LinkChanges, Workload
from tests.envs.episodes import play
from tests.simulate import make_flows

AS_IT_WAS: Final = (2, 2, 0)
"""The last of three queues, no limit of rates, the first path."""
PORT: Final = 32_768


def begin(workload: Workload, **arguments: Any) -> AuTOLongFlowsEnv:
    """Begins an episode with thresholds of 1 and 2 B, two paths and three slots."""
    slots: dict[str, Any] = {"scope": "network", "period_ms": 1e3, "n_l": 3, "m_l": 2}
    network: dict[str, Any] = {"hosts": 4, "paths": 2, "link_gbps": 8e-9, "link_delay_us": 0.0}
    env = AuTOLongFlowsEnv(workload, **(network | slots | {"thresholds": (1.0, 2.0)} | arguments))
    env.reset(seed=0)
    return env


def choices(*slots: tuple[int, int, int]) -> npt.NDArray[np.int64]:
    rows = [*slots, *[(0, 0, 0)] * (3 - len(slots))]
    return np.array(rows).ravel()


def seen(env: AuTOLongFlowsEnv) -> list[int]:
    """Returns the flows in the slots."""
    decision = env.decision()
    count = list_seen(env.rules, decision)
    rows: list[int] = decision.flows["listed"][:count].tolist()
    return rows


def paths(env: AuTOLongFlowsEnv) -> list[int]:
    """Returns the planes that the first two flows take."""
    planes: list[int] = (env.decision().controls.path[:2] % env.config.paths).tolist()
    return planes


def two_of_one_host() -> Workload:
    return make_flows([0.0, 0.0], [30.0, 30.0], source=[0, 0], destination=[1, 2])


def sent_in_a_step(env: AuTOLongFlowsEnv, *slots: tuple[int, int, int]) -> list[float]:
    """Takes a step, and returns what each flow has sent in it."""
    before = env.decision().state.attained.copy()
    env.step(choices(*slots))
    return (env.decision().state.attained - before).tolist()


def test_nothing_is_asked_before_a_flow_is_long() -> None:
    env = begin(make_flows([0.0, 0.5], [5.0, 2.0], source=[0, 2], destination=[1, 3]))
    # Alone on its links it has sent 2 B after 2 s; the other one never is long, as it ends with its second byte.
    assert env.simulation.now == 2.0
    assert seen(env) == [0]


def test_flows_share_a_path_and_have_one_each_when_they_are_moved_apart() -> None:
    env = begin(two_of_one_host())
    assert sent_in_a_step(env, AS_IT_WAS, AS_IT_WAS) == [0.5, 0.5]
    assert sent_in_a_step(env, AS_IT_WAS, (2, 2, 1)) == [1.0, 1.0]
    assert paths(env) == [0, 1]
    assert sent_in_a_step(env, (2, 2, 1), (2, 2, 1)) == [0.5, 0.5]


def test_a_flow_in_a_higher_queue_goes_before_others_on_its_path() -> None:
    env = begin(two_of_one_host())
    assert sent_in_a_step(env, AS_IT_WAS, (0, 2, 0)) == [0.0, 1.0]
    assert env.decision().record.level.tolist() == [2, 0]
    assert sent_in_a_step(env, (1, 2, 0), AS_IT_WAS) == [1.0, 0.0]


def test_a_limited_flow_leaves_the_rest_of_the_link_to_others() -> None:
    env = begin(two_of_one_host())
    assert sent_in_a_step(env, (2, 0, 0), AS_IT_WAS) == pytest.approx([1 / 3, 2 / 3])
    assert sent_in_a_step(env, (2, 1, 0), (2, 1, 1)) == pytest.approx([2 / 3, 2 / 3])
    assert sent_in_a_step(env, (0, 1, 0), AS_IT_WAS) == pytest.approx([2 / 3, 1 / 3])
    assert sent_in_a_step(env, AS_IT_WAS, (2, 2, 1)) == pytest.approx([1.0, 1.0])


def test_choices_hold_for_flows_that_are_not_asked_about_and_empty_slots_change_nothing() -> None:
    arrival, hosts = [0.0, 0.0, 0.0, 0.0], np.arange(4)
    flows = make_flows(arrival, [9.0] * 4, source=hosts, destination=(hosts + 1) % 4)
    seen_first = begin(flows, n_l=2)
    seen_first.step(np.array([0, 0, 1, 1, 1, 1]))

    assert seen(seen_first) == [0, 1]
    assert seen_first.decision().record.level.tolist() == [0, 1, 2, 2]
    one, other = (begin(two_of_one_host()) for _ in range(2))
    for env, ignored in ((one, (0, 0, 0)), (other, (1, 1, 1))):
        for _ in range(5):
            env.step(choices((1, 2, 0), AS_IT_WAS, ignored))

    assert one.decision().state.attained.tolist() == other.decision().state.attained.tolist()


def test_servers_are_asked_in_turn_each_once_in_a_period_about_what_they_send() -> None:
    flows = make_flows([0.0] * 3, [20.0, 20.0, 6.0], source=[3, 1, 1], destination=[0, 2, 3])
    env = begin(flows, scope="server", period_ms=4e3)
    asked = []
    for _ in range(6):
        asked.append((env.simulation.now, asked_server(env.rules, env.decision()), seen(env)))
        env.step(choices((2, 2, 0), (2, 2, 1)))

    # Flow 2 goes over path 1 from 5 s on; its last byte follows before server 1 is asked again.
    assert [server for _, server, _ in asked] == [3, 1, 3, 1, 3, 1]
    assert [time for time, _, _ in asked] == [3.0, 5.0, 7.0, 9.0, 11.0, 13.0]
    assert [rows for _, _, rows in asked] == [[0], [1, 2], [0], [1], [0], [1]]


def test_masks_tell_of_empty_slots_and_failed_paths() -> None:
    flows = replace(two_of_one_host(), link_changes=LinkChanges.of([(0.0, 9, False), (9.5, 9, True)]))
    env = begin(flows)
    # Link 9 leads up to plane 1 from host 1, link 8 from host 0.
    none, whole = [True, False, False, True, False, False, True, False], [True] * 8

    assert env.action_masks().tolist() == [*whole, *whole, *none]
    assert env.unwrapped.step(choices(AS_IT_WAS, AS_IT_WAS))[4]["action_mask"].tolist() == [*whole, *whole, *none]
    failing = begin(replace(two_of_one_host(), link_changes=LinkChanges.of([(0.0, 8, False), (9.5, 8, True)])))
    narrow = [*whole[:-1], False]

    assert failing.action_masks().tolist() == [*narrow, *narrow, *none]
    failing.step(choices((2, 2, 1), (2, 2, 1)))
    assert paths(failing) == [0, 0]


def test_an_episode_without_long_flows_ends_with_its_first_step() -> None:
    env = begin(make_flows([0.0, 0.0], [2.0, 1.0], source=[0, 1], destination=[2, 3]))
    assert env.simulation.finished
    assert not env._observe().any()
    step = env.step(choices())
    assert step[1:4] == (0.0, True, False)
    assert step[4]["finished"] == (1, 0)


def test_every_term_of_an_episode_by_hand() -> None:
    # Both flows have links of their own and are long from 2 s on; a short one never counts.
    env = begin(make_flows([0.0, 0.0, 0.0], [4.0, 6.0, 1.0], source=[0, 2, 1], destination=[1, 3, 0]))
    steps = [env.step(choices(AS_IT_WAS, AS_IT_WAS)) for _ in range(4)]
    terms = [step[4]["reward_terms"] for step in steps]

    # The steps end at 3, 4, 5 and 6 s: flow 0 finishes at 4 s, flow 1 at 6 s, both with a slowdown of 1.
    assert [step[4]["time"] for step in steps] == [3.0, 4.0, 5.0, 6.0]
    assert [each["slowdown"] for each in terms] == [0.0, -1.0, 0.0, -1.0]
    growth = [3 / 4 + 3 / 6, 1 / 4 + 1 / 6, 1 / 6, 1 / 6]
    assert [each["slowdown_growth"] for each in terms] == pytest.approx([-value for value in growth])
    # What is long, from 2 B on, sends 1 B/s.
    sent = [np.log(3 / 2) * 2, np.log(4 / 3) * 2, np.log(5 / 4), np.log(6 / 5)]
    assert [each["progress"] for each in terms] == pytest.approx(sent)
    # 1 B/s of a link stands beside the throughput of 1 B/s that flow 0 had, and flow 1.
    assert [each["throughput_ratio"] for each in terms] == [1.0, 2.0, 0.5, 2.0]


def test_a_flow_whose_last_byte_is_on_its_way_takes_nothing_back_of_what_it_has_counted() -> None:
    # Flow 0 has sent its 4 B at 4 s, and they have arrived at 5.5 s; flow 1 is asked about until its 9 B are sent.
    env = begin(make_flows([0.0, 0.0], [4.0, 9.0], source=[0, 2], destination=[1, 3]), link_delay_us=7.5e5)
    steps = [env.step(choices(AS_IT_WAS, AS_IT_WAS)) for _ in range(4)]
    terms = [step[4]["reward_terms"] for step in steps]

    assert [step[4]["time"] for step in steps] == [3.0, 4.0, 5.0, 6.0]
    assert [step[4]["finished"] for step in steps] == [(), (), (), (0,)]
    alone, other = 4.0 + 1.5, 9.0 + 1.5
    growth = [3 / alone + 3 / other, 1 / alone + 1 / other, 1 / alone + 1 / other, 0.5 / alone + 1 / other]
    assert [each["slowdown_growth"] for each in terms] == pytest.approx([-value for value in growth])
    sent = [2 * np.log(3 / 2), 2 * np.log(4 / 3), np.log(5 / 4), np.log(6 / 5)]
    assert [each["progress"] for each in terms] == pytest.approx(sent)


def test_the_mean_slowdown_of_flows_that_finish_together_is_paid() -> None:
    # On one path they share: 4 B are sent after 8 s. The long flows finish together, each twice as late as alone.
    env = begin(make_flows([0.0, 0.0], [4.0, 4.0], source=[0, 0], destination=[1, 3]))
    last = play(env, lambda *_: choices(AS_IT_WAS, AS_IT_WAS), seed=0)[-1]
    assert last.info["reward_terms"]["slowdown"] == pytest.approx(-env.records().slowdown.mean())


@pytest.mark.parametrize("scope", ["server", "network"])
def test_growth_and_progress_add_up_to_the_slowdowns_and_sizes_of_all_long_flows(scope: str) -> None:
    env = AuTOLongFlowsEnv("auto-web-search", hosts=4, flows=80, thresholds=(1e5, 1e6), scope=scope)
    terms = [step.info["reward_terms"] for step in play(env, seed=5)[1:]]
    growth, progress = (sum(each[name] for each in terms) for name in ("slowdown_growth", "progress"))
    records = env.records()
    assert (records.size > 1e6).sum() > 10
    assert growth == pytest.approx(-records.slowdown[records.size > 1e6].sum(), rel=1e-9)
    assert progress == pytest.approx(np.log(np.maximum(records.size / 1e6, 1)).sum(), rel=1e-9)


def at_six_seconds(**arguments: object) -> AuTOLongFlowsEnv:
    """Moves flow 0 to path 0 with half the rate of flow 1 on path 1, and flow 2 to path 1, until 6 s."""
    sizes = [30.0, 30.0, 30.0, 1.5]
    env = begin(make_flows([0.0, 0.0, 1.0, 6.0], sizes, source=[0, 0, 3, 1], destination=[1, 2, 2, 2]), **arguments)
    while env.simulation.now < 6.0:
        env.step(choices((1, 2, 0), (2, 2, 1), (0, 1, 1)))
    return env


def test_the_layouts_have_as_many_columns_as_they_say() -> None:
    sizes = {
        (observation, layout): AuTOLongFlowsEnv(observation=observation, layout=layout).observation_space.shape
        for observation in ("full", "paper")
        for layout in ("grouped", "recorded")
    }

    assert sizes == {
        ("full", "grouped"): (11 * (6 + 5 + 12) + 10 * 7,),
        ("full", "recorded"): (143 + 11 * 17,),
        ("paper", "grouped"): (136,),
        ("paper", "recorded"): (143,),
    }


def test_every_column_of_a_slot_by_hand() -> None:
    env = at_six_seconds()
    decision, layout, observation = env.decision(), env.layout, env._observe()

    def column(name: str) -> list[float]:
        return layout.slot_column(observation, name).tolist()

    assert (column("source"), column("destination")) == ([0.25, 0.25, 1.0], [0.5, 0.75, 0.75])
    assert column("source_port") == pytest.approx([12_000 / 65_535] * 3)
    assert column("destination_port") == pytest.approx([(PORT + flow) / 65_535 for flow in range(3)])
    assert column("protocol") == pytest.approx([6 / 255] * 3)
    assert column("priority") == pytest.approx([2 / 3, 1.0, 1 / 3])
    assert column("attained") == pytest.approx(decision.state.attained[:3].tolist(), rel=0.02)
    assert column("waiting") == pytest.approx([6.0, 6.0, 5.0], rel=1e-3)
    # Flow 2 goes before flow 1 on the way down to host 2, at two thirds.
    assert column("rate") == pytest.approx([1.0, 1 / 3, 2 / 3])
    assert column("rate_cap") == pytest.approx([1.0, 1.0, 2 / 3])
    assert column("path") == [0.5, 1.0, 1.0]
    # On path 0: flow 0. On path 1: flows 1 and 2, both to host 2. The short flow 3 goes to host 2 by a path of its own.
    assert column("long_up_0") == pytest.approx([0.0, 1.0, 0.0])
    assert column("long_up_1") == pytest.approx([1.0, 0.0, 0.0])
    assert column("long_down_0") == pytest.approx([0.0, 0.0, 0.0])
    assert column("long_down_1") == pytest.approx([0.0, 1.0, 1.0])
    assert sorted(decision.active[: decision.num_active].tolist()) == [0, 1, 2, 3]
    short = np.array([0.0, 1.0, 1.0])
    on = int(decision.controls.path[3]) % 2
    assert column("all_up_0") == column("long_up_0")
    assert column(f"all_down_{on}") == pytest.approx((short + column(f"long_down_{on}")).tolist())
    assert column(f"all_down_{1 - on}") == column(f"long_down_{1 - on}")


def test_finished_flows_are_shown_latest_first_those_of_the_asked_server_alone() -> None:
    flows = make_flows([0.0] * 4, [3.0, 3.5, 4.0, 40.0], source=[0, 1, 2, 0], destination=[1, 2, 3, 3])
    env = begin(flows, m_l=4)
    while env.simulation.now < 9.0:
        env.step(choices((0, 2, 0), (2, 2, 0), (2, 2, 0)))
    observation = env._observe()

    # Flow 0 shares host 0 with flow 3 only until it is long and goes first.
    done = env.simulation.delivered[::-1]
    assert sorted(done) == [0, 1, 2]
    assert env.layout.row_column(observation, "finished_source").tolist() == [*(flows.source[done] + 1) / 4, 0.0]
    destination = (flows.destination[done] + 1) / 4
    assert env.layout.row_column(observation, "finished_destination").tolist()[:3] == destination.tolist()
    assert env.layout.row_column(observation, "finished_size")[:3] == pytest.approx(flows.size[done], rel=0.02)
    fct = env.records().fct[done]
    assert env.layout.row_column(observation, "finished_fct")[:3] == pytest.approx(fct, rel=1e-3)
    server = begin(flows, m_l=4, scope="server", period_ms=4e3)
    while server.simulation.now < 12.0:
        server.step(choices((0, 2, 0), (2, 2, 0)))

    assert server.layout.row_column(server._observe(), "finished_source").tolist() == [0.25, 0.0, 0.0, 0.0]


def test_an_unknown_size_cannot_be_read_from_what_is_shown() -> None:
    hosts = {"source": [0, 2], "destination": [1, 3]}
    one, other = (begin(make_flows([0.0, 0.0], [size, 50.0], **hosts))._observe() for size in (20.0, 40.0))
    assert one.tolist() == other.tolist()


def test_recorded_order_and_units_tell_the_same_as_the_grouped_ones() -> None:
    grouped, recorded = (
        at_six_seconds(observation="paper", layout=layout, n_l=3, m_l=2) for layout in ("grouped", "recorded")
    )
    shares, plain = grouped._observe(), recorded._observe()
    layout = recorded.layout

    assert len(plain) == 6 + 2 * 7 + 2 * 6
    assert plain[:6].tolist() == [1.0, 12_000.0, 2.0, PORT, 6.0, 1.0]
    assert [float(layout.context_column(plain, name)) for name in ("source", "priority")] == [1.0, 1.0]
    assert layout.row_column(plain, "source").tolist() == [1.0, 4.0]
    assert layout.row_column(plain, "priority").tolist() == [2.0, 0.0]
    assert (shares.reshape(-1)[:18].reshape(3, 6)[:, 0] * 4).tolist() == [1.0, 1.0, 4.0]
    assert layout.row_column(plain, "finished_fct").tolist() == [0.0, 0.0]


def test_recorded_rows_tell_times_in_microseconds() -> None:
    flows = make_flows([0.0, 0.0], [3.0, 40.0], source=[0, 2], destination=[1, 3])
    env = begin(flows, observation="paper", layout="recorded")
    while env.simulation.now < 5.0:
        observation = env.step(choices(AS_IT_WAS, AS_IT_WAS))[0]

    assert env.layout.row_column(observation, "finished_size").tolist() == [3.0, 0.0]
    assert env.layout.row_column(observation, "finished_fct").tolist() == [3e6, 0.0]
    assert env.observation_space.contains(observation)


def test_the_recorded_states_of_the_authors_agent_are_read_by_our_layout() -> None:
    states, layout = recorded_states(), recorded_layout()

    assert states.shape == (10, 143) == (10, layout.size)
    assert all(layout.space().contains(state) for state in states)
    for group, read in (("", layout.context_column), ("", layout.row_column), ("finished_", layout.row_column)):
        present = read(states, group + "source") > 0
        assert set(read(states, group + "protocol")[present]) == {6.0}
        assert set(read(states, group + "source_port")[present]) <= {12_000.0, 12_001.0}
        ports = read(states, group + "destination_port")[present]
        assert ((ports >= PORT) & (ports < 61_000)).all()
        assert (np.diff(present.astype(int), axis=-1) <= 0).all() if present.ndim > 1 else present.all()
    assert set(layout.context_column(states, "priority")) == {128.0}
    assert (layout.row_column(states, "source") > 0).sum(axis=1).tolist() == [10, 7, 4, *[10] * 7]
    # No flow was faster than a link of 1 Gbps, 125 B/us, and all took longer than a round trip of 100 us.
    size, fct = (layout.row_column(states, name) for name in ("finished_size", "finished_fct"))
    assert size.shape == (10, 11)
    assert (size / fct < 125.0).all()
    assert (fct > 100.0).all()
    # The flow that is asked about comes once more among the others.
    others = np.stack([layout.row_column(states, name) for name in ("destination", "destination_port")])
    asked = np.stack([layout.context_column(states, name) for name in ("destination", "destination_port")])
    assert (others == asked[:, :, None]).all(axis=0).any(axis=1).all()
