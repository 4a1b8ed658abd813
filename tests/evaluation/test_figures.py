"""Figures of flows, intervals and curves, held to what they show."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Annotation

import flowsched_gym
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import Interval
from flowsched_gym.evaluation.figures import HEURISTIC, LEARNED, draw_flows, draw_intervals, draw_tails

FLOWS = {
    "flow_id": [0, 1, 2],
    "source": [1, 2, 3],
    "destination": [0, 0, 0],
    "size_bytes": [2.0, 1.0, 1.0],
    "arrival_s": [0.0, 0.5, 0.25],
    "deadline_s": [3.0, 1.0, 9.0],
}


def test_a_flow_is_joined_to_its_deadline_and_a_late_one_says_by_how_much() -> None:
    axes = Figure(layout="constrained").add_subplot()
    records = flowsched_gym.replay(FLOWS, discipline="fifo", capacity=1.0)
    draw_flows(axes, records, names=["a", "b", "c"])
    axes.figure.draw_without_rendering()

    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "c", "b"]
    (joins,) = axes.collections
    assert isinstance(joins, LineCollection)
    assert [segment[:, 0].tolist() for segment in joins.get_segments()] == [[2000, 3000], [3000, 9250], [4000, 1500]]
    assert [text.get_text() for text in axes.texts] == ["2500.0 ms late"]

    with pytest.raises(ConfigError, match="names has 2 entries: 3 flows"):
        draw_flows(axes, records, names=["a", "b"])
    with pytest.raises(ConfigError, match=r"first is 3.* 3 flows"):
        draw_flows(axes, records, first=3)


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
    with pytest.raises(ConfigError, match="at most 6 curves"):
        draw_tails(axes, {str(number): np.ones(2) for number in range(7)})
