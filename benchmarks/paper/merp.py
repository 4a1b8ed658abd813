"""Runs the experiments of MERP, sections 2, 5 and 6, in this model: ``python -m benchmarks.paper.merp``.

A study varies one thing along the axis of a figure and gives the same flows to all schemes. What the runs gave, one
value for each seed, goes to ``data/merp.json``; ``merp_tables.py`` makes tables and figures from there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import flowsched_gym
from flowsched_gym.cli.output import ProgressBar
from flowsched_gym.core.units import (
    BYTES_PER_KILOBYTE,
    BYTES_PER_SECOND_PER_GBPS,
    SECONDS_PER_MICROSECOND,
    SECONDS_PER_MILLISECOND,
    gbps_to_capacity,
)
from flowsched_gym.evaluation import write_json
from flowsched_gym.fluid import Records
from flowsched_gym.fluid.disciplines import make_discipline
from flowsched_gym.fluid.rules.routing.memr import expansion_ratio
from flowsched_gym.fluid.simpy import Simulation
from flowsched_gym.packets.state import PacketRecords
from flowsched_gym.topology import leaf_spine, make_routing
from flowsched_gym.workload import PoissonWorkload, Workload, make_workload, workload_from_columns

RESULTS: Final = Path(__file__).resolve().parent / "data" / "merp.json"
COMMAND: Final = "python -m benchmarks.paper.merp"
SEEDS: Final = tuple(range(10))
LOADS: Final = ("0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8")
TREE_HOSTS: Final = 9
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

SHORT: Final = 100 * BYTES_PER_KILOBYTE
"""Bytes of the short flows of Figure 4, of which the paper says only that they are many."""
NUM_SHORT: Final = 1_300
"""More of them than one link sends in the time of Figure 4."""
LONG: Final = 1e9
SAMPLES: Final = 1_000
"""Milliseconds of Figure 4."""
HEADERS: Final = 40.0
INCAST: Final = (8, 16, 32, 64, 128)
"""Flows that go to one host of the tree at once."""

Runs = dict[str, dict[str, dict[str, list[float]]]]
"""Metrics of a study: point, scheme, metric, and one value for each seed."""


def metrics_of(records: Records) -> dict[str, float]:
    """Returns the metrics of the paper: flow completion times in s, and slowdowns (expansion ratios)."""
    found = {"max_slowdown": records.slowdown.max()}
    for name, values in (("fct", records.fct), ("slowdown", records.slowdown)):
        p99, p999 = np.percentile(values, [99, 99.9])
        found |= {f"mean_{name}": values.mean(), f"p99_{name}": p99, f"p999_{name}": p999}
    return found


def shares_of(records: Records) -> dict[str, float]:
    """Returns the shares of flows that are fast and slow."""
    return {"fast": (records.fct <= FAST).mean(), "slow": (records.fct > SLOW).mean()}


def distribution_of(records: Records) -> dict[str, float]:
    """Returns percentiles of the flow completion time in s, and the shares of flows that are fast and slow."""
    return shares_of(records) | dict(zip(map(str, PERCENTS), np.percentile(records.fct, PERCENTS), strict=True))


class Scheme(NamedTuple):
    """Who is served and on which path: a discipline, its parameters, and those of the routing."""

    discipline: str
    parameters: Mapping[str, object] = {}


def incast_of(records: Records) -> dict[str, float]:
    """Returns by how much the last flow ends later than a busy port would have it, beside the mean FCT in s."""
    assert isinstance(records, PacketRecords)
    last, packets = records.completion_time.max(), np.ceil(records.size / (PACKET - HEADERS)).sum()
    wire = (records.size.sum() + packets * HEADERS) / BYTES_PER_SECOND_PER_GBPS
    found = {"lost": last / wire - 1, "largest": last, "drops": records.drops.sum() / records.packets.sum()}
    return found | {"mean_fct": records.fct.mean(), "max_slowdown": records.slowdown.max()}


def crowd_of(records: Records) -> dict[str, float]:
    """Returns how many flows were in the network at most."""
    times = np.concatenate([records.arrival_time, records.completion_time])
    change = np.repeat([1, -1], len(records.fct))[np.argsort(times, kind="stable")]
    return {"most": float(change.cumsum().max())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Runs along the axis of a figure.

    Attributes:
        num_flows: Flows of a run, where a point does not say otherwise.
        points: Fields of the workload at each point of the axis.
        schemes: What is compared, by the names of the tables; the second is the one that the first is compared with.
        summary: What is kept of a run.
        in_packets: Whether flows are sent in packets; disciplines are schedulers then.
        incast: Whether all flows go to the first host at once, from the others in turn.
    """

    topology: str
    workload: str
    num_flows: int
    points: Mapping[str, Mapping[str, object]]
    schemes: Mapping[str, Scheme]
    summary: Callable[[Records], dict[str, float]] = metrics_of
    in_packets: bool = False
    incast: bool = False

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


