"""Sets this model beside the Artemis thesis, a packet simulator, MERP, AuTO, QCluster and TAFE: ``make paper``.

Writes ``README.md``, ``qcluster.md``, ``tafe.md`` and ``thesis.md`` here from the figures in ``data/``, the result
files of the leaderboard, and runs of the environment on the arrivals that the packet simulator had. Tests hold the
files to what this script gives.
"""

from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.paper.auto import RESULTS as AUTO
from benchmarks.paper.auto_tables import auto_markdown
from benchmarks.paper.auto_tables import draw as draw_auto
from benchmarks.paper.figures import GREY, headline, label_all, logarithmic, panel_title, panels, save
from benchmarks.paper.losses import losses_markdown
from benchmarks.paper.merp import RESULTS as MERP
from benchmarks.paper.merp_tables import draw as draw_merp
from benchmarks.paper.merp_tables import merp_markdown
from benchmarks.paper.ns3 import ARTEMIS, DATA, gather, play, read_bursts, start_together
from benchmarks.paper.ns3 import THESIS as THESIS_FIGURES
from benchmarks.paper.qcluster import RESULTS as QCLUSTER
from benchmarks.paper.qcluster_tables import DOCUMENT as QCLUSTER_DOCUMENT
from benchmarks.paper.qcluster_tables import draw as draw_qcluster
from benchmarks.paper.qcluster_tables import qcluster_markdown
from benchmarks.paper.statements import page
from benchmarks.paper.tafe_tables import DOCUMENT as TAFE_DOCUMENT
from benchmarks.paper.tafe_tables import draw as draw_tafe
from benchmarks.paper.tafe_tables import read_results as read_tafe
from benchmarks.paper.tafe_tables import tafe_markdown
from benchmarks.paper.thesis import FIGURES as PLAYED
from benchmarks.paper.thesis import FIRST_SEED
from benchmarks.paper.thesis_tables import DOCUMENT as THESIS_DOCUMENT
from benchmarks.paper.thesis_tables import draw as draw_thesis
from benchmarks.paper.thesis_tables import thesis_markdown
from flowsched_gym.core.files import read_json, write_text
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.evaluation import BOUND_POLICY, EnvironmentFlows, EvaluationResult
from flowsched_gym.evaluation.figures import CURVES, LEARNED
from flowsched_gym.leaderboard import Table, format_interval, read_results
from flowsched_gym.leaderboard.comparison import ability_of
from flowsched_gym.registration import find_environment

HERE: Final = Path(__file__).resolve().parent
DOCUMENT: Final = HERE / "README.md"
FIGURE: Final = HERE / "fct_variant1.png"
FIGURE_EPISODES: Final = 10
COLOURS: Final = {"fifo": GREY, "edf": CURVES[1], "ssdf": CURVES[2], "lsdf": CURVES[0], "a2c-thesis": LEARNED}
PERCENTS: Final = range(99)
"""Percentiles of completion times that are drawn."""
RESULTS: Final = HERE / "results"
NUM_TOKENS: Final = 10
WINDOW: Final = 5
POINTS_ALLOWED: Final = 3.0
"""How far the deadline hit ratio may lie from the packet simulator's, in points."""
SHARE_ALLOWED: Final = 0.10
"""How far completion times and their quartiles may lie from the packet simulator's, relative to it."""
THESIS_VARIANTS: Final = {
    "gather-a1": "variant 1, 5 x (350 KB, 40 ms) + 5 x (250 KB, 50 ms)",
    "gather-a2": "variant 2, 6 x (350 KB, 40 ms) + 4 x (250 KB, 50 ms)",
}
THESIS_POLICIES: Final = ("fifo", "edf", "ssdf", "lsdf", "a2c-thesis")


class PolicyComparison(NamedTuple):
    """The environment beside the packet simulator under a policy: deadlines met, quartiles of the FCT in s, (3,)."""

    policy: str
    bursts: int
    hit_ratio: float
    ideal_hit_ratio: float
    ns3_hit_ratio: float
    quartiles: npt.NDArray[np.float64]
    ns3_quartiles: npt.NDArray[np.float64]

    @property
    def points(self) -> float:
        """Difference of the hit ratios in points."""
        return 100 * (self.hit_ratio - self.ns3_hit_ratio)

    @property
    def quartile_shares(self) -> npt.NDArray[np.float64]:
        """Relative differences of the quartiles, (3,)."""
        return self.quartiles / self.ns3_quartiles - 1


