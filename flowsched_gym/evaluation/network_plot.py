"""Draws a network of one's own: hosts below, switches above them by their distance from the hosts."""

from os import PathLike
from typing import TYPE_CHECKING, Any, Final

from flowsched_gym.core.files import replace_when_written
from flowsched_gym.core.units import BYTES_PER_SECOND_PER_GBPS, SECONDS_PER_MICROSECOND
from flowsched_gym.evaluation.plots import DOTS_PER_INCH, FAINT, INK, LABEL_SIZE, MET, PLAIN, check_plot
from flowsched_gym.topology import OwnNetwork

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDEST: Final = 6.0
"""Width in points of the fastest link; others are as wide as their capacity has a share in its, but at least 0.8."""
NARROWEST: Final = 0.8
NAMED_NODES: Final = 24
"""Nodes of a tier up to which their names are written."""
WIDTH_INCHES: Final = 11.0
TIER_INCHES: Final = 1.7


def plot_network(network: OwnNetwork, path: str | PathLike[str]) -> None:
    """Draws a network, whose links have capacities and delays (``filled``), into a picture file, whole or not at all.

    Raises:
        ConfigError: The extension is that of no picture.
        MissingDependencyError: Matplotlib is not installed.
    """
    check_plot(path)
    figure = _draw(network)
    with replace_when_written(path) as temporary:
        figure.savefig(temporary, dpi=DOTS_PER_INCH)


def _draw(network: OwnNetwork) -> "Figure":
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
    kinds: dict[tuple[float, float], float] = {}
    for cable in network.cables:
        capacity, delay = cable.capacity or 0.0, cable.delay or 0.0
        width = max(WIDEST * capacity / fastest, NARROWEST)
        kinds[capacity, delay] = width
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
    for (capacity, delay), width in sorted(kinds.items()):
        text = f"{capacity / BYTES_PER_SECOND_PER_GBPS:g} Gbps, {delay / SECONDS_PER_MICROSECOND:g} us"
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
