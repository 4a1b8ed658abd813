"""Sets MERP's statements beside what ``merp.py`` measured; ``run.py`` puts the text into the README of this folder."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from benchmarks.paper.merp import FAT_TREE_FLOWS, LOADS, PACKET_FLOWS, STUDIES, TREE_FLOWS, Runs
from flowsched_gym.evaluation import Interval, bootstrap_interval, paired_ratio
from flowsched_gym.leaderboard import Table, format_interval

FULL: Final = "0.8"
"""Load of the paper's statements on rate control."""
MIDDLE: Final = "0.6"
"""Load of its distribution of completion times, and of the failures."""
MS: Final = 1000.0
SHARES: Final = ("p99_slowdown", "p999_slowdown", "max_slowdown", "p999_fct", "mean_fct")
FIGURES_5_AND_6: Final = (
    ("99th percentile slowdown", "p99_slowdown", 1.0),
    ("largest slowdown", "max_slowdown", 1.0),
    ("99.9th percentile FCT, ms", "p999_fct", MS),
)

MEAN_FCT: Final = ("mean FCT, ms", "mean_fct", MS)

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
What the paper's text says (its axes cannot be read in the text that we have), and what comes out here:

"""

RATE_CONTROL: Final = """
Figures 5 and 6, nine-host tree. Change: MERP against pFabric.

Mean size {size}:

"""

PACKETS: Final = """
Figures 5 to 7 in packets, mean size 150 KB, {flows:,} flows. MERP's order (completion times in the fluid as ranks) at
every port, from senders that pause and lose nothing; pFabric in buffers of 36 KB, twice what a path holds, its dropped
packets sent again after 1 ms; TCP is NewReno behind drop-tail queues of 225 KB. Nothing else of MERP's protocol is
here: its nine types of packets, the rates in headers, and the probing by which a paused flow finds out that it may send
(Algorithms 1 and 3) cost it nothing.

"""

AVERAGE: Final = """
Figure 7, mean FCT in ms, mean size 1,500 KB. Change: MERP against pFabric.

"""

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

DISTRIBUTION: Final = """
Figure 11, fat-tree at load 0.6: percentiles of the FCT in ms, and shares of flows in %. The paper does not say which
mean size it takes; with 150 KB all times are about a tenth of these.

"""

FAILURES: Final = """
Section 6.2.2, fat-tree at load 0.6 with cables between aggregation and core switches down, chosen at random for each
seed. The text that we have ends before the paper's numbers; section 1 says up to -31 %. ECMP spreads flows over the
paths that are left. Two failures that meet in one pod bring ECMP close to saturation: the draw in the middle says more
than the mean.

"""

LENGTHS: Final = """
Longer and shorter runs: the tree compares MERP with pFabric, the fat-tree MEMR with ECMP. Means grow by some percent
with the length, as sizes of infinite variance bring ever larger flows; the changes stay. The fat-tree at load 0.8 is
another matter: there the network is still filling up when the run ends, under both ways to choose a path.

"""

DIFFERENCES: Final = """
What a flow-level model does not show, and why:

- **The 99th percentile of the slowdown rises at high load, and the 99.9th hardly changes.** MERP lowers the largest
  slowdown, which is its objective, and pays by delaying many others a little. The paper's pFabric drops packets of
  flows that wait and sends them again; a fluid does not.
- **In packets MERP keeps its lead in the tail FCT, and not in the largest slowdown below load 0.8.** Its ranks are
  fixed: a flow of 120 MB that ends in packets a few ms later than in the fluid still goes before all that came in
  between (in two of ten runs at load 0.2, slowdowns of 39 and 41). MERP's switches would have put these first.
- **The largest slowdown grows with the number of flows**, so 20 here and 10 in the paper are of different runs.
- **The mean FCT on the tree costs more than 8 %**, that on one link less.
- **Other tails tell another story.** With the shapes 1.2 and 1.05 the largest slowdown falls, the 99.9th percentile FCT
  does not.
- **150 KB and 1,500 KB give the same slowdowns**, but for the delay of the links: a fluid has no packets to measure
  sizes by. The paper finds larger gains with 150 KB.
- **alpha = 0.9 is no small change.** It takes a tenth of each link away: a load of 0.8 becomes 0.89.
- **MEMR does not cut the mean slowdown by 75 %**, but by a quarter at loads 0.5 and 0.6. This is what collisions of
  hashes cost in a fluid, without losses and timeouts on crowded paths.
