"""Runs the experiments of MERP, section 6, in this model: ``python -m benchmarks.paper.merp``, part of ``make paper``.

A study varies one thing along the axis of a figure and gives the same flows to all schemes. What the runs gave, one
value for each seed, goes to ``data/merp.json``; tables (``merp_tables.py``) and figures (``merp_figures.py``) are made
from there.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import flowsched_gym
from flowsched_gym.cli.output import ProgressBar
from flowsched_gym.core.units import (
    BYTES_PER_KILOBYTE,
    SECONDS_PER_MICROSECOND,
    SECONDS_PER_MILLISECOND,
    gbps_to_capacity,
)
from flowsched_gym.evaluation import write_json
from flowsched_gym.fluid import Records
from flowsched_gym.workload import PoissonWorkload, Workload, make_workload

RESULTS: Final = Path(__file__).resolve().parent / "data" / "merp.json"
COMMAND: Final = "python -m benchmarks.paper.merp"
SEEDS: Final = tuple(range(10))
LOADS: Final = ("0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8")
TREE_FLOWS: Final = 50_000
FAT_TREE_FLOWS: Final = 20_000
PACKET_FLOWS: Final = 10_000

DELAY: Final = 10 * SECONDS_PER_MICROSECOND
"""Propagation delay of a link (MERP, section 6.1)."""
ALPHA: Final = 0.999
"""Share of a link that carries data (MERP, section 6.1)."""
ALPHAS: Final = (0.9999, 0.999, 0.99, 0.9)
PACKET: Final = 1500.0
"""Size of a packet in B (MERP, section 6.1)."""
THRESHOLDS_GBPS: Final = (0.8, 0.5, 0.2, 0.1)
"""Detecting rate thresholds: that of section 6.1, the least that section 4.4 advises, and lower ones."""
ROUND_TRIP: Final = 8 * DELAY
"""Between racks of the tree, in s."""
FOREVER: Final = 1e9
"""A time in s longer than any run."""
SMALL_MEAN: Final = 150 * BYTES_PER_KILOBYTE
LARGEST: Final = 1_500_000 * BYTES_PER_KILOBYTE
"""Bound in B of sizes with a shape of 1.05: a thousand times their mean."""
PERCENTS: Final = (*range(1, 100), 99.5, 99.9)
"""Percentiles that a distribution is drawn through."""
FAST: Final = 100 * SECONDS_PER_MILLISECOND
SLOW: Final = 200 * SECONDS_PER_MILLISECOND
"""Times in s that the paper counts flows below and above (section 6.2.1)."""
DIGITS: Final = 6
"""Significant digits of a result."""

Runs = dict[str, dict[str, dict[str, list[float]]]]
"""Metrics of a study: point, scheme, metric, and one value for each seed."""


def metrics_of(records: Records) -> dict[str, float]:
    """Returns the metrics of the paper: flow completion times in s, and slowdowns (expansion ratios)."""
    p99_fct, p999_fct = np.percentile(records.fct, [99, 99.9])
    p99_slowdown, p999_slowdown = np.percentile(records.slowdown, [99, 99.9])
    return {
        "mean_fct": records.fct.mean(),
        "p99_fct": p99_fct,
        "p999_fct": p999_fct,
        "mean_slowdown": records.slowdown.mean(),
        "p99_slowdown": p99_slowdown,
        "p999_slowdown": p999_slowdown,
        "max_slowdown": records.slowdown.max(),
    }


def distribution_of(records: Records) -> dict[str, float]:
    """Returns percentiles of the flow completion time in s, and the shares of flows that are fast and slow."""
    percentiles = dict(zip(map(str, PERCENTS), np.percentile(records.fct, PERCENTS), strict=True))
    return percentiles | {"fast": (records.fct <= FAST).mean(), "slow": (records.fct > SLOW).mean()}


class Scheme(NamedTuple):
    """Who is served and on which path: a discipline, its parameters, and those of the routing."""

    discipline: str
    parameters: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Runs along the axis of a figure.

    Attributes:
        num_flows: Flows of a run, where a point does not say otherwise.
        points: Fields of the workload at each point of the axis.
        schemes: What is compared, by the names of the tables; the second is the one that the first is compared with.
        summary: What is kept of a run.
        in_packets: Whether flows are sent in packets; disciplines are schedulers then.
    """

    topology: str
    workload: str
    num_flows: int
    points: Mapping[str, Mapping[str, object]]
    schemes: Mapping[str, Scheme]
    summary: Callable[[Records], dict[str, float]] = metrics_of
    in_packets: bool = False

    def config(self, point: str) -> PoissonWorkload:
        """Returns the workload of a point."""
        config = make_workload(self.workload, **({"num_flows": self.num_flows} | dict(self.points[point])))
        assert isinstance(config, PoissonWorkload)
        return config


