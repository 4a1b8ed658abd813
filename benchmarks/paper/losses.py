"""Holds the transports that lose packets to a packet simulator: ``python -m benchmarks.paper.losses``.

Runs the packet simulator's arrivals and policies, with ten tokens and with five, and flows that start together, several
times with other luck, and writes what came of them to ``data/losses.json``, with the figures of the transports.
``make paper`` lays it out.
"""

from dataclasses import asdict
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.paper.ns3 import DATA, gather, play, read_bursts, start_together
from benchmarks.paper.statements import page
from flowsched_gym.core.files import read_json
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.evaluation import write_json
from flowsched_gym.fluid import TRANSPORTS, TransportName
from flowsched_gym.leaderboard import Table
from flowsched_gym.workload import Workload

FIGURES: Final = DATA / "losses.json"
NS3: Final[dict[str, Any]] = read_json(DATA / "ns3_2018.json")
TOKENS: Final[dict[str, Any]] = read_json(DATA / "ns3_2018_tokens.json")
"""Later runs: several seeds for each *cell*, which is a setting, a policy and a number of tokens."""
TRANSPORT_OF: Final = {
    "2018_v1": TransportName.TCP_LOSSY,
    "2018_v2": TransportName.TCP_LOSSY,
    "2018a_v1": TransportName.TCP_LOSSY_2018A,
    "2018a_v2": TransportName.TCP_LOSSY_2018A,
}
"""The transport that stands for each setting of the packet simulator."""
STALLED: Final = 150 * SECONDS_PER_MILLISECOND
"""A flow that takes longer has waited for a timeout, or repaired many losses."""
MOST_TOKENS: Final = 10
NUM_RUNS: Final = 10
NUM_CELL_RUNS: Final = 5
"""Runs of other luck for each seed of a cell."""
NUM_STARTS: Final = 200
POINTS_ALLOWED: Final = 4.0
"""How far deadline hit ratios may lie from the packet simulator's, in points; of the cells, their root mean square."""
CELL_ALLOWED: Final = 6.0
"""The same for a single cell."""
MEDIAN_ALLOWED: Final = 0.10
ISOLATED_ALLOWED: Final = 0.15
STALLED_ALLOWED: Final = 2.0


def main() -> None:
    """Measures, and writes the figures."""
    policies = {
        f"{setting} {policy}": measure_policy(setting, policy, NUM_RUNS)
        for setting, printed in NS3["policies"].items()
        for policy in printed
    }
    figures = {
        "transports": figures_of_transports(),
        "policies": policies,
        "cells": {name: measure_cell(name, NUM_CELL_RUNS) for name in TOKENS["cells"]},
        "isolated": [measure_isolated(each, NUM_STARTS) for each in NS3["isolated"]],
    }
    write_json(figures, FIGURES)
    print(f"written to {FIGURES}")


def figures_of_transports() -> dict[str, dict[str, float]]:
    """Returns the figures of the transports that lose packets, by name."""
    found = {}
    for name, transport in TRANSPORTS.items():
        if transport.losses is not None:
            own = {key: value for key, value in asdict(transport).items() if key != "losses"}
            found[str(name)] = own | asdict(transport.losses)
    return found


def measure_policy(setting: str, policy: str, num_runs: int) -> dict[str, list[float]]:
    """Runs a policy on the packet simulator's arrivals; returns what came of each run, times in ms."""
    workload = gather(read_bursts("ns3_2018_bursts.csv", setting))
    return measure([workload], policy, TRANSPORT_OF[setting], MOST_TOKENS, num_runs)


def measure_cell(name: str, num_runs: int) -> dict[str, list[float]]:
    """Runs a cell on the arrivals of each of its seeds; returns what came of each run, seed by seed, times in ms."""
    setting, policy, tokens = name.split()
    burst = TOKENS["flows"][setting.split("_")[1]]
    workloads = [gather([(arrival, burst) for arrival in TOKENS["arrivals_s"][seed]]) for seed in TOKENS["cells"][name]]
    return measure(workloads, policy, TRANSPORT_OF[setting], int(tokens), num_runs)


