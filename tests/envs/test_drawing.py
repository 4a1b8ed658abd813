"""Tests what pictures are made of: numbers, bars, tables, and the panels that systems share."""

import numpy as np
import pytest

from flowsched_gym.envs.drawing import Scene, View, draw_frame, write_text
from flowsched_gym.envs.drawing.canvas import Box, Canvas
from flowsched_gym.envs.drawing.formats import duration_text, rate_text, ratio_text, shortened, size_text
from flowsched_gym.envs.drawing.panels import Column, Panel, Rows, Stack, Table
from flowsched_gym.envs.drawing.text import aligned, text_bar
from flowsched_gym.fluid.disciplines import Ps
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.topology import big_switch, one_link
from flowsched_gym.workload import Workload
from tests.envs.pictures import cells, table
from tests.simulate import make_flows

# Numbers


def test_numbers_have_three_digits_and_a_fitting_unit() -> None:
    times = {
        0.0: "0 us",
        0.000729: "729 us",
        -0.01345: "-13.4 ms",
        0.0999: "99.9 ms",
        0.9994: "999 ms",
        0.9999: "1.00 s",
    }
    times |= {1234.5: "1234 s", 11_499_812.0: "1e+07 s", np.inf: "inf"}
    sizes = {12.0: "12 B", 1460.0: "1.46 KB", 99400.0: "99.4 KB", 350e3: "350 KB", 999.6e3: "1.00 MB", 3e9: "3000 MB"}
    rates = {125e6: "1.00 Gbit/s", 41.6e6: "333 Mbit/s", 5e9: "40.0 Gbit/s"}
    ratios = {1.0: "1.00", 12.34: "12.3", 99_999.0: "99999", 2e6: "2e+06", np.inf: "inf"}
    for write, texts in ((duration_text, times), (size_text, sizes), (rate_text, rates), (ratio_text, ratios)):
        assert {number: write(number) for number in texts} == texts


# Bars and tables


def test_a_bar_fills_its_share_and_shows_what_is_not_nothing() -> None:
    canvas = Canvas(100, 8, (255, 255, 255))
    for row, share in enumerate((0.25, 0.001, 0.0, 7.0)):
        canvas.bar(Box(0, 2 * row, 100, 2 * row + 2), share, (0, 0, 0), track=None)
    assert (canvas.array() == 0).all(axis=2).sum(axis=1).tolist() == [25, 25, 2, 2, 0, 0, 100, 100]
    assert [text_bar(share, 4) for share in (-1.0, 0.5, 2.0)] == ["[....]", "[##..]", "[####]"]


def test_tables_of_text_are_aligned_and_have_no_empty_columns() -> None:
    assert aligned([("a", "", "1"), ("bcd", "", "23")], "llr") == ["  a     1", "  bcd  23"]
    assert aligned([], "lr") == []
    assert shortened("some/folder/flows.csv", 12) == "...flows.csv"
    assert shortened("flows.csv", 12) == "flows.csv"


def test_a_table_tells_how_much_of_it_is_not_shown() -> None:
    columns = Column("flow", 10, "left"), Column("only in the text"), Column("only drawn", 10, in_text=False)
    rows = Rows(np.arange(50), lambda number, row: (f"flow {row}", "words", "drawn"))
    view = picture(Table(title="Queue", columns=columns, rows=rows, slots=30, shows_hidden=True))
    text = write_text(view)

    assert "[19]  flow 19" in text
    assert "[20]" not in text
    assert text.count("words") == 20
    assert "+ 10 more in slots" in text
    assert "20 more, hidden from the agent" in text
    assert "drawn" not in text
    assert draw_frame(view).shape == (600, 1000, 3)


# What systems share


def on_one_link(flows: Workload) -> Simulation:
    return Simulation(flows, one_link(capacity=1.25e8), Ps())


def picture(panel: Panel) -> View:
    scene = Scene.of(on_one_link(make_flows([0.0, 1.0], [1e6, 2e6])))
    return View(banner=scene.banner("Test", "on one link", "What now?"), stacks=(Stack(1, (panel,)),))


def test_links_show_what_is_left_on_them() -> None:
    simulation = on_one_link(make_flows([0.0, 0.001, 0.002], [250e3, 500e3, 1e6]))
    simulation.run(until=0.002)
    scene = Scene.of(simulation)
    flows, backlog = scene.loads

    # 1 Gbps is 125 KB in a millisecond.
    assert (scene.now, flows.tolist(), backlog.tolist()) == (0.002, [3], [pytest.approx(1750e3 - 250e3)])
    assert scene.banner("", "", "").counts == ("0 finished, 3 active, 0 to come",)
    assert scene.links().note == "100 % busy"
    assert "1.50 MB left: busy for 12.0 ms" in write_text(picture(scene.links()))


@pytest.mark.parametrize("span", [None, [1.0, 0.001, np.inf]])
def test_finished_flows_are_early_or_late_or_have_a_slowdown(span: list[float] | None) -> None:
    simulation = on_one_link(make_flows([0.0, 1.0, 2.0], [125e3, 250e3, 500e3], span=span))
    simulation.run()
    scene = Scene.of(simulation)
    found = [cells(row)[-1] for row in scene.finished().rows]

    assert scene.over
    assert found == (["x 1.00"] * 3 if span is None else ["took 4.00 ms", "1.00 ms late", "999 ms early"])
    assert [cells(row)[0] for row in scene.finished().rows] == ["flow 2", "flow 1", "flow 0"]


def one_at_a_time(simulation: Simulation) -> View:
    """Lists what a picture of a destination shows that serves one request at a time: a sixth system's panels."""
    scene, destination = Scene.of(simulation), simulation.destinations[0]
    waiting = Rows(
        destination.requests[destination.head : destination.tail],
        lambda _, row: (scene.flow(row), scene.hosts(row), size_text(scene.records.size[row])),
    )
    queue = Table(
        title="Requests, oldest first",
        columns=(Column("flow", 3, "left"), Column("from", 3, "left"), Column("size", 2)),
        rows=waiting,
        slots=2,
        shows_hidden=True,
    )
    banner = scene.banner("One at a time", "two slots", "Which request is served?")
    return View(banner=banner, stacks=(Stack(3, (queue,)), Stack(2, (scene.links(), scene.finished()))))


def test_a_few_lines_draw_another_system() -> None:
    flows = make_flows([0.0] * 4, [1e6, 2e6, 3e6, 4e6], source=[1, 2, 3, 4], destination=[0] * 4)
    simulation = Simulation(flows, big_switch(num_hosts=5, capacity=1.25e8, delay=0.0), Ps(), num_tokens=1)
    simulation.run()
    simulation.grant(1)
    simulation.run()
    view = one_at_a_time(simulation)

    assert table(view, "Requests") == [
        ["flow 0", "1 to 0", "1.00 MB"],
        ["flow 2", "3 to 0", "3.00 MB"],
        ["flow 3", "4 to 0", "4.00 MB"],
    ]
    assert table(view, "Just finished") == [["flow 1", "2 to 0", "2.00 MB", "16.0 ms", "x 1.00"]]
    assert "1 more, hidden from the agent" in write_text(view)
    assert (draw_frame(view) != 255).any()
