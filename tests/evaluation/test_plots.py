"""Figures of records, flows, intervals and curves, held to what they show, and colours to what is seen of them."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Final

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
from flowsched_gym.evaluation.figures import CURVES, HEURISTIC, LEARNED, LINES, draw_intervals, draw_tails, styles
from flowsched_gym.evaluation.learning import draw_learning, read_runs
from flowsched_gym.evaluation.plots import (
    FAINT,
    MET,
    MISSED,
    PLAIN,
    TIMELINE_FLOWS,
    check_plot,
    draw_records,
    plot_records,
)
from tests.simulate import make_flows

LEAST: Final = 10.0
"""CIEDE2000 between two lines that are told apart at a glance; 2.3 is the least that is seen at all, side by side."""
SIGHT: Final = {
    "full": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""What is seen of a colour, in linear RGB (Machado, Oliveira and Fernandes 2009)."""
XYZ: Final = np.array([[0.41246, 0.35758, 0.18044], [0.21267, 0.71515, 0.07218], [0.01933, 0.11919, 0.9503]])
HEADS = "timesteps,evaluation/deadline_hit_ratio,evaluation/ratio_to_edf,train/loss"


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


def write_run(folder: Path, seed: int, rows: tuple[str, ...], *, algorithm: str = "ppo", **config) -> Path:
    folder.mkdir(parents=True)
    run = {"env": {"environment_id": "flowsched/Artemis-v0", "workload": "gather-heavy"}, "seed": seed, **config}
    (folder / "run.json").write_text(json.dumps({**run, "algorithm": {"name": algorithm}}))
    (folder / "progress.csv").write_text("\n".join([HEADS, *rows]))
    return folder


def test_seeds_of_an_agent_are_one_curve_with_the_rules_of_its_episodes(tmp_path: Path) -> None:
    write_run(tmp_path / "sweep" / "a", 0, ("0,0.4,0.8,", "50,,,1.5", "100,0.6,1.2,"))
    write_run(tmp_path / "sweep" / "b", 1, ("0,0.2,0.4,", "50,0.4,0.8,", "200,0.7,1.4,"))
    other = write_run(tmp_path / "other", 0, ("0,0.3,0.6,", "2000,0.9,1.8,"), total_timesteps=9)

    together, alone = read_runs([tmp_path / "sweep", other])
    axes = Figure(layout="constrained").add_subplot()
    draw_learning(axes, [together, alone])

    assert together.decisions.tolist() == [0, 50, 100]
    assert together.values == pytest.approx(np.array([[0.4, 0.5, 0.6], [0.2, 0.4, 0.5]]))
    assert (together.metric, together.rules) == ("deadline_hit_ratio", {"edf": 0.5})
    curve, second, rule = axes.get_lines()
    assert curve.get_ydata() == pytest.approx([30, 45, 55])
    assert (curve.get_color(), second.get_color(), rule.get_color()) == (LEARNED, CURVES[0], HEURISTIC)
    assert rule.get_ydata() == pytest.approx([50, 50])
    assert {text.get_text() for text in axes.texts} >= {"ppo (a) (2 seeds)", "ppo (other)", "edf"}
    assert (axes.get_xscale(), axes.get_ylabel()) == ("symlog", "deadlines met, %")


def test_what_is_no_training_and_other_metrics_are_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 0, ("0,0.4,0.8,",))
    early = write_run(tmp_path / "early", 0, ("0,,,1.5",))
    wrong = write_run(tmp_path / "wrong", 0, ("many,0.4,0.8,",))
    kept = tmp_path / "agent"
    kept.mkdir()
    (kept / "curve.csv").write_text("seed,decisions,metric,mean\n0,0,mean_fct,0.1\n1,0,mean_fct,0.3")
    assert read_runs([kept])[0].values.tolist() == [[0.1], [0.3]]
    for folders, message in (
        ([tmp_path / "absent"], "has no progress.csv: it must be the folder of a run"),
        ([early], "has no evaluation yet"),
        ([wrong], "does not hold the curves of a training"),
        ([run, kept], "measured by deadline_hit_ratio, mean_fct: plot those of one metric"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_runs(folders)


def lab_of(colour: str, sight: str) -> np.ndarray:
    """Returns CIELAB of a colour as it is seen."""
    values = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    share = XYZ @ np.clip(np.array(SIGHT[sight]) @ linear, 0, 1) / XYZ.sum(axis=1)
    x, y, z = np.where(share > 216 / 24389, np.cbrt(share), (24389 / 27 * share + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def ciede2000(first: np.ndarray, second: np.ndarray) -> float:
    """Measures how different two colours look (Sharma, Wu and Dalal 2005)."""
    light, a, b = np.array([first, second]).T
    mean = np.hypot(a, b).mean() ** 7
    a = a * (1.5 - 0.5 * np.sqrt(mean / (mean + 25.0**7)))
    chroma, hue = np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360
    turn = (hue[1] - hue[0] + 180) % 360 - 180
    middle = np.radians(hue[0] + turn / 2)
    l_mean, c_mean = light.mean(), chroma.mean()
    waves = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    t = 1 + sum(size * np.cos(times * middle + np.radians(shift)) for size, times, shift in waves)
    bend = 60 * np.exp(-((((np.degrees(middle) - 275 + 180) % 360 - 180) / 25) ** 2))
    rotation = -2 * np.sqrt(c_mean**7 / (c_mean**7 + 25.0**7)) * np.sin(np.radians(bend))
    by_light = (light[1] - light[0]) / (1 + 0.015 * (l_mean - 50) ** 2 / np.sqrt(20 + (l_mean - 50) ** 2))
    by_chroma = (chroma[1] - chroma[0]) / (1 + 0.045 * c_mean)
    by_hue = 2 * np.sqrt(chroma.prod()) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * c_mean * t)
    return float(np.sqrt(by_light**2 + by_chroma**2 + by_hue**2 + rotation * by_chroma * by_hue))


def test_distances_are_those_of_the_published_pairs() -> None:
    for first, second, distance in (
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (58.0, 24.0, 15.0), 19.4535),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.694), (23.0331, 14.973, -42.5619), 2.0373),
    ):
        assert ciede2000(np.array(first), np.array(second)) == pytest.approx(distance, abs=5e-5)


@pytest.mark.parametrize("sight", SIGHT)
def test_no_two_colours_of_a_figure_look_alike(sight: str) -> None:
    for colours in ((*CURVES, LEARNED, FAINT), (MET, MISSED, PLAIN, FAINT)):
        seen = {colour: lab_of(colour, sight) for colour in colours}
        close = {pair: ciede2000(*(seen[each] for each in pair)) for pair in combinations(colours, 2)}
        assert min(close.values()) >= LEAST, min(close, key=close.__getitem__)


def test_a_seventh_curve_has_another_line() -> None:
    found = styles(7)
    assert len({(each["color"], each["linestyle"]) for each in found}) == 7
    assert [each["linestyle"] for each in found] == [LINES[0]] * 6 + [LINES[1]]
    assert HEURISTIC in CURVES
    assert LEARNED not in CURVES
