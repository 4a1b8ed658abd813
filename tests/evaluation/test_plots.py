"""Looks at what the figure of records holds."""

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

from flowsched_gym.evaluation.plots import TIMELINE_FLOWS, check_plot, draw_records, plot_records


def records_of(name: str, num_flows: int, discipline: str = "fifo") -> Records:
    return flowsched_gym.replay(draw_flows(make_workload(name), num_flows=num_flows, seed=1), discipline=discipline)


def without_end(records: Records, rows: slice) -> Records:
    completion = records.completion_time.copy()
    completion[rows] = np.nan
    met = records.deadline_met.copy()
    met[rows] = False
    fct = completion - records.arrival_time
    return replace(records, completion_time=completion, fct=fct, slowdown=fct / records.ideal_fct, deadline_met=met)


def test_the_curve_of_completion_times_is_their_distribution() -> None:
    records = records_of("gather-heavy", 500)

    axes = draw_records(records).axes[0]

    times, shares = map(np.asarray, axes.lines[0].get_data())
    assert times[1:] == pytest.approx(np.sort(records.fct) * 1e3)
    assert shares[1:] == pytest.approx(np.arange(1, 501) / 500)
    marks = [text.get_text() for text in axes.texts]
    assert f"p50: {np.median(records.fct) * 1e3:.3g} ms" in marks
    assert "deadline 40 ms" in marks
    assert "deadline 50 ms" in marks


def test_the_timeline_has_a_bar_for_each_of_the_first_flows_in_the_colour_of_its_fate() -> None:
    records = records_of("gather-heavy", 500)

    axes = draw_records(records).axes[1]

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
    "records",
    [
        records_of("gather-heavy", 1),
        records_of("poisson-exponential", 30),
        without_end(records_of("gather-heavy", 200), slice(50, 200)),
        without_end(records_of("gather-heavy", 20), slice(None)),
        without_end(records_of("poisson-exponential", 20), slice(3, 9)),
    ],
    ids=["one flow", "no deadlines", "some not finished", "none finished", "no deadline and not finished"],
)
def test_any_records_can_be_drawn(records: Records, tmp_path: Path) -> None:
    plot_records(records, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(("suffix", "beginning"), [(".svg", b"<?xml"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")])
def test_the_extension_says_the_format(tmp_path: Path, suffix: str, beginning: bytes) -> None:
    path = tmp_path / f"picture{suffix}"
    plot_records(records_of("gather-a1", 20), path)
    assert path.read_bytes().startswith(beginning)


def test_no_flows_and_other_extensions_are_refused(tmp_path: Path) -> None:
    empty = make_workload("gather-a1", duration=1e-9).draw(0)
    with pytest.raises(ConfigError, match="there are no flows to draw"):
        draw_records(flowsched_gym.replay(empty, discipline="fifo"))
    with pytest.raises(ConfigError, match=r"the extension '\.txt': a picture needs one of"):
        check_plot(tmp_path / "picture.txt")
