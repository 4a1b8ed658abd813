"""Sets MERP's statements beside what ``merp.py`` measured, and draws its Figures 5 to 11 and the failures.

``run.py`` puts the text into the README of this folder.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.paper.figures import GREY, HERE, band, headline, label_all, logarithmic, panel_title, panels, save
from benchmarks.paper.merp import FAT_TREE_FLOWS, PACKET_FLOWS, PERCENTS, STUDIES, TREE_FLOWS, Runs
from benchmarks.paper.statements import MS, Column, change, columns_of, in_percent, points, statements_table, table
from flowsched_gym.evaluation.figures import CURVES
from flowsched_gym.leaderboard import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MS", "change", "draw", "in_percent", "merp_markdown"]

RATES: Final = ("MERP", "pFabric")
MIDDLE: Final = "0.6"
"""Load of the distribution of completion times."""
SHARES: Final = (
    ("99th percentile slowdown", RATES, "p99_slowdown"),
    ("99.9th", RATES, "p999_slowdown"),
    ("largest", RATES, "max_slowdown"),
    ("99.9th percentile FCT", RATES, "p999_fct"),
    ("mean FCT", RATES, "mean_fct"),
)
INCAST_COLUMNS: Final = (
    ("mean FCT, ms", "mean_fct", MS),
    ("largest FCT, ms", "largest", MS),
    ("link time lost, %", "lost", 100.0),
    ("losses per packet", "drops", 1.0),
)
FIGURES_5_TO_7: Final = (
    ("99th percentile slowdown", "p99_slowdown", 1.0),
    ("largest slowdown", "max_slowdown", 1.0),
    ("99.9th percentile FCT, ms", "p999_fct", MS),
    ("mean FCT, ms", "mean_fct", MS),
)

COLOURS: Final = {"MERP": CURVES[1], "pFabric": CURVES[0], "pFabric by size": CURVES[3], "TCP": GREY} | {
    name: CURVES[shade] for name, shade in {"MEMR": 1, "ECMP": 0, "CONGA": 2, "CONGA once": 4}.items()
}
SIZES: Final = {"tree": "1,500 KB", "tree, 150 KB": "150 KB"}

HEAD: Final = """
## MERP, section 6

Fluid model, 1 Gbps and 10 us a link, alpha = 0.999. pFabric serves the fewest remaining bytes first (SRPT), or the
smallest original size; TCP is max-min fair sharing. Sizes are Pareto with a mean of 1,500 KB; the paper does not print
the shape: 1.5, the default of its simulator. Load is the utilisation of the rack uplinks on the nine-host tree, and of
the hosts' links on the fat-tree (k = 4). {seeds} seeds, each of {tree:,} flows on the tree and on one link and of
{fat_tree:,} on the fat-tree, the same flows for all schemes; changes are ratios of means with 95 % bootstrap intervals.
Measured by `{command}`, flowsched-gym {version}.

The motivating example (Table 1, Figure 1): A arrives at 0 with size 3, B at 3 with 3, C at 0 with 4.

"""

PAPERS_EXAMPLE: Final = {"PS": ("8", "2.375"), "SRPT": ("5.33", "2.5"), "MERP": ("5.67", "2.33")}
"""Mean FCT and largest expansion ratio as printed; 2.375 under PS is C's, A's is larger."""

STATEMENTS: Final = """
What the paper's text says (its axes cannot be read in the text that we have), and what comes out here. The paper has
NS2; `fluid` shares rates and has no packets; `ranks fixed; no probing` are packets, see below, with what Figure 2 and
Table 2 describe.

"""

FIGURES: Final = """
Figures 5 to 7, nine-host tree, mean size 1,500 KB. Change: MERP against pFabric.

"""

IN_PACKETS: Final = f"""
In packets, mean size 150 KB, {PACKET_FLOWS:,} flows. MERP's order (completion times in the fluid as ranks) at
every port, from senders that pause and lose nothing; pFabric in buffers of 36 KB, twice what a path holds, its dropped
packets sent again after 1 ms; TCP is NewReno behind drop-tail queues of 100 packets.