def merp(**parameters: object) -> Scheme:
    """Returns MERP at the paper's setting, with other parameters where they are given."""
    return Scheme("merp", {"alpha": ALPHA} | parameters)


def failed_cables() -> dict[str, dict[str, object]]:
    """Lets 0 to 3 cables between aggregation and core switches, chosen at random, be down from the start."""
    failures = make_workload("poisson-fat-tree-failures").failures  # type: ignore[union-attr]  # a PoissonWorkload
    assert failures is not None
    return {str(count): {"failures": replace(failures, count=count)} for count in range(4)}


def lengths(load: float, numbers: Iterable[int]) -> dict[str, dict[str, object]]:
    """Lets runs have these numbers of flows."""
    return {str(number): {"load": load, "num_flows": number} for number in numbers}


AT_LOADS: Final = {load: {"load": float(load)} for load in LOADS}
RATES: Final = {
    "MERP": merp(),
    "pFabric": Scheme("srpt"),
    "pFabric by size": Scheme("psjf"),
    "TCP": Scheme("ps"),
}
"""Rate control: pFabric by bytes left and by original size; TCP is max-min fair here."""
ROUTES: Final = {
    "MEMR": merp(routing="memr"),
    "ECMP": merp(routing="ecmp"),
    "CONGA": merp(routing="conga"),
    "CONGA once": merp(routing="conga", flowlet_gap=FOREVER),
    "CONGA, TCP": Scheme("ps", {"routing": "conga"}),
}
"""Route control, with MERP's order where nothing else is said, as the paper has it for ECMP; CONGA also without a
second choice of a flow that has paused."""
AGAINST_ECMP: Final = {name: ROUTES[name] for name in ("MEMR", "ECMP", "CONGA")}
PACED: Final = {"transport": "fixed", "initial_window": 15, "min_rto": SECONDS_PER_MILLISECOND}
"""Senders that fill a path of the tree, of 15 packets, from the first round trip on."""
NEW_RENO: Final = {
    "transport": "newreno",
    "min_rto": 10 * SECONDS_PER_MILLISECOND,
    "handshake": True,
    "acks": "packets",
}
PORTS: Final = {
    "MERP": Scheme("ranked", PACED),
    "pFabric": Scheme("pfabric", PACED | {"buffer": 36_000}),
    "TCP": Scheme("fifo", NEW_RENO | {"initial_window": 10, "buffer": 225_000}),
}
"""Rate control in packets: MERP's order as ranks, whose senders pause and lose nothing; pFabric in buffers of twice
what a path holds; drop-tail queues."""
SHARES: Final = {f"{alpha}": merp(alpha=alpha) for alpha in ALPHAS}
GAPS: Final = {"early start": 0.0} | {f"{rate} Gbps": PACKET / gbps_to_capacity(rate) for rate in THRESHOLDS_GBPS}
GAPS_AND_TRIP: Final = GAPS | {"0.8 Gbps and a round trip": GAPS["0.8 Gbps"] + ROUND_TRIP}
"""Detection gaps in s: none, a packet at the threshold's rate, and a round trip besides."""

TREE: Final = Study(topology="tree9", workload="poisson-tree", num_flows=TREE_FLOWS, points=AT_LOADS, schemes=RATES)
ONE_LINK: Final = replace(TREE, topology="one-link", workload="poisson-pareto")
FAT_TREE: Final = Study(
    topology="fat-tree", workload="poisson-fat-tree", num_flows=FAT_TREE_FLOWS, points=AT_LOADS, schemes=ROUTES
)
STUDIES: Final = {
    "tree": TREE,
    "tree, 150 KB": replace(TREE, workload="poisson-tree-small"),
    "one link": ONE_LINK,
    "shapes": replace(
        TREE, points={"1.5": {}, "1.2": {"shape": 1.2}, "1.05, bounded": {"shape": 1.05, "maximum": LARGEST}}
    ),
    "packets": replace(TREE, workload="poisson-tree-small", num_flows=PACKET_FLOWS, schemes=PORTS, in_packets=True),
    "alpha": replace(TREE, workload="poisson-tree-small", schemes=SHARES),
    "theta": replace(
        ONE_LINK,
        points={load: fields | {"mean": SMALL_MEAN} for load, fields in AT_LOADS.items()},
        schemes={name: merp(gap=gap, gap_preempt=gap) for name, gap in GAPS_AND_TRIP.items()},
    ),
    "routes": FAT_TREE,
    "distribution": replace(FAT_TREE, points={"0.6": {"load": 0.6}}, summary=distribution_of),
    "failures": replace(FAT_TREE, workload="poisson-fat-tree-failures", points=failed_cables(), schemes=AGAINST_ECMP),
    "length, tree at 0.8": replace(
        TREE,
        points=lengths(0.8, (12_500, 50_000, 200_000)),
        schemes={name: RATES[name] for name in ("MERP", "pFabric")},
    ),
    "length, fat-tree at 0.6": replace(FAT_TREE, points=lengths(0.6, (5_000, 20_000, 40_000)), schemes=AGAINST_ECMP),
    "length, fat-tree at 0.8": replace(FAT_TREE, points=lengths(0.8, (5_000, 20_000)), schemes=AGAINST_ECMP),
}
"""All studies by name."""

