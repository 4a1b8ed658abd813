"""Holds what the agent of long flows sees to hand-worked episodes, in every order and unit."""

import numpy as np
import pytest

from flowsched_gym.systems.auto.long_flows import observation as observation_module
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.systems.auto.long_flows.observation import recorded_layout, recorded_states
from flowsched_gym.workload import Workload
from tests.simulate import make_flows
from tests.systems.auto.long_flows.test_env import AS_IT_WAS, begin, choices

SIX_DIGITS = 1e-5
PORT = 32_768


def three_flows() -> Workload:
    return make_flows([0.0, 0.0, 1.0, 6.0], [30.0, 30.0, 30.0, 1.5], source=[0, 0, 3, 1], destination=[1, 2, 2, 2])


def at_six_seconds(**arguments: object) -> AuTOLongFlowsEnv:
    """Moves flow 0 to path 0 with half the rate of flow 1 on path 1, and flow 2 to path 1, until 6 s."""
    env = begin(three_flows(), **arguments)
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
    view, layout, observation = env.view(), env.layout, env._observe()

    def column(name: str) -> list[float]:
        return layout.slot_column(observation, name).tolist()

    assert (column("source"), column("destination")) == ([0.25, 0.25, 1.0], [0.5, 0.75, 0.75])
    assert column("source_port") == pytest.approx([12_000 / 65_535] * 3)
    assert column("destination_port") == pytest.approx([(PORT + flow) / 65_535 for flow in range(3)])
    assert column("protocol") == pytest.approx([6 / 255] * 3)
    assert column("priority") == pytest.approx([2 / 3, 1.0, 1 / 3])
    assert column("attained") == pytest.approx(view.attained[:3].tolist(), rel=0.02)
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
    assert [view.active.tolist(), view.path[3] % 2 in (0, 1)] == [[0, 1, 2, 3], True]
    short = np.array([0.0, 1.0, 1.0])
    on = int(view.path[3]) % 2
    assert column("all_up_0") == column("long_up_0")
    assert column(f"all_down_{on}") == pytest.approx((short + column(f"long_down_{on}")).tolist())
    assert column(f"all_down_{1 - on}") == column(f"long_down_{1 - on}")


@pytest.mark.parametrize("look_back", [1, 1_000])
def test_finished_flows_are_shown_latest_first_those_of_the_asked_server_alone(look_back, monkeypatch) -> None:
    monkeypatch.setattr(observation_module, "LOOK_BACK", look_back)
    flows = make_flows([0.0] * 4, [3.0, 3.5, 4.0, 40.0], source=[0, 1, 2, 0], destination=[1, 2, 3, 3])
    env = begin(flows, m_l=4)
    while env.simulation.now < 9.0:
        env.step(choices((0, 2, 0), (2, 2, 0), (2, 2, 0)))
    observation = env._observe()

    # Flow 0 shares host 0 with flow 3 only until it is long and goes first.
    done = [int(row) for row in env.view().delivered[::-1]]
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
    one, other = (
        begin(make_flows([0.0, 0.0], [size, 50.0], source=[0, 2], destination=[1, 3])) for size in (20.0, 40.0)
    )
    assert one._observe().tolist() == other._observe().tolist()


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