def measure(
    workloads: list[Workload], policy: str, transport: TransportName, tokens: int, num_runs: int
) -> dict[str, list[float]]:
    """Runs a policy on each workload several times; returns what came of each run, times in ms."""
    found: dict[str, list[float]] = {"deadline_hit_ratio": [], "median_fct_ms": [], "p90_fct_ms": [], "stalled": []}
    for workload in workloads:
        for luck in range(num_runs):
            fct, hit_ratio = play_lossy(workload, policy, transport, luck, k=tokens)
            found["deadline_hit_ratio"].append(hit_ratio)
            found["median_fct_ms"].append(float(np.median(fct)) / SECONDS_PER_MILLISECOND)
            found["p90_fct_ms"].append(float(np.percentile(fct, 90)) / SECONDS_PER_MILLISECOND)
            found["stalled"].append(float(np.mean(fct > STALLED)))
    return found


def measure_isolated(printed: dict[str, Any], num_starts: int) -> dict[str, float]:
    """Starts flows together, so often; returns the mean time in ms of those that do not stall, and how many do."""
    workload, chosen = start_together(printed)
    times = np.concatenate(
        [play_lossy(workload, "fifo", TransportName.TCP_LOSSY, seed)[0][chosen] for seed in range(num_starts)]
    )
    stalled = times > STALLED
    return {
        "mean_fct_without_stalls_ms": float(times[~stalled].mean()) / SECONDS_PER_MILLISECOND,
        "stalled": float(stalled.mean()),
    }


def play_lossy(
    workload: Workload, policy: str, transport: TransportName, luck: int, *, k: int = MOST_TOKENS
) -> tuple[npt.NDArray[np.float64], float]:
    """Plays one episode with this luck; see ``ns3.play``."""
    figures = {"seed": luck}
    return play(workload, policy, k=k, transport=str(transport), transport_figures=figures, engine="compiled")


def read_figures() -> dict[str, Any]:
    """Reads what was measured."""
    found: dict[str, Any] = read_json(FIGURES)
    return found


def losses_points() -> dict[str, float]:
    """Returns by how many points the deadlines met lie above the packet simulator's, by setting and policy."""
    return {
        name: 100
        * (float(np.mean(found["deadline_hit_ratio"])) - NS3["policies"][setting][policy]["deadline_hit_ratio"])
        for name, found in read_figures()["policies"].items()
        for setting, policy in [name.split()]
    }


def cell_points() -> dict[str, float]:
    """Returns by how many points the deadlines met lie above the packet simulator's, by cell."""
    return {
        name: 100 * (float(np.mean(found["deadline_hit_ratio"])) - ns3_mean(name, "deadline_hit_ratio"))
        for name, found in read_figures()["cells"].items()
    }


def ns3_mean(cell: str, measured: str) -> float:
    """Returns a figure of a cell in the packet simulator, the mean over its seeds."""
    return float(np.mean([run[measured] for run in TOKENS["cells"][cell].values()]))


def root_mean_square(values: list[float]) -> float:
    """Returns the root mean square of some values."""
    return float(np.sqrt(np.mean(np.square(values))))


def noise_points() -> float:
    """Returns by how many points two runs of the packet simulator differ where losses decide: with ten tokens."""
    ratios = [
        [run["deadline_hit_ratio"] for run in runs.values()]
        for name, runs in TOKENS["cells"].items()
        if name.endswith(f" {MOST_TOKENS}")
    ]
    return 100 * root_mean_square([first - second for first, second in ratios])


def losses_markdown() -> str:
    """Returns the part of the document about transports that lose packets."""
    figures, points = read_figures(), list(cell_points().values())
    return page(
        "readme",
        "losses",
        runs=NUM_RUNS,
        points=POINTS_ALLOWED,
        median=100 * MEDIAN_ALLOWED,
        stalled=STALLED_ALLOWED,
        isolated=100 * ISOLATED_ALLOWED,
        rms=root_mean_square(points),
        largest=max(abs(gap) for gap in points),
        cell=CELL_ALLOWED,
        noise=noise_points(),
        starts=NUM_STARTS,
        policies=policy_table(figures["policies"]),
        cells_table=cell_table(figures["cells"]),
        isolated_table=isolated_table(figures["isolated"]),
        parameters=parameter_table(figures["transports"]),
    )