- **CONGA is ahead of MEMR, where the paper has it behind ECMP.** In MERP's order many flows wait; one that has waited
  for a flowlet's gap (500 us) moves to a path as soon as it is idle, at no cost and on exact knowledge. Without that
  second choice (`CONGA once`) CONGA lies between ECMP and MEMR. Over fair sharing nobody waits, so nobody moves: its
  mean FCT is behind MEMR's below load 0.6 and ahead of it from there, its mean slowdown behind up to load 0.7.
"""


def merp_markdown(results: dict[str, Any]) -> str:
    """Returns the part of the document on MERP."""
    studies: dict[str, Runs] = results["studies"]
    head = HEAD.format(
        seeds=len(results["seeds"]),
        tree=TREE_FLOWS,
        fat_tree=FAT_TREE_FLOWS,
        command=results["command"],
        version=results["package_version"],
    )
    statements = statements_table(studies).markdown(numbers=False)
    parts: list[str | Table] = [head, example_table(results["example"]), STATEMENTS, statements]
    for size, name in (("1,500 KB", "tree"), ("150 KB", "tree, 150 KB")):
        parts += [RATE_CONTROL.format(size=size), rate_table(studies[name])]
    parts += ["\n![Rate control on the tree against load](merp_rates.png)\n"]
    parts += [PACKETS.format(flows=PACKET_FLOWS), rate_table(studies["packets"], (*FIGURES_5_AND_6, MEAN_FCT), ["TCP"])]
    parts += [AVERAGE, average_table(studies), SHAPES, shapes_table(studies["shapes"])]
    for text, name in ((ALPHA, "alpha"), (THETA, "theta")):
        parts += [text, by_scheme(studies[name], list(STUDIES[name].schemes), "p999_fct")]
    parts += ["\n![alpha and the detecting rate threshold](merp_settings.png)\n"]
    parts += [ROUTES, routes_table(studies["routes"]), "\n![Route control on the fat-tree](merp_routes.png)\n"]
    parts += [DISTRIBUTION, distribution_table(studies["distribution"][MIDDLE])]
    parts += [FAILURES, failures_table(studies["failures"]), LENGTHS, lengths_table(studies), DIFFERENCES]
    return "".join(part if isinstance(part, str) else part.markdown() for part in parts)


def change(runs: Runs, point: str, metric: str, schemes: Sequence[str]) -> Interval:
    """Returns the relative change of a metric from the second of two schemes to the first, paired by seeds."""
    first, second = (runs[point][scheme][metric] for scheme in schemes)
    ratio = paired_ratio(first, second)
    return replace(ratio, mean=ratio.mean - 1, low=ratio.low - 1, high=ratio.high - 1)


def mean(runs: Runs, point: str, scheme: str, metric: str) -> Interval:
    """Returns the mean of a metric over the seeds."""
    return bootstrap_interval(runs[point][scheme][metric])


def in_percent(interval: Interval) -> str:
    """Writes a change in percent."""
    return format_interval(interval, scale=100, digits=0, signed=True)


def plain(interval: Interval, *, scale: float = 1.0, digits: int = 1) -> str:
    """Writes an estimate without its interval."""
    return f"{interval.mean * scale:.{digits}f}"


def example_table(example: dict[str, Any]) -> Table:
    """Lays the motivating example out."""
    rows = []
    for name, found in example.items():
        mean_fct, largest = PAPERS_EXAMPLE[name]
        done = " / ".join(f"{time:g}" for time in found["completion_time"])
        rows.append((name, done, f"{found['mean_fct']:.2f}", mean_fct, f"{max(found['slowdown']):.2f}", largest))
    columns = ("", "A / B / C finish at", "mean FCT", "paper", "largest slowdown", "paper")
    return Table(columns=columns, rows=tuple(rows))


def statements_table(studies: dict[str, Runs]) -> Table:
    """Sets the statements of the paper's text beside what comes out here."""
    tree, small, link, routes, packets = (
        studies[name] for name in ("tree", "tree, 150 KB", "one link", "routes", "packets")
    )
    spread = studies["distribution"][MIDDLE]
    rates, paths = ("MERP", "pFabric"), ("MEMR", "ECMP")
    span = {
        metric: [change(routes, load, metric, paths).mean for load in LOADS] for metric in ("mean_fct", "mean_slowdown")
    }
    worst_alpha, worst_theta = (
        change(studies[name], FULL, "p999_fct", pair).mean
        for name, pair in (("alpha", ("0.9", "0.999")), ("theta", ("0.5 Gbps", "0.8 Gbps")))
    )

    def here(runs: Runs, metric: str) -> str:
        return f"{in_percent(change(runs, FULL, metric, rates))} %"

    def between(metric: str) -> str:
        return f"{100 * min(span[metric]):+.0f} to {100 * max(span[metric]):+.0f} %"

    def of_conga(name: str, other: str) -> str:
        return in_percent(change(routes, MIDDLE, "mean_fct", (name, other)))

    def share(scheme: str, name: str) -> str:
        return f"{100 * np.mean(spread[scheme][name]):.1f} %"

    failed = (change(studies["failures"], count, "mean_fct", paths).mean for count in "123")
    rows = (
        ("1", "expansion ratio against pFabric: largest, load 0.8", "below -15 %", here(tree, "max_slowdown")),
        ("1", "the same, in packets", "below -15 %", here(packets, "max_slowdown")),
        ("1", "the same, mean, in packets", "below -15 %", here(packets, "mean_slowdown")),
        ("1", "tail FCT against pFabric, in packets", "below -12 %", here(packets, "p999_fct")),
        ("1", "mean FCT against pFabric, in packets", "negligible", here(packets, "mean_fct")),
        (
            *("1", "mean FCT of MEMR against ECMP with 1, 2, 3 failed cables", "down to -31 %"),
            ", ".join(f"{100 * each:+.0f}" for each in failed) + " %",
        ),
        ("6.1.1", "tail expansion ratio against pFabric, load 0.8: largest", "-48 %", here(tree, "max_slowdown")),
        ("6.1.1", "the same, 99.9th percentile", "-48 %", here(tree, "p999_slowdown")),
        ("6.1.1", "the same, 99th percentile", "-48 %", here(tree, "p99_slowdown")),
        ("6.1.1", "largest expansion ratio", "at most 10", plain(mean(tree, FULL, "MERP", "max_slowdown"))),
        ("6.1.1", "99.9th percentile FCT against pFabric", "below -12 %", here(tree, "p999_fct")),
        ("6.1.1", "mean FCT against pFabric, tree", "+8 %", here(tree, "mean_fct")),
        ("6.1.1", "mean FCT against pFabric, one link", "", here(link, "mean_fct")),
        (
            "6.1.1",
            "mean FCT of TCP against pFabric",
            "much larger",
            f"{in_percent(change(tree, FULL, 'mean_fct', ('TCP', 'pFabric')))} %",
        ),
        ("6.1.2", "150 KB: largest expansion ratio against pFabric", "below -50 %", here(small, "max_slowdown")),
        ("6.1.2", "150 KB: largest expansion ratio", "about 15", plain(mean(small, FULL, "MERP", "max_slowdown"))),
        ("6.1.2", "150 KB: 99.9th percentile FCT against pFabric", "below -30 %", here(small, "p999_fct")),
        ("6.1.3", "99.9th percentile FCT, alpha 0.9 against 0.999", "small", f"{100 * worst_alpha:+.0f} %"),
        ("6.1.3", "99.9th percentile FCT, threshold 0.5 against 0.8 Gbps", "small", f"{100 * worst_theta:+.0f} %"),
        ("6.2.1", "flows within 100 ms, load 0.6: MEMR", "above 99 %", share("MEMR", "fast")),
        ("6.2.1", "flows above 200 ms: ECMP", "above 1 %", share("ECMP", "slow")),
        ("6.2.1", "flows above 200 ms: CONGA", "above 1 %", share("CONGA", "slow")),
        ("6.2.1", "mean FCT of MEMR against ECMP, loads 0.2 to 0.8", "-20 % or lower", between("mean_fct")),
        ("6.2.1", "mean expansion ratio of MEMR against ECMP", "about -75 %", between("mean_slowdown")),
        *(
            ("6.2.1", f"mean FCT of {name} against {other}, load 0.6", "above 0 %", f"{of_conga(name, other)} %")
            for name in ("CONGA", "CONGA once")
            for other in paths
        ),
    )
    return Table(columns=("section", "statement", "paper", "here"), rows=rows)