Nothing else of MERP's protocol is here. Its nine types of packets open and close flows (SYN, FIN), carry data (DATA),
probe (DET), acknowledge each of these, and let a paused flow start (BOOST); SYN and BOOST go first, probes last. By
Algorithm 1 a switch keeps size, rest, arrival, virtual deadline and expected rate of each flow, runs Algorithm 2 at
each SYN, and takes the least expected rate of those in a packet's header and in its table, so that all switches of a
path agree on an order. By Algorithm 3 it writes into the header how fast the flow may send: alpha C to the first, and
to the second when the first has less than a round trip left (early start); probes of the others have (1 - alpha) C,
of the second n - 1 times as much, at most the threshold. A receiver that sees more than the threshold answers a probe
with BOOST. Here a switch knows the order at once, a paused flow starts at once, and probes only cost 1 - alpha (in the
fluid) or a gap (Figure 9).

"""

INCAST: Final = """
Section 6.3 is not in the text that we have, but for its aim: how fast flows are switched, and whether incast hurts. So
many flows of 150 KB (Pareto) go to one host of the tree at once, in packets as above. Time lost: by how much the
last flow ends later than on a link that is always busy. Change: MERP to pFabric.

"""

RATE_TABLES: Final = (
    (FIGURES, "tree", "load"),
    ("\nMean size 150 KB:\n\n", "tree, 150 KB", "load"),
    (IN_PACKETS, "packets", "load"),
    (INCAST, "incast", "flows"),
)

SHAPES: Final = """
Other tails, tree at load 0.8: change of MERP against pFabric in %. The shape 1.05 is bounded at 1,000 times the mean.

"""

ALPHA: Final = """
Figure 8, 99.9th percentile FCT in ms by alpha, tree, mean size 150 KB:

"""

THETA: Final = """
Figure 9, 99.9th percentile FCT in ms by detecting rate threshold, mean size 150 KB. A fluid has no detecting packets:
the threshold appears as a gap before a waiting flow takes over, as long as one packet of 1,500 B at that rate. With
early start there is none, without it a round trip (80 us) comes on top. Only one link has a gap, so this is one link.

"""

ROUTES: Final = """
Figure 10, fat-tree. All schemes serve flows in MERP's order, as the paper has it for ECMP, but the last, which is CONGA
over fair sharing. `CONGA once` chooses when a flow arrives and never again. Change: MEMR against ECMP.

"""

FAILURES: Final = """
Section 6.2.2, fat-tree at load 0.6 with cables between aggregation and core switches down, chosen at random for each
seed. The text that we have ends before the paper's numbers; section 1 says up to -31 %. ECMP spreads flows over the
paths that are left. Two failures that meet in one pod bring ECMP close to saturation: the draw in the middle says more
than the mean.

"""

LENGTHS: Final = """
Longer and shorter runs: means grow by some percent with the length, as sizes of infinite variance bring ever larger
flows, and the largest slowdown with the number of flows; the changes stay. The fat-tree at load 0.8 is another matter:
there the network is still filling up when the run ends, under both ways to choose a path.

"""

DIFFERENCES: Final = """
What differs, and why:

- **The 99th percentile of the slowdown rises at high load, and the 99.9th hardly changes.** MERP lowers the largest
  slowdown, which is its objective, and pays by delaying many others a little. The paper's pFabric drops packets of
  flows that wait and sends them again; a fluid does not.
- **In packets MERP keeps its lead in the tail FCT, and not in the largest slowdown below load 0.8.** Its ranks are
  fixed: a flow of 120 MB that ends in packets a few ms later than in the fluid still goes before all that came in
  between (in two of ten runs at load 0.2, slowdowns of 39 and 41). MERP's switches would have put these first.
- **The largest slowdown grows with the number of flows**, so 20 here and 10 in the paper are of different runs. With
  the shapes 1.2 and 1.05 it falls as well, the 99.9th percentile FCT does not.
