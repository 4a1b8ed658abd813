"""Plots of records: how long flows took, when each was served, and how many there were at a time; and of networks."""

import importlib.util
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.core.files import check_target, replace_when_written
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS, SECONDS_PER_MICROSECOND, SECONDS_PER_MILLISECOND
from flowsched_gym.flows.metrics import deadline_hit_ratio
from flowsched_gym.fluid import Records
from flowsched_gym.topology import OwnNetwork

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


PLOT_SUFFIXES: Final = (".jpg", ".jpeg", ".pdf", ".png", ".svg", ".webp")
MET: Final = "#1b7a98"
MISSED: Final = "#d1495b"
PLAIN: Final = "#23285a"
WAITING: Final = "#d9dde3"
INK: Final = "#2b2f36"
FAINT: Final = "#8a919c"
"""Colours; met and missed differ in lightness too, for eyes that do not tell red from green or blue."""
OVERDUE: Final = "#ffffff"
"""Colour of the part of a late flow's bar that comes after its deadline, a line along its middle."""
TIMELINE_FLOWS: Final = 100
"""Rows that a reader can still tell apart."""
ROOM_FOR_ROWS: Final = 420
"""Height of the timeline in points."""
CURVE_POINTS: Final = 2_000
"""Points of a curve: more would not show."""
DEADLINES_SHOWN: Final = 4
"""Different deadlines that are marked; more would hide the curve."""
LOG_SCALE_RATIO: Final = 30.0
"""Ratio of the longest and the shortest time from which a logarithmic axis reads better."""
MARKED_PERCENTILES: Final = (50.0, 99.0)
FIGURE_INCHES: Final = (12.0, 8.0)
DOTS_PER_INCH: Final = 150
LABEL_SIZE: Final = 9
"""Size of labels in points."""
WIDEST: Final = 6.0
"""Width in points of the fastest link; others are as wide as their capacity has a share in its, but at least 0.8."""
NARROWEST: Final = 0.8
NAMED_NODES: Final = 24
"""Nodes of a tier up to which their names are written."""
WIDTH_INCHES: Final = 11.0
TIER_INCHES: Final = 1.7


def plot_records(records: Records, path: str | PathLike[str]) -> None:
    """Draws records into a picture file, whole or not at all; its extension says the format."""
    check_plot(path)
    figure = draw_records(records)
    with replace_when_written(path) as temporary:
        figure.savefig(temporary, dpi=DOTS_PER_INCH)


def check_plot(path: str | PathLike[str]) -> None:
    """Finds out whether a picture could be written, before any time is spent on its content; raises what that would."""
    suffix = Path(path).suffix.lower()
    if suffix not in PLOT_SUFFIXES:
        raise ConfigError(f"{path} has the extension {suffix!r}: a picture needs one of {', '.join(PLOT_SUFFIXES)}")
    _need_matplotlib()
    check_target(path)


def draw_records(records: Records) -> "Figure":
    """Draws the distribution of completion times, a timeline of the first flows, and how many there are at a time."""
    _need_matplotlib()
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    if not records.num_flows:
        raise ConfigError("there are no flows to draw: at least one is needed")
    figure = Figure(figsize=FIGURE_INCHES, layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=(1, 1.6), height_ratios=(1.5, 1))
    _draw_distribution(figure.add_subplot(grid[0, 0]), records)
    _draw_timeline(figure.add_subplot(grid[:, 1]), records)
    _draw_population(figure.add_subplot(grid[1, 0]), records)
    return figure


def plot_network(network: OwnNetwork, path: str | PathLike[str]) -> None:
    """Draws a network, whose links have capacities and delays (``filled``), into a picture file, whole or not at all.

    Raises:
        ConfigError: The extension is that of no picture.
        MissingDependencyError: Matplotlib is not installed.
    """
    check_plot(path)
    figure = _draw_network(network)
    with replace_when_written(path) as temporary:
        figure.savefig(temporary, dpi=DOTS_PER_INCH)


def _need_matplotlib() -> None:
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingDependencyError("matplotlib", extra="plot", purpose="draw figures")


def note(
    axes: "Axes", text: str, place: tuple[Any, Any], offset: tuple[float, float], colour: Any, **more: Any
) -> None:
    """Writes a text some points beside a place."""
    more = {"textcoords": "offset points", "color": colour, "fontsize": LABEL_SIZE} | more
    axes.annotate(text, place, offset, **more)