def policy_table(policies: dict[str, dict[str, list[float]]]) -> Table:
    """Lays the comparison by setting and policy out."""
    columns = ("setting", "policy", "deadlines met, %", "ns-3", "points", "median FCT, ms", "ns-3", "%")
    rows = []
    for name, found in policies.items():
        setting, policy = name.split()
        printed = NS3["policies"][setting][policy]
        met, median = 100 * np.array(found["deadline_hit_ratio"]), np.array(found["median_fct_ms"])
        stalled = 100 * np.array(found["stalled"])
        rows.append(
            (
                setting.replace("_v", ", variant "),
                policy,
                f"{met.mean():.1f} ± {met.std():.1f}",
                f"{100 * printed['deadline_hit_ratio']:.1f}",
                f"{met.mean() - 100 * printed['deadline_hit_ratio']:+.1f}",
                f"{median.mean():.1f} ± {median.std():.1f}",
                f"{printed['median_fct_ms']:.1f}",
                f"{100 * (median.mean() / printed['median_fct_ms'] - 1):+.1f}",
                f"{np.mean(found['p90_fct_ms']):.0f}",
                f"{printed['p90_fct_ms']:.0f}",
                f"{stalled.mean():.1f}",
                f"{100 * printed['stalled']:.1f}",
            )
        )
    return Table(columns=(*columns, "p90, ms", "ns-3", "stalled, %", "ns-3"), rows=tuple(rows))


def cell_table(cells: dict[str, dict[str, list[float]]]) -> Table:
    """Lays the comparison by setting, policy and number of tokens out."""
    gaps = cell_points()
    rows = []
    for name, found in cells.items():
        setting, policy, tokens = name.split()
        rows.append(
            (
                setting.replace("_v", ", variant "),
                policy,
                tokens,
                f"{100 * np.mean(found['deadline_hit_ratio']):.1f}",
                f"{100 * ns3_mean(name, 'deadline_hit_ratio'):.1f}",
                f"{gaps[name]:+.1f}",
                f"{np.mean(found['median_fct_ms']):.1f}",
                f"{ns3_mean(name, 'median_fct_ms'):.1f}",
                f"{100 * np.mean(found['stalled']):.1f}",
                f"{100 * ns3_mean(name, 'stalled'):.1f}",
            )
        )
    columns = ("setting", "policy", "tokens", "deadlines met, %", "ns-3", "points", "median FCT, ms", "ns-3")
    return Table(columns=(*columns, "stalled, %", "ns-3"), rows=tuple(rows))


def isolated_table(isolated: list[dict[str, float]]) -> Table:
    """Lays the comparison of flows that start together out."""
    rows = []
    for printed, found in zip(NS3["isolated"], isolated, strict=True):
        mean, ns3 = found["mean_fct_without_stalls_ms"], printed["mean_fct_without_stalls_ms"]
        rows.append(
            (
                str(printed["flows"]),
                printed["kind"],
                f"{printed['size'] / BYTES_PER_KILOBYTE:.0f}",
                f"{mean:.2f}",
                f"{ns3:.2f}",
                f"{100 * (mean / ns3 - 1):+.1f}",
                f"{100 * found['stalled']:.1f}",
                f"{100 * printed['stalled']:.1f}",
            )
        )
    columns = ("flows", "sizes", "of size, KB", "here, ms", "ns-3, ms", "%", "stalled, %", "ns-3")
    return Table(columns=columns, rows=tuple(rows))


def parameter_table(transports: dict[str, dict[str, float]]) -> Table:
    """Lays the figures of the transports out."""
    names = list(dict.fromkeys(name for figures in transports.values() for name in figures))
    rows = tuple((f"`{name}`", *(f"{figures[name]:g}" for figures in transports.values())) for name in names)
    return Table(columns=("figure", *(f"`{name}`" for name in transports)), rows=rows)


if __name__ == "__main__":
    main()