def lengths(flows: Mapping[float, Sequence[int]]) -> dict[str, dict[str, object]]:
    """Lets runs have these numbers of flows, by load."""
    return {
        f"{number:,} at {load}": {"load": load, "num_flows": number} for load, each in flows.items() for number in each
    }


AT_LOADS: Final = {load: {"load": float(load)} for load in LOADS}
RATES: Final = {"MERP": merp(), "pFabric": Scheme("srpt"), "pFabric by size": Scheme("psjf"), "TCP": Scheme("ps")}
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
    "pFabric": Scheme("pfabric", PACED),
    "TCP": Scheme("fifo", NEW_RENO | {"initial_window": 10, "buffer": 100 * int(PACKET)}),
}
"""Rate control in packets: MERP's order as ranks, whose senders pause, and pFabric, both of which lose nothing;
drop-tail queues of 100 packets (section 6.1)."""
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
    "incast": replace(
        TREE,
        workload="poisson-tree-small",
        points={f"{number}": {"num_flows": number} for number in INCAST},
        schemes=PORTS,
        summary=incast_of,
        in_packets=True,
        incast=True,
    ),
    "alpha": replace(TREE, workload="poisson-tree-small", schemes=SHARES),
    "theta": replace(
        ONE_LINK,
        points={load: fields | {"mean": SMALL_MEAN} for load, fields in AT_LOADS.items()},
        schemes={name: merp(gap=gap, gap_preempt=gap) for name, gap in GAPS_AND_TRIP.items()},
    ),
    "routes": FAT_TREE,
    "distribution": replace(FAT_TREE, points={"0.6": {"load": 0.6}}, summary=distribution_of),
    "distribution, 150 KB": replace(
        FAT_TREE, points={"0.6": {"load": 0.6, "mean": SMALL_MEAN}}, schemes=AGAINST_ECMP, summary=shares_of
    ),
    "crowd": replace(FAT_TREE, points={"0.8": {"load": 0.8}}, schemes={"MEMR": ROUTES["MEMR"]}, summary=crowd_of),
    "failures": replace(FAT_TREE, workload="poisson-fat-tree-failures", points=failed_cables(), schemes=AGAINST_ECMP),
    "lengths": replace(
        TREE,
        points=lengths({0.8: (12_500, 50_000, 200_000)}),
        schemes={name: RATES[name] for name in ("MERP", "pFabric")},
    ),
    "lengths, fat-tree": replace(
        FAT_TREE, points=lengths({0.6: (5_000, 20_000, 40_000), 0.8: (5_000, 20_000)}), schemes=AGAINST_ECMP
    ),
}
"""All studies by name."""

BALANCED: Final = {
    "ECMP": Scheme("ps", {"routing": "ecmp"}),
    "MEMR": merp(routing="memr"),
    "CONGA": Scheme("ps", {"routing": "conga"}),
}
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
    """Runs studies, by name; returns the content of the result file. Progress is in points."""
    described = [(name, point) for name, study in studies.items() for point in study.points]
    found: dict[str, Runs] = {}
    for done, (name, point) in enumerate(described):
        runs = [run_schemes(studies[name], point, seed, engine) for seed in seeds]
        found.setdefault(name, {})[point] = by_seed(runs)
        progress(done + 1, len(described))
    return {
        "command": COMMAND,
        "package_version": flowsched_gym.__version__,
        "seeds": list(seeds),
        "example": {name: example(discipline) for name, discipline in EXAMPLE_SCHEMES.items()},
        "balance": {"1 s": {name: balance(scheme, seeds) for name, scheme in BALANCED.items()}},
        "paths": {"0": {"SRPT": {name: [value] for name, value in two_paths().items()}}},
        "studies": found,
    }


def flows_of(size: Sequence[float], source: Sequence[int], to: Sequence[int], **columns: Sequence[object]) -> Workload:
    """Returns flows of these bytes, which arrive at 0 where nothing else is said."""
    flows = {"flow_id": range(len(size)), "source": source, "destination": to, "size_bytes": size}
    return workload_from_columns({**flows, "arrival_s": columns.pop("arrival", [0.0] * len(size)), **columns})