class IsolatedComparison(NamedTuple):
    """Flows that start together beside the packet simulator: those of one size in B, and their mean FCT in s."""

    flows: int
    kind: str
    size: float
    mean_fct: float
    ns3_mean_fct: float

    @property
    def share(self) -> float:
        """Relative difference."""
        return self.mean_fct / self.ns3_mean_fct - 1


def main() -> None:
    """Writes the documents and their figures, and says where they are."""
    merp, auto, qcluster, thesis = map(read_json, (MERP, AUTO, QCLUSTER, PLAYED))
    tafe = read_tafe()
    documents = {
        DOCUMENT: paper_markdown(),
        QCLUSTER_DOCUMENT: qcluster_markdown(qcluster),
        TAFE_DOCUMENT: tafe_markdown(tafe),
        THESIS_DOCUMENT: thesis_markdown(thesis),
    }
    for path, text in documents.items():
        write_text(text, path)
    draw_completion_times(FIGURE)
    drawn = draw_merp(merp), draw_auto(auto), draw_qcluster(qcluster), draw_tafe(tafe), draw_thesis(thesis)
    for path in (*documents, FIGURE, *chain(*drawn)):
        print(f"written to {path}")


def paper_markdown() -> str:
    """Returns the document."""
    results = read_results(RESULTS)
    variants = {name: results_on(name, results) for name in THESIS_VARIANTS}
    return page(
        "readme",
        episodes=max((len(result.seeds) for found in variants.values() for result in found), default=0),
        variants="".join(
            f"\n{title[0].upper()}{title[1:]}:\n\n{thesis_table(variants[name], name).markdown()}"
            for name, title in THESIS_VARIANTS.items()
        ),
        allowed_points=POINTS_ALLOWED,
        share=100 * SHARE_ALLOWED,
        policies=policy_table(compare_policies()),
        isolated=isolated_table(compare_isolated()),
        losses=losses_markdown(),
        merp=merp_markdown(read_json(MERP)),
        auto=auto_markdown(read_json(AUTO)),
    )


def results_on(workload: str, results: list[EvaluationResult]) -> list[EvaluationResult]:
    """Finds the results of a workload, all of which were played in one setting."""
    return [result for result in results if result.kwargs["workload"] == workload]


def thesis_table(results: list[EvaluationResult], workload: str) -> Table:
    """Lays the policies of the thesis, and the agents trained here, beside the thesis's figures."""
    figures = read_json(THESIS_FIGURES)[workload]
    found = {result.policy: result for result in results}
    heuristics = {BOUND_POLICY, *find_environment(ARTEMIS).heuristics}
    learned = [name for name in found if name.partition(":")[0] not in heuristics | {*THESIS_POLICIES}]
    rows = []
    for policy in (*THESIS_POLICIES, *learned, "feasible-first"):
        printed, result = figures.get(policy, {}), found.get(policy)
        can = ("", "") if result is None else ability_of(result).words
        cells = [policy, *can]
        for metric, key, scale in (
            ("deadline_hit_ratio", "deadline_hit_ratio", 100.0),
            ("mean_fct", "mean_fct_ms", 1000.0),
            ("median_fct", "median_fct_ms", 1000.0),
            ("p99_fct", "p99_fct_ms", 1000.0),
        ):
            value = printed.get(key)
            cells.append("" if result is None else format_interval(result.interval(metric), scale=scale))
            cells.append("" if value is None else f"{value * 100:.1f}" if scale == 100.0 else f"{value:.1f}")
        rows.append(tuple(cells))
    names = ("deadlines met, %", "mean FCT, ms", "median FCT, ms", "p99 FCT, ms")
    headings = [heading for name in names for heading in (name, "thesis")]
    return Table(columns=("policy", "actions", "information", *headings), rows=tuple(rows))