- **150 KB and 1,500 KB give the same slowdowns**, but for the delay of the links: a fluid has no packets to measure
  sizes by. The paper finds larger gains with 150 KB.
- **alpha = 0.9 is no small change.** It takes a tenth of each link away: a load of 0.8 becomes 0.89.
- **Section 5.1 comes out**, as fair sharing keeps the long flow's link busy. **5.2 prints 4 for the first flow on P1**,
  which takes 5, as the mean of 2.25 has it. MEMR leads the last flow there too, if the others are placed as told; left
  to place all four it has equal ratios on both, takes the path with the larger tail rate, and ends at 2.5.
- **MEMR does not cut the mean slowdown by 75 %**, but by a quarter at loads 0.5 and 0.6. This is what collisions of
  hashes cost in a fluid, without losses and timeouts on crowded paths. Figure 11 has no mean size: with 150 KB more
  than 99 % of MEMR's flows end within 100 ms, and so do ECMP's and CONGA's.
- **CONGA is ahead of MEMR, where the paper has it behind ECMP.** In MERP's order many flows wait; one that has waited
  for a flowlet's gap (500 us) moves to a path as soon as it is idle, at no cost and on exact knowledge. Without that
  second choice (`CONGA once`) CONGA lies between ECMP and MEMR. Over fair sharing nobody waits, so nobody moves: its
  mean FCT is behind MEMR's below load 0.6 and ahead of it from there, its mean slowdown behind up to load 0.7.
"""


def merp_markdown(results: dict[str, Any]) -> str:
    """Returns the part of the document on MERP."""
    studies: dict[str, Runs] = results["studies"] | {name: results[name] for name in ("balance", "paths")}
    seeds, version = len(results["seeds"]), results["package_version"]
    head = HEAD.format(
        seeds=seeds, tree=TREE_FLOWS, fat_tree=FAT_TREE_FLOWS, command=results["command"], version=version
    )
    parts: list[str | Table] = [head, example_table(results["example"])]
    parts += [STATEMENTS, statements_table("MERP", studies)]
    parts += ["\n![Rate control on the tree against load](merp_rates.png)\n"]
    for text, name, head in RATE_TABLES:
        figures = FIGURES_5_TO_7 if head == "load" else INCAST_COLUMNS
        columns = [each for figure in figures for each in columns_of(*figure, schemes=list(STUDIES[name].schemes))]
        parts += [text, table(head, points(studies[name]), columns)]
    parts += [SHAPES, table("shape", points(studies["shapes"]), [Column(*each, digits=0) for each in SHARES])]
    for text, name in ((ALPHA, "alpha"), (THETA, "theta")):
        settings = [Column(scheme, (scheme,), "p999_fct", MS) for scheme in STUDIES[name].schemes]
        parts += [text, table("load", points(studies[name]), settings)]
    routes = list(STUDIES["routes"].schemes)
    columns = columns_of("mean FCT, ms", "mean_fct", MS, routes) + columns_of(
        "mean slowdown", "mean_slowdown", 1.0, routes
    )
    parts += [ROUTES, table("load", points(studies["routes"]), columns)]
    parts += ["\n![Route control on the fat-tree](merp_routes.png)\n", FAILURES, failures_table(studies["failures"])]
    parts += [LENGTHS]
    for name, schemes in (("lengths", RATES), ("lengths, fat-tree", ("MEMR", "ECMP"))):
        columns = [each for figure in FIGURES_5_TO_7[3:0:-2] for each in columns_of(*figure, schemes=schemes)]
        parts += [table("flows, load", points(studies[name]), columns), "\n" if name == "lengths" else DIFFERENCES]
    return "".join(part if isinstance(part, str) else part.markdown() for part in parts)


def example_table(example: dict[str, Any]) -> Table:
    """Lays the motivating example out."""
    rows = []
    for name, found in example.items():
        mean_fct, largest = PAPERS_EXAMPLE[name]
        done = " / ".join(f"{time:g}" for time in found["completion_time"])
        rows.append((name, done, f"{found['mean_fct']:.2f}", mean_fct, f"{max(found['slowdown']):.2f}", largest))
    columns = ("", "A / B / C finish at", "mean FCT", "paper", "largest slowdown", "paper")
    return Table(columns=columns, rows=tuple(rows))


def failures_table(runs: Runs) -> Table:
    """Lays the failures out."""
    found = table("failed", points(runs), columns_of("mean FCT, ms", "mean_fct", MS, ("MEMR", "ECMP", "CONGA")))
    drawn = [np.array(each["MEMR"]["mean_fct"]) / np.array(each["ECMP"]["mean_fct"]) for each in runs.values()]
    rows = tuple((*row, f"{100 * (np.median(each) - 1):+.0f}") for row, each in zip(found.rows, drawn, strict=True))
    return Table(columns=(*found.columns, "in the middle draw"), rows=rows)


def draw(results: dict[str, Any], folder: Path = HERE) -> list[Path]:
    """Draws all figures; returns where they are."""
    studies: dict[str, Runs] = results["studies"]
    return save({"merp_rates.png": draw_rates(studies), "merp_routes.png": draw_routes(studies)}, folder)


def draw_rates(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 5 to 7: rate control on the tree."""
    figure, rows = panels(len(SIZES), len(FIGURES_5_TO_7), (14, 6.5))
    for row, (name, size) in zip(rows, SIZES.items(), strict=True):
        panel_title(row[0], f"Mean flow size {size}")
        for axes, (what, metric, scale) in zip(row, FIGURES_5_TO_7, strict=True):
            _curves(axes, studies[name], list(STUDIES[name].schemes), metric, scale=scale)
            axes.set(xlabel="load", ylabel=what)
            logarithmic(axes.yaxis, (1, 2, 5))
    headline(figure, "Nine-host tree: MERP, pFabric and TCP in this model (MERP, Figures 5 to 7)")
    label_all(rows)
    return figure