def rate_table(
    runs: Runs, figures: Sequence[tuple[str, str, float]] = FIGURES_5_AND_6, others: Sequence[str] = ()
) -> Table:
    """Lays Figure 5 or 6 out, or other figures, with other schemes besides."""
    schemes = ("MERP", "pFabric")
    columns = ["load"]
    for title, _, _ in figures:
        columns += [f"{title}: MERP", "pFabric", *others, "change, %"]
    rows = []
    for load in runs:
        cells = [load]
        for _, metric, scale in figures:
            cells += [plain(mean(runs, load, scheme, metric), scale=scale) for scheme in (*schemes, *others)]
            cells += [in_percent(change(runs, load, metric, schemes))]
        rows.append(tuple(cells))
    return Table(columns=tuple(columns), rows=tuple(rows))


def average_table(studies: dict[str, Runs]) -> Table:
    """Lays Figure 7 out, for the tree and for one link."""
    columns = ["load"]
    for name in ("tree", "one link"):
        columns += [f"{name}: MERP", "pFabric", "pFabric by size", "TCP", "change, %"]
    rows = []
    for load in studies["tree"]:
        cells = [load]
        for name in ("tree", "one link"):
            runs = studies[name]
            cells += [plain(mean(runs, load, scheme, "mean_fct"), scale=MS) for scheme in STUDIES[name].schemes]
            cells += [in_percent(change(runs, load, "mean_fct", ("MERP", "pFabric")))]
        rows.append(tuple(cells))
    return Table(columns=tuple(columns), rows=tuple(rows))