def balance(scheme: Scheme, seeds: Sequence[int] = SEEDS) -> dict[str, list[float]]:
    """Repeats Figure 4: a long flow and many short ones, one after another, share two spines for a second.

    Returns:
        By seed of the hash: mean and standard deviation of the utilisation of the long flow's link and of the other,
        sampled every ms, the share of short flows on the former, and their mean FCT in s.
    """
    network = leaf_spine(num_leaves=2, num_spines=2, hosts_per_leaf=2, delay=DELAY)
    after = ["", "", *map(str, range(1, NUM_SHORT))]
    flows = flows_of([LONG] + [SHORT] * NUM_SHORT, [1] + [0] * NUM_SHORT, [3] + [2] * NUM_SHORT, after=after)
    parameters = {name: value for name, value in scheme.parameters.items() if name != "routing"}
    found = []
    for seed in seeds:
        routing, discipline = make_routing(str(scheme.parameters["routing"])), scheme.discipline
        run = Simulation(flows, network, make_discipline(discipline, parameters), routing=routing, seed=seed)
        samples = []
        for number in range(SAMPLES):
            run.run(until=(number + 1) * SECONDS_PER_MILLISECOND)
            rows = run.links.active[: run.links.num_active]
            spine = network.path_links[network.path_start[run.controls.path] + 1]
            samples.append(np.bincount(spine[rows], run.state.rate[rows], network.num_links))
        used = np.array(samples) / BYTES_PER_SECOND_PER_GBPS
        long, records = used[:, spine[0]], run.records()
        other = used.sum(axis=1) - long
        values = {"long": long.mean(), "other": other.mean(), "long_sd": long.std(), "other_sd": other.std()}
        done = (records.completion_time - records.ready_time)[run.delivered]
        values |= {"met": (spine[run.delivered] == spine[0]).mean(), "mean_fct": done.mean()}
        found.append({"": {name: rounded(value) for name, value in values.items()}})
    return by_seed(found)[""]


def two_paths() -> dict[str, float]:
    """Serves section 5.2's four flows by SRPT.

    Returns:
        Mean FCT with the last flow on the second path and on the first; its expansion ratios there (Algorithm 5); and
        the mean FCT where MEMR leads all four.
    """
    size, nothing = np.array([4.0, 1.0, 1.0, 1.0]), np.zeros(4)
    network = leaf_spine(num_leaves=2, num_spines=2, hosts_per_leaf=1, capacity=np.array([9.0] * 4 + [1.0] * 8))

    def served(*rows: int, **where: Any) -> float:
        flows = flows_of(size[[*rows]].tolist(), [0] * len(rows), [1] * len(rows))
        return float(flowsched_gym.replay(flows, discipline="srpt", **where).fct.sum() / len(size))

    found = {"P2": served(0, capacity=1.0) + served(1, 2, 3, capacity=1.0)}
    found["P1"] = served(0, 3, capacity=1.0) + served(1, 2, capacity=1.0)
    for name, others in (("ratio on P2", [1, 2]), ("ratio on P1", [0])):
        found[name] = expansion_ratio(0.0, 1.0, 3, np.array(others), size, nothing, size)
    return found | {"MEMR": served(*range(4), topology=network, parameters={"routing": "memr"})}


def run_schemes(study: Study, point: str, seed: int, engine: str) -> dict[str, dict[str, float]]:
    """Runs all schemes of a study on the same flows; returns what is kept of each."""
    flows = study.config(point).draw(seed)
    if study.incast:
        nothing, turns = np.zeros(len(flows.size)), np.arange(len(flows.size))
        flows = replace(flows, arrival_time=nothing, source=1 + turns % (TREE_HOSTS - 1), destination=0 * turns)
    found = {}
    for name, scheme in study.schemes.items():
        records = run_scheme(flows, scheme, study, engine)
        found[name] = {metric: rounded(value) for metric, value in study.summary(records).items()}
    return found


def by_seed(runs: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, list[float]]]:
    """Returns the metrics of each scheme, one value for each run."""
    return {name: {key: [run[name][key] for run in runs] for key in values} for name, values in runs[0].items()}


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
    """Serves flows A, B and C of Table 1 on a link of capacity 1; returns when they end, mean FCT and slowdowns."""
    flows = flows_of([3.0, 3.0, 4.0], [1] * 3, [0] * 3, arrival=[0.0, 3.0, 0.0])
    records = flowsched_gym.replay(flows, discipline=discipline, capacity=1.0)
    return {
        "completion_time": records.completion_time.tolist(),
        "mean_fct": float(records.fct.mean()),
        "slowdown": records.slowdown.tolist(),
    }


if __name__ == "__main__":
    main()