def dress(axes: "Axes") -> None:
    """Removes what carries no information."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=9)
    axes.grid(axis="both", color="#eceff2", linewidth=0.8)
    axes.set_axisbelow(True)


def _draw_distribution(axes: "Axes", records: Records) -> None:
    """Draws the cumulative distribution of the flow completion times, with deadlines and percentiles."""
    times = np.sort(records.fct[np.isfinite(records.fct)]) / SECONDS_PER_MILLISECOND
    summary = [f"{records.num_flows:,} flows"]
    if np.isfinite(records.deadline_span).any():
        summary.append(f"{deadline_hit_ratio(records):.1%} of deadlines met")
    if len(times) < records.num_flows:
        summary.append(f"{records.num_flows - len(times):,} not finished")
    dress_panel(axes, "Flow completion times", ", ".join(summary), "completion time (ms)", "share of flows")
    axes.set_ylim(0, 1.06)
    if not len(times):
        return
    axes.step(*distribution(times, records.num_flows), where="post", color=PLAIN, linewidth=2)
    if times[-1] > LOG_SCALE_RATIO * times[0]:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    spans = np.unique(records.deadline_span[np.isfinite(records.deadline_span)]) / SECONDS_PER_MILLISECOND
    if 0 < len(spans) <= DEADLINES_SHOWN:
        for span in spans:
            axes.axvline(span, color=MISSED, linewidth=1, linestyle=(0, (4, 3)))
            note(axes, f"deadline {span:g} ms", (span, 0.02), (3, 0), MISSED, rotation=90, fontsize=8, va="bottom")
    for percentile in MARKED_PERCENTILES:
        share = percentile / 100
        # Flows that did not finish count as later than all others.
        rank = share * (records.num_flows - 1)
        if rank > len(times) - 1:
            continue
        time = float(np.interp(rank, np.arange(len(times)), times))
        axes.plot(time, share, "o", color=INK, markersize=5, zorder=3)
        low = percentile <= MARKED_PERCENTILES[0]  # below the curve where there is room to its right
        number = f"{time:,.0f}" if time >= 1 / SECONDS_PER_MILLISECOND else f"{time:.3g}"
        offset, side = ((8, -12), "left") if low else ((-8, 6), "right")
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0, "alpha": 0.8}
        note(axes, f"p{percentile:g}: {number} ms", (time, share), offset, INK, ha=side, bbox=box)


def distribution(times: FloatArray, num_flows: int) -> tuple[FloatArray, FloatArray]:
    """Returns sorted times, at least one, and the share of all flows that has finished by each, as steps."""
    x, y = np.r_[times[0], times], np.arange(len(times) + 1) / num_flows
    if len(times) > CURVE_POINTS:
        kept = 1 + np.unique(np.linspace(0, len(times) - 1, CURVE_POINTS).astype(np.int64))
        x, y = x[kept], y[kept]
    return x, y


def _draw_timeline(axes: "Axes", records: Records) -> None:
    """Draws the first flows as bars from arrival to completion, the time before the grant in grey."""
    first = np.lexsort((records.flow_id, records.arrival_time))[:TIMELINE_FLOWS]
    rows = np.arange(len(first))
    arrival = records.arrival_time[first]
    due = arrival + records.deadline_span[first]
    # A flow that did not finish ends in the picture where the last thing happens to any.
    times = np.concatenate([arrival, records.completion_time[first], due])
    end = float(times[np.isfinite(times)].max())
    completion = np.nan_to_num(records.completion_time[first], nan=end)
    grant = np.nan_to_num(records.grant_time[first], nan=end)
    axes.barh(rows, grant - arrival, left=arrival, color=WAITING, linewidth=0)
    has_deadline, met = np.isfinite(records.deadline_span[first]), records.deadline_met[first]
    finished = np.isfinite(records.completion_time[first])
    groups = (
        ("deadline met", MET, has_deadline & met),
        ("deadline missed", MISSED, has_deadline & ~met),
        ("no deadline", PLAIN, ~has_deadline & finished),
        ("not finished", FAINT, ~has_deadline & ~finished),
    )
    for label, colour, chosen in groups:
        if chosen.any():
            bars = rows[chosen], (completion - grant)[chosen]
            # A rim keeps flows visible that last less than the width of a pixel.
            axes.barh(*bars, left=grant[chosen], color=colour, edgecolor=colour, linewidth=0.5, label=label)
    for chosen, colour in ((has_deadline & met, MET), (has_deadline & ~met, OVERDUE)):
        axes.hlines(rows[chosen], due[chosen], completion[chosen], color=colour, linewidth=0.7, zorder=3)
    size = min(8.0, max(3.0, ROOM_FOR_ROWS / len(first)))
    marks = due[has_deadline], rows[has_deadline]
    axes.plot(*marks, "|", color=INK, markersize=size, markeredgewidth=0.9, zorder=4)
    shown = "all flows" if len(first) == records.num_flows else f"the first {len(first)} of {records.num_flows:,} flows"
    notes = ["a line joins each flow's end to its deadline"] * bool(has_deadline.any())
    notes += ["grey: waiting for a token"] * bool((grant > arrival).any())
    dress_panel(axes, "Timeline", "; ".join([f"{shown}, in the order of arrival", *notes]), "time (s)", "flow")
    axes.set_ylim(len(first) - 0.5, -0.5)
    axes.margins(x=0.02)
    axes.locator_params(axis="y", integer=True)
    if has_deadline.any() or not finished.all():
        axes.legend(loc="lower left", fontsize=8, framealpha=0.85, edgecolor="none", handlelength=1.2)


def _draw_population(axes: "Axes", records: Records) -> None:
    """Draws how many flows there are at a time, over the whole run."""
    arrivals = np.sort(records.arrival_time)
    completions = np.sort(records.completion_time[np.isfinite(records.completion_time)])
    times = np.unique(np.concatenate([arrivals, completions]))
    if len(times) > CURVE_POINTS:
        times = np.linspace(times[0], times[-1], CURVE_POINTS)
    present = np.searchsorted(arrivals, times, side="right") - np.searchsorted(completions, times, side="right")
    axes.fill_between(times, present, step="post", color=PLAIN, alpha=0.25, linewidth=0)
    axes.step(times, present, where="post", color=PLAIN, linewidth=1)
    dress_panel(axes, "Flows in the network", "arrived and not finished, over the whole run", "time (s)", "flows")
    axes.set_ylim(bottom=0)
    axes.locator_params(axis="y", integer=True)


def dress_panel(axes: "Axes", title: str, subtitle: str, x_label: str, y_label: str) -> None:
    """Writes a title with a line of explanation below it, and the labels of both axes."""
    axes.set_title(f"{title}\n", loc="left", fontsize=12, fontweight="bold", color=INK)
    note(axes, subtitle, (0, 1), (0, 6), FAINT, xycoords="axes fraction")
    axes.set(xlabel=x_label, ylabel=y_label)
    dress(axes)


def _draw_network(network: OwnNetwork) -> "Figure":
    from matplotlib.figure import Figure  # noqa: PLC0415 - optional

    tiers = _tiers(network)
    figure = Figure(figsize=(WIDTH_INCHES, TIER_INCHES * len(tiers) + 1), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    place = {
        node: ((index + 0.5) / len(tier), height)
        for height, tier in enumerate(tiers)
        for index, node in enumerate(tier)
    }
    fastest = max(each.capacity or 0.0 for each in network.cables)
    delays: dict[float, list[float]] = {}
    for cable in network.cables:
        capacity, delay = cable.capacity or 0.0, cable.delay or 0.0
        width = max(WIDEST * capacity / fastest, NARROWEST)
        delays.setdefault(capacity, []).append(delay / SECONDS_PER_MICROSECOND)
        (x, y), (to_x, to_y) = (place[end] for end in cable.ends)
        arrow = "-|>" if network.directed else "-"
        bend = "arc3,rad=0.2" if y == to_y else "arc3"  # a line between two of a tier would run through others
        style = {"arrowstyle": arrow, "lw": width, "color": FAINT, "alpha": 0.7, "connectionstyle": bend}
        axes.annotate("", (to_x, to_y), (x, y), arrowprops=style, zorder=1)
    for tier in tiers:
        for node in tier:
            is_host = node in network.hosts
            axes.plot(*place[node], "o" if is_host else "s", markersize=9, color=MET if is_host else PLAIN, zorder=2)
            if len(tier) <= NAMED_NODES:
                label = f"{node}\n{network.hosts.index(node)}" if is_host else node
                below: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "va": "top"}
                axes.annotate(label, place[node], (0, -8), color=INK, fontsize=LABEL_SIZE, **below)
    for capacity, found in sorted(delays.items()):
        width = max(WIDEST * capacity / fastest, NARROWEST)
        span = " to ".join(dict.fromkeys(f"{each:g}" for each in (min(found), max(found))))
        text = f"{capacity / BYTES_PER_SECOND_PER_GBPS:g} Gbps, {span} us"
        axes.plot([], [], color=FAINT, linewidth=width, label=text)
    axes.legend(loc="upper right", frameon=False, fontsize=LABEL_SIZE)
    axes.set(xlim=(0, 1), ylim=(-0.5, len(tiers) - 0.4))
    count = f"{len(network.hosts)} hosts, {len(place) - len(network.hosts)} switches, {len(network.cables)} links"
    axes.set_title(f"{network.name}: {count}", loc="left", fontsize=12, fontweight="bold", color=INK)
    return figure


def _tiers(network: OwnNetwork) -> list[list[str]]:
    """Sorts nodes by their distance from hosts, and each tier by where its neighbours below stand."""
    beside: dict[str, list[str]] = {}
    for first, second in (cable.ends for cable in network.cables):
        beside.setdefault(first, []).append(second)
        beside.setdefault(second, []).append(first)
    tiers, seen = [list(network.hosts)], set(network.hosts)
    while len(seen) < len(beside):
        below = {node: (index + 0.5) / len(tiers[-1]) for index, node in enumerate(tiers[-1])}
        means = {}
        for node in dict.fromkeys(other for each in tiers[-1] for other in beside[each] if other not in seen):
            found = [below[other] for other in beside[node] if other in below]
            means[node] = sum(found) / len(found)
        if not means:  # what no host reaches
            break
        tiers.append(sorted(means, key=means.__getitem__))
        seen.update(means)
    lost = [node for node in beside if node not in seen]
    return [*tiers, lost] if lost else tiers