def draw_routes(studies: dict[str, Runs]) -> "Figure":
    """Draws Figures 10 and 11, and the failures: route control on the fat-tree."""
    figure, rows = panels(2, 2, (12, 8))
    (times, slowdowns), (tail, failures) = rows
    schemes = list(STUDIES["routes"].schemes)
    for axes, metric, scale, what in (
        (times, "mean_fct", MS, "mean FCT (ms)"),
        (slowdowns, "mean_slowdown", 1.0, "mean slowdown"),
    ):
        _curves(axes, studies["routes"], schemes, metric, scale=scale)
        axes.set(xlabel="load", ylabel=what)
        logarithmic(axes.yaxis, (1, 2, 5))
    for name, found in studies["distribution"][MIDDLE].items():
        percentiles = [MS * np.mean(found[str(percent)]) for percent in PERCENTS]
        tail.plot(percentiles, 1 - np.array(PERCENTS) / 100, color=COLOURS.get(name, GREY), label=name)
    panel_title(tail, f"Load {MIDDLE}")
    tail.set(xlabel="flow completion time (ms)", ylabel="share of flows that take longer")
    for axis in (tail.xaxis, tail.yaxis):
        logarithmic(axis, (1,))
    _curves(failures, studies["failures"], list(STUDIES["failures"].schemes), "mean_fct", scale=MS)
    panel_title(failures, f"Load {MIDDLE}")
    failures.set(xlabel="failed cables of 16", ylabel="mean FCT (ms)", xticks=range(len(studies["failures"])))
    headline(figure, "Fat-tree, k = 4: paths by MEMR, ECMP and CONGA in this model (MERP, section 6.2)")
    label_all(rows)
    return figure


def _curves(axes: "Axes", runs: Runs, schemes: Sequence[str], metric: str, *, scale: float) -> None:
    """Draws a metric of each scheme with its interval as a band."""
    for name in schemes:
        samples = [found[name][metric] for found in runs.values()]
        points = [float(point) for point in runs]
        band(axes, points, samples, color=COLOURS.get(name, GREY), scale=scale, label=name)