def draw_completion_times(path: Path) -> None:
    """Draws quantiles of the flow completion times of variant 1, here and in the thesis."""
    kwargs = {"workload": "gather-a1", "k": NUM_TOKENS, "f": WINDOW, "transport": "tcp"}
    flows = EnvironmentFlows(ARTEMIS, kwargs)
    episodes = [flows.draw(seed) for seed in range(FIRST_SEED, FIRST_SEED + FIGURE_EPISODES)]
    figure, (row,) = panels(1, 2, (11, 4.5), sharey=True)
    here, thesis = row
    printed = read_json(THESIS_FIGURES)["gather-a1"]
    for policy, colour in COLOURS.items():
        if policy != "a2c-thesis":
            times = [play(one, policy, transport="tcp", k=NUM_TOKENS, f=WINDOW)[0] for one in episodes]
            here.plot(PERCENTS, 1000 * np.percentile(np.concatenate(times), PERCENTS), color=colour, label=policy)
        percentiles = printed.get(policy, {}).get("fct_percentiles_ms", {})
        if percentiles:
            thesis.plot([int(each) for each in percentiles], [*percentiles.values()], "o-", color=colour, label=policy)
    logarithmic(here.yaxis, (1, 2, 5))
    here.set_ylabel("flow completion time (ms)")
    for axes, name in ((here, f"This model (tcp), {FIGURE_EPISODES} episodes"), (thesis, "Thesis, one run")):
        axes.set(xlabel="percentile of flows", xlim=(0, 100))
        panel_title(axes, name)
    headline(figure, "Artemis, workload A, variant 1")
    label_all([row])
    save({path.name: figure}, path.parent)


def compare_policies() -> list[PolicyComparison]:
    """Runs the policies of the packet simulator on its arrivals."""
    bursts = read_bursts("ns3_modern_v1_bursts.csv")
    figures = read_json(DATA / "ns3_modern_v1.json")["policies"]
    found = []
    for policy, printed in figures.items():
        workload = gather(bursts[: printed["bursts"]])
        fct, hit_ratio = play(workload, policy, transport="tcp", k=NUM_TOKENS, f=WINDOW)
        _, ideal = play(workload, policy, transport="ideal", k=NUM_TOKENS, f=WINDOW)
        found.append(
            PolicyComparison(
                policy=policy,
                bursts=printed["bursts"],
                hit_ratio=hit_ratio,
                ideal_hit_ratio=ideal,
                ns3_hit_ratio=printed["deadline_hit_ratio"],
                quartiles=np.percentile(fct, [25, 50, 75]),
                ns3_quartiles=np.array(printed["fct_quartiles_ms"]) * SECONDS_PER_MILLISECOND,
            )
        )
    return found


def compare_isolated() -> list[IsolatedComparison]:
    """Starts 1 to 10 flows together, as the packet simulator did."""
    figures = read_json(DATA / "ns3_modern_v1.json")["isolated"]
    found = []
    for printed in figures:
        count = printed["flows"]
        workload, chosen = start_together(printed)
        fct, _ = play(workload, "fifo", transport="tcp", k=count, f=count)
        found.append(
            IsolatedComparison(
                flows=count,
                kind=printed["kind"],
                size=float(printed["size"]),
                mean_fct=float(fct[chosen].mean()),
                ns3_mean_fct=printed["mean_fct_ms"] * SECONDS_PER_MILLISECOND,
            )
        )
    return found


def policy_table(rows: list[PolicyComparison]) -> Table:
    """Lays the comparison by policy out."""
    columns = ("policy", "bursts", "deadlines met, %", "ns-3", "points", "`ideal`", "FCT quartiles, ms", "ns-3", "%")
    return Table(
        columns=columns,
        rows=tuple(
            (
                row.policy,
                str(row.bursts),
                f"{100 * row.hit_ratio:.1f}",
                f"{100 * row.ns3_hit_ratio:.1f}",
                f"{row.points:+.1f}",
                f"{100 * row.ideal_hit_ratio:.1f}",
                " / ".join(f"{1000 * value:.1f}" for value in row.quartiles),
                " / ".join(f"{1000 * value:.1f}" for value in row.ns3_quartiles),
                " / ".join(f"{100 * value:+.1f}" for value in row.quartile_shares),
            )
            for row in rows
        ),
    )


def isolated_table(rows: list[IsolatedComparison]) -> Table:
    """Lays the comparison of flows that start together out."""
    return Table(
        columns=("flows", "sizes", "of size, KB", "here", "ns-3", "%"),
        rows=tuple(
            (
                str(row.flows),
                row.kind,
                f"{row.size / BYTES_PER_KILOBYTE:.0f}",
                f"{1000 * row.mean_fct:.2f}",
                f"{1000 * row.ns3_mean_fct:.2f}",
                f"{100 * row.share:+.1f}",
            )
            for row in rows
        ),
    )


if __name__ == "__main__":
    main()