EXAMPLE: Final[Mapping[str, Sequence[object]]] = {
    "flow_id": [0, 1, 2],
    "source": [1, 1, 1],
    "destination": [0, 0, 0],
    "size_bytes": [3.0, 3.0, 4.0],
    "arrival_s": [0.0, 3.0, 0.0],
}
"""Flows A, B and C of the motivating example (MERP, Table 1), on a link of capacity 1."""
EXAMPLE_SCHEMES: Final = {"PS": "ps", "SRPT": "srpt", "MERP": "merp"}


def main() -> None:
    """Runs all studies and writes what they gave."""
    with ProgressBar("MERP's experiments") as bar:
        write_json(measure(progress=bar), RESULTS)
    print(f"written to {RESULTS}")


def measure(
    studies: Mapping[str, Study] = STUDIES,
    *,
    seeds: Sequence[int] = SEEDS,
    engine: str = "compiled",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Runs studies, by name; returns the content of the result file. Progress is in points and seeds."""
    total = len(seeds) * sum(len(study.points) for study in studies.values())
    done = 0
    found: dict[str, Runs] = {}
    for name, study in studies.items():
        found[name] = {}
        for point in study.points:
            runs = []
            for seed in seeds:
                runs.append(run_schemes(study, point, seed, engine))
                done += 1
                progress(done, total)
            found[name][point] = {
                scheme: {metric: [run[scheme][metric] for run in runs] for metric in values}
                for scheme, values in runs[0].items()
            }
    return {
        "command": COMMAND,
        "package_version": flowsched_gym.__version__,
        "seeds": list(seeds),
        "example": {name: example(discipline) for name, discipline in EXAMPLE_SCHEMES.items()},
        "studies": found,
    }


def run_schemes(study: Study, point: str, seed: int, engine: str) -> dict[str, dict[str, float]]:
    """Runs all schemes of a study on the same flows; returns what is kept of each."""
    flows = study.config(point).draw(seed)
    found = {}
    for name, scheme in study.schemes.items():
        records = run_scheme(flows, scheme, study, engine)
        found[name] = {metric: rounded(value) for metric, value in study.summary(records).items()}
    return found


def run_scheme(flows: Workload, scheme: Scheme, study: Study, engine: str) -> Records:
    """Runs one scheme."""
    parameters = {"delay": DELAY} | dict(scheme.parameters)
    if not study.in_packets:
        return flowsched_gym.replay(
            flows, discipline=scheme.discipline, topology=study.topology, parameters=parameters, engine=engine
        )
    if scheme.discipline == "ranked":
        fluid = replace(study, in_packets=False)
        parameters["ranks"] = run_scheme(flows, merp(), fluid, engine).completion_time
    return flowsched_gym.replay_packets(
        flows, scheduler=scheme.discipline, topology=study.topology, parameters=parameters, engine=engine
    )


def rounded(value: float) -> float:
    """Rounds to the digits that are kept."""
    return float(f"{value:.{DIGITS}g}")


def example(discipline: str) -> dict[str, object]:
    """Serves the motivating example; returns completion times of A, B and C, mean FCT and the largest slowdown."""
    records = flowsched_gym.replay(EXAMPLE, discipline=discipline, capacity=1.0)
    return {
        "completion_time": records.completion_time.tolist(),
        "mean_fct": float(records.fct.mean()),
        "slowdown": records.slowdown.tolist(),
    }


if __name__ == "__main__":
    main()
