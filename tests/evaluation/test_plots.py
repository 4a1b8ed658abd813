"""Figures of records, flows, intervals and curves, held to what they show."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid import Records
from flowsched_gym.workload import draw_flows, make_workload

pytest.importorskip("matplotlib")

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from flowsched_gym.evaluation import Interval, figures
from flowsched_gym.evaluation.figures import HEURISTIC, LEARNED, draw_intervals, draw_tails
from flowsched_gym.evaluation.plots import TIMELINE_FLOWS, check_plot, draw_records, plot_records
from tests.simulate import make_flows


def records_of(name: str, num_flows: int, discipline: str = "fifo") -> Records:
    return flowsched_gym.replay(draw_flows(make_workload(name), num_flows=num_flows, seed=1), discipline=discipline)


def without_end(records: Records, rows: slice) -> Records:
    completion = records.completion_time.copy()
    completion[rows] = np.nan
    met = records.deadline_met.copy()
    met[rows] = False
    fct = completion - records.arrival_time
    return replace(records, completion_time=completion, fct=fct, slowdown=fct / records.ideal_fct, deadline_met=met)


def test_the_curve_is_the_distribution_and_the_timeline_has_a_bar_for_each_first_flow_in_the_colour_of_its_fate():
    records = records_of("gather-heavy", 500)

    curve, axes = draw_records(records).axes[:2]

    times, shares = map(np.asarray, curve.lines[0].get_data())
    assert times[1:] == pytest.approx(np.sort(records.fct) * 1e3)
    assert shares[1:] == pytest.approx(np.arange(1, 501) / 500)
    marks = {text.get_text() for text in curve.texts}
    assert {f"p50: {np.median(records.fct) * 1e3:.3g} ms", "deadline 40 ms", "deadline 50 ms"} <= marks
    bars = {container.get_label(): container for container in axes.containers}
    first = np.arange(TIMELINE_FLOWS)
    assert len(bars["deadline met"]) == records.deadline_met[first].sum()
    assert len(bars["deadline missed"]) == (~records.deadline_met[first]).sum()
    bar = bars["deadline met"][0]
    row = int(bar.get_y() + bar.get_height() / 2)
    assert bar.get_x() == pytest.approx(records.grant_time[row])
    assert bar.get_x() + bar.get_width() == pytest.approx(records.completion_time[row])
    joins = [lines for lines in axes.collections if isinstance(lines, LineCollection)]
    met, missed = (np.concatenate(lines.get_segments()).reshape(-1, 4) for lines in joins)
    due = records.arrival_time + records.deadline_span
    for lines, chosen in ((met, records.deadline_met[first]), (missed, ~records.deadline_met[first])):
        assert lines[:, 1].tolist() == first[chosen].tolist()
        assert lines[:, 0] == pytest.approx(due[first][chosen])
        assert lines[:, 2] == pytest.approx(records.completion_time[first][chosen])


@pytest.mark.parametrize(
    ("records", "suffix", "beginning"),
    [
        (records_of("gather-heavy", 1), ".svg", b"<?xml"),
        (records_of("poisson-exponential", 30), ".pdf", b"%PDF"),
        (without_end(records_of("gather-heavy", 200), slice(50, 200)), ".PNG", b"\x89PNG"),
        (without_end(records_of("gather-heavy", 20), slice(None)), ".png", b"\x89PNG"),
        (without_end(records_of("poisson-exponential", 20), slice(3, 9)), ".png", b"\x89PNG"),
    ],
    ids=["one flow", "no deadlines", "some not finished", "none finished", "no deadline and not finished"],
)
def test_any_records_can_be_drawn_and_the_extension_says_the_format(records, suffix, beginning, tmp_path) -> None:
    path = tmp_path / f"picture{suffix}"
    plot_records(records, path)
    assert path.read_bytes().startswith(beginning)
    assert path.stat().st_size > 5_000
    assert list(tmp_path.iterdir()) == [path]


def test_no_flows_and_other_extensions_are_refused(tmp_path: Path) -> None:
    empty = make_workload("gather-a1", duration=1e-9).draw(0)
    with pytest.raises(ConfigError, match="there are no flows to draw"):
        draw_records(flowsched_gym.replay(empty, discipline="fifo"))
    with pytest.raises(ConfigError, match=r"the extension '\.txt': a picture needs one of"):
        check_plot(tmp_path / "picture.txt")


def test_a_flow_is_joined_to_its_deadline_and_a_late_one_says_by_how_much() -> None:
    axes = Figure(layout="constrained").add_subplot()
    flows = make_flows([0.0, 0.5, 0.25], [2.0, 1.0, 1.0], span=[3.0, 1.0, 9.0])
    records = flowsched_gym.replay(flows, discipline="fifo", capacity=1.0)
    figures.draw_flows(axes, records, names=["a", "b", "c"])
    axes.figure.draw_without_rendering()

    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "c", "b"]
    (joins,) = axes.collections
    assert isinstance(joins, LineCollection)
    assert [segment[:, 0].tolist() for segment in joins.get_segments()] == [[2000, 3000], [3000, 9250], [4000, 1500]]
    assert [text.get_text() for text in axes.texts] == ["2500.0 ms late"]

    with pytest.raises(ConfigError, match="names has 2 entries: 3 flows"):
        figures.draw_flows(axes, records, names=["a", "b"])
    with pytest.raises(ConfigError, match=r"first is 3.* 3 flows"):
        figures.draw_flows(axes, records, first=3)


def test_each_discipline_has_a_curve_of_the_share_of_all_flows_that_has_finished(tmp_path, monkeypatch) -> None:
    found = {name: records_of("gather-heavy", 50, name) for name in ("fifo", "srpt", "edf")}
    found["edf"] = without_end(found["edf"], slice(40, 50))
    drawn = []

    def save(figure: Figure, path: Path, **_) -> None:
        drawn.append(figure)
        path.touch()

    monkeypatch.setattr(Figure, "savefig", save)
    figures.plot_distributions(found, tmp_path / "figure.pdf")
    (axes,) = drawn[0].axes
    assert [line.get_label() for line in axes.lines] == list(found)
    assert [line.get_ydata()[-1] for line in axes.lines] == [1, 1, 0.8]
    assert axes.lines[1].get_xdata()[-1] == pytest.approx(1e3 * found["srpt"].fct.max())


def test_learned_agents_have_a_colour_of_their_own_and_few_episodes_no_interval() -> None:
    axes = Figure(layout="constrained").add_subplot()
    known = Interval(mean=0.5, low=0.25, high=0.75, confidence=0.95, num_samples=20)
    unknown = Interval(mean=0.5, low=np.nan, high=np.nan, confidence=0.95, num_samples=2)
    draw_intervals(axes, {"ppo": known, "edf": unknown}, learned=["ppo"], bound=known, scale=100)

    interval, learned, heuristic, _bound = axes.get_lines()
    assert interval.get_xdata().tolist() == [25, 75]
    assert (learned.get_color(), heuristic.get_color()) == (LEARNED, HEURISTIC)
    assert [text.get_text() for text in axes.texts] == ["50.0", "50.0", "no scheduler can exceed 50.0"]


def test_labels_of_curves_that_end_together_stand_apart() -> None:
    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    draw_tails(axes, {name: np.arange(1.0, 11.0) for name in "abc"})
    heights = sorted(text.xyann[1] for text in axes.texts if isinstance(text, Annotation))

    assert [text.get_text() for text in axes.texts] == ["a", "b", "c"]
    assert heights[0] >= 0
    assert np.diff(heights) * axes.get_window_extent().height * 72 / figure.dpi == pytest.approx(13.0)
    with pytest.raises(ConfigError, match="there are 25 curves: at most 24 can be told apart"):
        draw_tails(axes, {str(number): np.ones(2) for number in range(25)})
