"""What the figures of this folder share: panels, curves with intervals that are labelled beside them, plain numbers."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import pictures
from benchmarks.paper.merp import Runs
from flowsched_gym.evaluation import bootstrap_interval
from flowsched_gym.evaluation.figures import label_curves
from flowsched_gym.evaluation.plots import dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

HERE: Final = Path(__file__).resolve().parent
DOTS_PER_INCH: Final = 110
AGENT: Final = "learned agent"
GREY: Final = "#8a929c"
"""Colour of what schemes are compared with."""


def scheme_label(name: str) -> str:
    """Returns the name of a scheme, without the file of a learned agent."""
    return AGENT if name.startswith("learned") else name


def save(figures: "Mapping[str, Figure]", folder: Path) -> list[Path]:
    """Writes figures by name; returns where they are."""
    return [pictures.save(figure, folder / name, dpi=DOTS_PER_INCH) for name, figure in figures.items()]


def panels(
    rows: int, columns: int, inches: tuple[float, float], *, sharey: bool = False
) -> "tuple[Figure, list[list[Axes]]]":
    """Lays panels out; those of a row share their y axis, where asked."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - the document is made without it
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415 - as above

    figure = Figure(figsize=inches, layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))
    panels = figure.subplots(rows, columns, squeeze=False, sharey="row" if sharey else False)
    for axes in panels.flat:
        dress(axes)
    return figure, panels.tolist()


def band(
    axes: "Axes",
    points: Sequence[float],
    samples: Sequence[Sequence[float]],
    *,
    color: str,
    scale: float = 1.0,
    label: str,
    style: str = "-",
) -> None:
    """Draws the mean of the samples at each point, and its 95 % interval as a band; of few samples, their range."""
    estimates = [bootstrap_interval([scale * value for value in values]) for values in samples]
    means = [each.mean for each in estimates]
    axes.plot(points, means, style, color=color, marker="o", markersize=4, label=label)
    ends = [(each.low, each.high) for each in estimates]
    if not all(each.known for each in estimates):
        ends = [(scale * min(values), scale * max(values)) for values in samples]
    lows, highs = zip(*ends, strict=True)
    axes.fill_between(points, lows, highs, color=color, alpha=0.15, linewidth=0)


def curves(
    axes: "Axes",
    runs: Runs,
    schemes: Iterable[str],
    metric: str,
    *,
    styles: "Mapping[str, str | tuple[str, str]]",
    scale: float = 1.0,
) -> None:
    """Draws a metric of each scheme at each point, a number, with its interval as a band; colour and line by name."""
    for name in schemes:
        style = styles.get(name, GREY)
        colour, line = (style, "-") if isinstance(style, str) else style
        samples = [found[name][metric] for found in runs.values()]
        band(axes, [float(point) for point in runs], samples, color=colour, scale=scale, label=name, style=line)


def logarithmic(axis: "Axis", steps: tuple[int, ...]) -> None:
    """Makes an axis logarithmic, with plain numbers at these steps of each decade."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415 - as above

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})  # type: ignore[attr-defined]  # x or y
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def headline(figure: "Figure", text: str) -> None:
    """Writes on top what a figure is about."""
    figure.suptitle(text, x=0.01, ha="left", fontsize=12)


def panel_title(axes: "Axes", text: str) -> None:
    """Writes above a panel in which setting it was measured."""
    axes.set_title(text, loc="left", fontsize=10)


def label_all(rows: "Sequence[Sequence[Axes]]") -> None:
    """Names the curves beside them: in each panel, or in the last of a row whose panels have the same curves."""
    for row in rows:
        names = [{str(line.get_label()) for line in axes.get_lines()} for axes in row]
        for axes in row[-1:] if all(each == names[0] for each in names) else row:
            label_curves(axes)