def shapes_table(runs: Runs) -> Table:
    """Sets the changes under other tails of the sizes side by side."""
    names = ("99th percentile slowdown", "99.9th", "largest", "99.9th percentile FCT", "mean FCT")
    rows = tuple(
        (shape, *(in_percent(change(runs, shape, metric, ("MERP", "pFabric"))) for metric in SHARES)) for shape in runs
    )
    return Table(columns=("shape", *names), rows=rows)


def by_scheme(runs: Runs, schemes: Sequence[str], metric: str) -> Table:
    """Lays a time of all schemes out against load, in ms."""
    rows = tuple((load, *(plain(mean(runs, load, name, metric), scale=MS) for name in schemes)) for load in runs)
    return Table(columns=("load", *schemes), rows=rows)


def routes_table(runs: Runs) -> Table:
    """Lays Figure 10 out."""
    schemes = list(STUDIES["routes"].schemes)
    measured = (("mean FCT, ms", "mean_fct", MS, 1), ("mean slowdown", "mean_slowdown", 1.0, 2))
    columns = ["load"]
    for title, _, _, _ in measured:
        columns += [f"{title}: {schemes[0]}", *schemes[1:], "change, %"]
    rows = []
    for load in runs:
        cells = [load]
        for _, metric, scale, digits in measured:
            cells += [plain(mean(runs, load, name, metric), scale=scale, digits=digits) for name in schemes]
            cells += [in_percent(change(runs, load, metric, ("MEMR", "ECMP")))]
        rows.append(tuple(cells))
    return Table(columns=tuple(columns), rows=tuple(rows))


def distribution_table(runs: dict[str, dict[str, list[float]]]) -> Table:
    """Lays Figure 11 out."""
    rows = tuple(
        (
            name,
            *(f"{MS * np.mean(found[percent]):.1f}" for percent in ("50", "90", "99", "99.9")),
            *(f"{100 * np.mean(found[share]):.1f}" for share in ("fast", "slow")),
        )
        for name, found in runs.items()
    )
    return Table(columns=("", "50th", "90th", "99th", "99.9th", "within 100 ms, %", "above 200 ms, %"), rows=rows)


def failures_table(runs: Runs) -> Table:
    """Lays the failures out."""
    rows = []
    for count, found in runs.items():
        means = [plain(mean(runs, count, name, "mean_fct"), scale=MS) for name in found]
        drawn = np.array(found["MEMR"]["mean_fct"]) / np.array(found["ECMP"]["mean_fct"])
        changes = in_percent(change(runs, count, "mean_fct", ("MEMR", "ECMP"))), f"{100 * (np.median(drawn) - 1):+.0f}"
        rows.append((count, *means, *changes))
    columns = ("failed", "mean FCT, ms: MEMR", "ECMP", "CONGA", "MEMR against ECMP, %", "in the middle draw")
    return Table(columns=columns, rows=tuple(rows))


def lengths_table(studies: dict[str, Runs]) -> Table:
    """Sets runs of different lengths side by side."""
    rows = []
    for name, runs in studies.items():
        if not name.startswith("length, "):
            continue
        schemes = list(STUDIES[name].schemes)[:2]
        for number in runs:
            means = [plain(mean(runs, number, scheme, "mean_fct"), scale=MS) for scheme in schemes]
            changes = [in_percent(change(runs, number, key, schemes)) for key in ("mean_fct", "max_slowdown")]
            rows.append((name.removeprefix("length, "), f"{int(number):,}", *means, *changes))
    columns = ("", "flows", "mean FCT, ms: first", "second", "change, %", "largest slowdown, change, %")
    return Table(columns=columns, rows=tuple(rows))
