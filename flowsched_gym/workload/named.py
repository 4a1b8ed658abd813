"""The named workloads that environments, YAML and the command line offer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from flowsched_gym.core.errors import ConfigError, shown, similar
from flowsched_gym.core.units import (
    BYTES_PER_KILOBYTE,
    BYTES_PER_MEGABYTE,
    BYTES_PER_SECOND_PER_GBPS,
    SECONDS_PER_MICROSECOND,
    SECONDS_PER_MILLISECOND,
)
from flowsched_gym.flows.workload import Workload
from flowsched_gym.workload.clusters import ClusterWorkload, Incast, Traffic
from flowsched_gym.workload.distributions import Constant, Exponential, LogUniform, Pareto, Uniform
from flowsched_gym.workload.empirical import load_cdf
from flowsched_gym.workload.gather import ARTEMIS_A1, ARTEMIS_A2, GatherWorkload, Mix
from flowsched_gym.workload.joined import InTurn, Overlay
from flowsched_gym.workload.poisson import PoissonWorkload, RandomFailures
from flowsched_gym.workload.source import OneOf, first_flows
from flowsched_gym.workload.specs import FAT_TREE_CORE_CABLES
from flowsched_gym.workload.tasks import AGGREGATE, CLOSED, JobWorkload, TaskWorkload

THESIS_BURST_RATE: Final = 10.0
"""Bursts per s (Artemis thesis, section 4.1.2)."""
HEAVY_BURST_RATE: Final = 30.0
"""Bursts per s at which variant 1 loads a 1 Gbps link to 72 %, so that the order of service decides."""
EPISODE_BURSTS: Final = 100
EPISODE_FLOWS: Final = 1000
PARETO_SHAPE: Final = 1.5
"""Shape of MERP's sizes, which the paper does not print: the default of ns-2, in which it simulates."""
MERP_MEAN: Final = 1500 * BYTES_PER_KILOBYTE
MERP_SMALL_MEAN: Final = 150 * BYTES_PER_KILOBYTE
"""Mean sizes in B (MERP, sections 6.1.1 and 6.1.2)."""
TREE_HOSTS: Final = 9
TREE_RACK_SHARE: Final = 0.25
"""Share of uniform traffic that crosses a rack's uplink of the nine-host tree: 3 * 6 of its 72 ordered pairs."""
FAT_TREE_HOSTS: Final = 16
AUTO_HOSTS: Final = 32
AUTO_FLOWS: Final = 10_000
"""Servers of AuTO's testbed (section 6), and flows of an episode: 5 s of web search and 40 s of data mining at 80 %."""
AUTO_PHASE: Final = 2.0
"""Time in s after which traffic changes, in place of AuTO's hour: about five times in an episode of 10,000 flows."""
MERP_INCAST: Final = Incast(burst_rate=20.0, senders=TREE_HOSTS - 1, size=Constant(value=300 * BYTES_PER_KILOBYTE))
"""Bursts of all hosts to one, which add 0.1 to the load of a rack's uplink."""
AUTO_INCAST: Final = Incast(burst_rate=50.0, senders=16, size=Constant(value=20 * BYTES_PER_KILOBYTE))
"""Bursts as they come when a request asks many servers (DCTCP, section 2); they add 0.4 % to the load."""
NamedConfig = GatherWorkload | PoissonWorkload | ClusterWorkload | TaskWorkload | JobWorkload | OneOf | Overlay | InTurn

KINDS: Final[Mapping[str, type[NamedConfig]]] = MappingProxyType(
    {
        "gather": GatherWorkload,
        "scatter": GatherWorkload,
        "poisson": PoissonWorkload,
        "clusters": ClusterWorkload,
        "tasks": TaskWorkload,
        "jobs": JobWorkload,
    }
)
"""Kinds of workloads."""

_MERP: Final = PoissonWorkload(size=Pareto(shape=PARETO_SHAPE, mean=MERP_MEAN), load=0.8, num_flows=EPISODE_FLOWS)
_MERP_TREE: Final = replace(_MERP, pattern="all-to-all", num_hosts=TREE_HOSTS, busiest_share=TREE_RACK_SHARE)
_MERP_FAT_TREE: Final = replace(_MERP, pattern="all-to-all", num_hosts=FAT_TREE_HOSTS, load=0.6)
_THESIS_1: Final = GatherWorkload(mix=ARTEMIS_A1, burst_rate=THESIS_BURST_RATE, num_bursts=EPISODE_BURSTS)
_THESIS_2: Final = replace(_THESIS_1, mix=ARTEMIS_A2)
_THESIS_MULTI: Final = replace(_THESIS_1, num_bursts=4 * EPISODE_BURSTS, num_destinations=4, num_senders=20)
_UNIFORM: Final = GatherWorkload(
    size=Uniform(low=100 * BYTES_PER_KILOBYTE, high=500 * BYTES_PER_KILOBYTE),
    deadline=Uniform(low=30 * SECONDS_PER_MILLISECOND, high=60 * SECONDS_PER_MILLISECOND),
    flows_per_burst=10,
    burst_rate=HEAVY_BURST_RATE,
    num_bursts=EPISODE_BURSTS,
)
_THESIS_SCATTER: Final = replace(_THESIS_MULTI, pattern="scatter", num_destinations=8, num_senders=10)
"""What the thesis leaves for later (chapter 5): gathers at several places, and scatter."""
MIXED_SECONDS: Final = 3.0
"""Length in s of arrivals of workloads that lie one over the other."""
REGIME: Final = 0.4
TAFE_LOAD: Final = 0.8
TAFE_BUSY: Final = 0.85
TAFE_REGIME: Final = 0.6
"""Time in s after which bursts (some 5 to 16), or tasks (some 250 short or 3 wide ones), change."""
LONG_TOTAL: Final = Pareto(shape=2.0, mean=20 * BYTES_PER_MEGABYTE)
"""The paper's "10M to infinity": the Pareto distribution that begins at 10 MB. No shape is printed; with 2 the largest
of 100 tasks has 120 MB at the median, so that no one task is most of the bytes."""
LOG_TOTAL: Final = LogUniform(low=100 * BYTES_PER_KILOBYTE, high=10 * BYTES_PER_MEGABYTE)
SHORT_TOTAL: Final = LogUniform(low=20 * BYTES_PER_KILOBYTE, high=BYTES_PER_MEGABYTE)
WIDE_TOTAL: Final = LogUniform(low=BYTES_PER_MEGABYTE, high=50 * BYTES_PER_MEGABYTE)
DEADLINE_FACTOR: Final = Uniform(low=2.0, high=10.0)
QCLUSTER_LOAD: Final = 0.6
QCLUSTER_CAPACITY: Final = 10 * BYTES_PER_SECOND_PER_GBPS
QCLUSTER_HOSTS: Final = 12
"""A pair of hosts is a connection, on which messages follow each other: twelve hosts make 132 of them, about as many as
end at a host of the paper's network of 144. Loads are those of one port, which all bytes cross."""
QCLUSTER_PHASE: Final = 0.2
"""Time in s after which sizes change: some 60 messages of W6 or 1,200 of W4, and 40 actions taken every 5 ms."""
QCLUSTER_PHASES: Final = 4
DEADLINE_MEAN: Final = 170 * SECONDS_PER_MICROSECOND
"""The paper prints none: mean of the authors' ``80 us * 2^(packets / 16)`` over W4's messages below 100 KB."""

MESSAGE_GAPS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "qcluster-w1": 2e-7,
        "qcluster-w2": 4e-6,
        "qcluster-w3": 2.5e-5,
        "qcluster-w4": 4e-3,
        "qcluster-w5": 1.4e-2,
        "qcluster-w6": 3e-3,
        "qcluster-w6-fq": 3e-3,
        "qcluster-deadlines": 4e-3,
        "qcluster-changing": 3e-3,
    }
)
"""Silence in s on a connection after which a new message is assumed, by workload: ``message_gap`` of schedulers where
senders have ``messages="time"``. The authors' settings for ns-2 (github.com/qcluster/QCluster, at 40ed0da), measured
between a connection's packets; where sizes change, the smaller of the two."""


@dataclass(frozen=True, slots=True)
class NamedWorkload:
    """A workload with a name, and a line that describes it in lists."""

    name: str
    description: str
    config: NamedConfig


def _poisson(size: str) -> PoissonWorkload:
    """Returns Poisson flows of a packaged size distribution at load 0.8, the usual one of the papers."""
    return PoissonWorkload(size=load_cdf(size), load=0.8, num_flows=EPISODE_FLOWS)


def _qcluster(size: str, num_flows: int) -> PoissonWorkload:
    """Returns messages of a packaged size distribution between all hosts, across one port."""
    return PoissonWorkload(
        size=load_cdf(size),
        load=QCLUSTER_LOAD,
        busiest_share=1.0,
        capacity=QCLUSTER_CAPACITY,
        num_flows=num_flows,
        pattern="all-to-all",
        num_hosts=QCLUSTER_HOSTS,
    )


def _qcluster_changing(load: float) -> ClusterWorkload:
    """Returns messages of W6 and W4 in turns, each at this load."""
    return ClusterWorkload(
        traffic=tuple(Traffic(size=load_cdf(size), load=load) for size in ("w5", "w4")),
        num_hosts=QCLUSTER_HOSTS,
        num_clusters=1,
        change_every=QCLUSTER_PHASE,
        busiest_share=1.0,
        capacity=QCLUSTER_CAPACITY,
        duration=QCLUSTER_PHASE * QCLUSTER_PHASES,
    )


def _auto(*traffic: tuple[str, float], **fields: Any) -> ClusterWorkload:
    """Returns flows between AuTO's servers, in clusters with these pairs of size distribution and load."""
    each = tuple(Traffic(size=load_cdf(size), load=load) for size, load in traffic)
    return ClusterWorkload(traffic=each, num_hosts=AUTO_HOSTS, num_flows=AUTO_FLOWS, **fields)


def _application(size_kb: float, deadline_ms: float, count: int, burst_rate: float) -> GatherWorkload:
    """Returns what one application gathers at a host in an episode: alike flows in each burst."""
    pair = (size_kb * BYTES_PER_KILOBYTE, deadline_ms * SECONDS_PER_MILLISECOND)
    return GatherWorkload(mix=Mix(pairs=(pair,), counts=(count,)), burst_rate=burst_rate, duration=MIXED_SECONDS)


_TAFE_LOG: Final = TaskWorkload(total=LOG_TOTAL, load=TAFE_LOAD, deadline_factor=DEADLINE_FACTOR)
_W4: Final = _qcluster("w4", 2_000)
_AUTO_POISSON: Final = replace(_poisson("web_search"), pattern="all-to-all", num_hosts=AUTO_HOSTS, num_flows=AUTO_FLOWS)

_NAMED: Final[Mapping[str, tuple[str, NamedConfig]]] = {
    "gather-a1": (
        "10 bursts/s of 5 x (350 KB, 40 ms) + 5 x (250 KB, 50 ms) to one host (Artemis thesis, variant 1)",
        _THESIS_1,
    ),
    "gather-a2": (
        "10 bursts/s of 6 x (350 KB, 40 ms) + 4 x (250 KB, 50 ms) to one host (Artemis thesis, variant 2)",
        _THESIS_2,
    ),
    "artemis-thesis": (
        "what chapter 4 of the Artemis thesis measures, variant 1: gather-a1, for transport=tcp-lossy-2018a",
        _THESIS_1,
    ),
    "artemis-thesis-a2": ("the same, variant 2: gather-a2, for transport=tcp-lossy-2018a", _THESIS_2),
    "artemis-thesis-multi": (
        "artemis-thesis gathered by 4 hosts from 20, 10 bursts/s at each (chapter 5), for transport=tcp-lossy-2018a",
        _THESIS_MULTI,
    ),
    "artemis-thesis-scatter": (
        "artemis-thesis the other way, from 8 hosts to 10 others each (chapter 5), for transport=tcp-lossy-2018a, k=2",
        _THESIS_SCATTER,
    ),
    "gather-heavy": (
        "30 bursts/s of variant 1: bursts overlap and the order of service decides",
        GatherWorkload(mix=ARTEMIS_A1, burst_rate=HEAVY_BURST_RATE, num_bursts=EPISODE_BURSTS),
    ),
    "gather-heavy-a2": (
        "30 bursts/s of variant 2",
        GatherWorkload(mix=ARTEMIS_A2, burst_rate=HEAVY_BURST_RATE, num_bursts=EPISODE_BURSTS),
    ),
    "gather-a1-load": (
        "variant 1 at a load of 0.6 of the destination's link",
        GatherWorkload(mix=ARTEMIS_A1, load=0.6, num_bursts=EPISODE_BURSTS),
    ),
    "gather-multi": (
        "variant 1 gathered by 4 hosts from 20, 20 bursts/s at each",
        GatherWorkload(mix=ARTEMIS_A1, burst_rate=20.0, num_bursts=EPISODE_BURSTS, num_destinations=4, num_senders=20),
    ),
    "gather-uniform": (
        "30 bursts/s of 10 flows with sizes uniform in 100-500 KB and deadlines in 30-60 ms",
        _UNIFORM,
    ),
    "scatter-a1": (
        "variant 1 the other way: one host sends 10 bursts/s to 10 hosts",
        GatherWorkload(pattern="scatter", mix=ARTEMIS_A1, burst_rate=THESIS_BURST_RATE, num_bursts=EPISODE_BURSTS),
    ),
    "artemis-changing": (
        "gathers of variant 1 at 12 and 40 bursts/s and those of gather-uniform in turns of 0.4 s each",
        InTurn(
            sources=(replace(_THESIS_1, burst_rate=12.0), replace(_THESIS_1, burst_rate=40.0), _UNIFORM),
            each_for=REGIME,
            num_phases=9,
        ),
    ),
    "artemis-background": (
        "22 bursts/s of variant 1 over single flows of 500 KB (mean) with 20 to 200 ms at load 0.25",
        Overlay(
            sources=(
                replace(_THESIS_1, burst_rate=22.0, num_bursts=None, duration=MIXED_SECONDS),
                PoissonWorkload(
                    size=Exponential(mean=500 * BYTES_PER_KILOBYTE),
                    deadline=Uniform(low=20 * SECONDS_PER_MILLISECOND, high=200 * SECONDS_PER_MILLISECOND),
                    load=0.25,
                    duration=MIXED_SECONDS,
                ),
            )
        ),
    ),
    "artemis-applications": (
        "three applications gather at a host: 50 KB in 15 ms, 300 KB in 40 ms, 1 MB in 80 ms",
        Overlay(sources=(_application(50, 15, 10, 20), _application(300, 40, 6, 25), _application(1000, 80, 2, 15))),
    ),
    "poisson-web-search": (
        "single flows of the DCTCP web search sizes on one link at load 0.8, no deadlines",
        _poisson("web_search"),
    ),
    "poisson-data-mining": (
        "single flows of the VL2 data mining sizes on one link at load 0.8, no deadlines",
        _poisson("data_mining"),
    ),
    "poisson-exponential": (
        "single flows of exponential size (mean 100 KB) on one link at load 0.8: the M/M/1 queue",
        PoissonWorkload(size=Exponential(mean=100 * BYTES_PER_KILOBYTE), load=0.8, num_flows=EPISODE_FLOWS),
    ),
    "poisson-pareto": ("single flows of MERP's sizes (Pareto, shape 1.5, mean 1500 KB) on one link at load 0.8", _MERP),
    "poisson-tree": ("MERP's sizes between all nine hosts of its tree, rack uplinks at load 0.8", _MERP_TREE),
    "poisson-tree-small": (
        "poisson-tree with a mean of 150 KB",
        replace(_MERP_TREE, size=Pareto(shape=PARETO_SHAPE, mean=MERP_SMALL_MEAN)),
    ),
    "poisson-fat-tree": (
        "MERP's sizes between all 16 hosts of the fat-tree with k = 4, host links at load 0.6",
        _MERP_FAT_TREE,
    ),
    "poisson-fat-tree-failures": (
        "poisson-fat-tree with 3 of the 16 aggregation-core cables, chosen at random, down from the start",
        replace(_MERP_FAT_TREE, failures=RandomFailures(cables=FAT_TREE_CORE_CABLES, count=3)),
    ),
    "poisson-tree-bursts": (
        "MERP's sizes on its tree at load 0.5, and 20 times a second 300 KB from each host to one of them",
        ClusterWorkload(
            traffic=(Traffic(size=_MERP.size, load=0.5),),
            num_hosts=TREE_HOSTS,
            num_clusters=1,
            incast=MERP_INCAST,
            busiest_share=TREE_RACK_SHARE,
            num_flows=EPISODE_FLOWS,
        ),
    ),
    "poisson-fat-tree-failures-repaired": (
        "poisson-fat-tree whose aggregation-core cables fail once in 1 s, for 0.3 s, on average",
        replace(
            _MERP_FAT_TREE,
            failures=RandomFailures(
                cables=FAT_TREE_CORE_CABLES, mean_time_up=1.0, mean_time_down=0.3, until=MIXED_SECONDS
            ),
        ),
    ),
    "auto-web-search": ("web search sizes between AuTO's 32 servers at load 0.8 (section 6.1.1)", _AUTO_POISSON),
    "auto-data-mining": (
        "data mining sizes between AuTO's 32 servers at load 0.8 (section 6.1.1)",
        replace(_AUTO_POISSON, size=load_cdf("data_mining")),
    ),
    "auto-clusters": (
        "four clusters of 8 servers: web search at 60 % and 80 %, data mining at 60 % and 80 %",
        _auto(("web_search", 0.6), ("web_search", 0.8), ("data_mining", 0.6), ("data_mining", 0.8)),
    ),
    "auto-changing": (
        "four clusters; each takes other sizes or another load every 2 s (AuTO, section 6.1.3)",
        _auto(
            *((size, load) for size in ("web_search", "data_mining") for load in (0.6, 0.7, 0.8)),
            change_every=AUTO_PHASE,
        ),
    ),
    "auto-incast": (
        "web search between 32 servers at 60 %, and 50 times a second 16 flows of 20 KB to one of them",
        _auto(("web_search", 0.6), num_clusters=1, incast=AUTO_INCAST),
    ),
    "qcluster-w1": ("W1: messages of a key-value store across a 10 Gbps port at load 0.6", _qcluster("w1", 10_000)),
    "qcluster-w2": ("W2: messages of Google's search RPCs across a 10 Gbps port", _qcluster("w2", 10_000)),
    "qcluster-w3": ("W3: messages of all Google's RPCs across a 10 Gbps port", _qcluster("w3", 10_000)),
    "qcluster-w4": ("W4: messages of Facebook's Hadoop across a 10 Gbps port", _W4),
    "qcluster-w5": ("W5: data mining across a 10 Gbps port", _qcluster("data_mining_ns2", 1_000)),
    "qcluster-w6": ("W6 for LAS and SRPT: web search across a 10 Gbps port", _qcluster("w5", 1_000)),
    "qcluster-w6-fq": ("W6 for fair queueing: web search of pFabric and PIAS", _qcluster("web_search_ns2", 1_000)),
    "qcluster-deadlines": (
        "W4 whose messages below 100 KB have deadlines, exponential with a mean of 170 us",
        replace(_W4, deadline=Exponential(mean=DEADLINE_MEAN), deadline_below=100 * BYTES_PER_KILOBYTE),
    ),
    "qcluster-changing": (
        "W6 and W4 in turns across a 10 Gbps port: sizes change every 0.2 s, three times",
        _qcluster_changing(QCLUSTER_LOAD),
    ),
    "qcluster-changing-heavy": ("qcluster-changing at load 0.9", _qcluster_changing(0.9)),
    # TAFE (sections V-A and V-B): tasks of three clients. The paper prints ranges of task sizes and the names of two
    # distributions of flow sizes; how many flows a task has, how they share it and how loaded the network is, are ours.
    "tafe-short": (
        "100 tasks of 2 to 8 flows, 1 to 100 KB in all, by three clients in a closed loop",
        TaskWorkload(total=Uniform(low=BYTES_PER_KILOBYTE, high=100 * BYTES_PER_KILOBYTE), arrivals=CLOSED),
    ),
    "tafe-long": (
        "100 tasks of 2 to 8 flows, 10 MB or more in all (Pareto), by three clients in a closed loop",
        TaskWorkload(total=LONG_TOTAL, arrivals=CLOSED),
    ),
    "tafe-web-search": (
        "100 tasks of 2 to 8 flows of web search sizes on one link at load 0.8",
        TaskWorkload(size=load_cdf("web_search"), load=TAFE_LOAD),
    ),
    "tafe-data-mining": (
        "100 tasks of 2 to 8 flows of data mining sizes on one link at load 0.8",
        TaskWorkload(size=load_cdf("data_mining"), load=TAFE_LOAD),
    ),
    "tafe-log": (
        "100 tasks of 2 to 8 flows, 0.1 to 10 MB in all (log-uniform), with deadlines, on one link at load 0.8",
        _TAFE_LOG,
    ),
    "tafe-alibaba": (
        "100 jobs of Alibaba's trace as tasks, with CPU work, on one link at load 0.8",
        JobWorkload(load=TAFE_LOAD),
    ),
    "tafe-changing": (
        "tasks of 2 to 8 flows, 0.02 to 1 MB, and of 10 to 30 flows, 1 to 50 MB, in turns of 0.6 s at load 0.85",
        InTurn(
            sources=(
                TaskWorkload(total=SHORT_TOTAL, load=TAFE_BUSY, num_tasks=400),
                TaskWorkload(total=WIDE_TOTAL, load=TAFE_BUSY, num_tasks=60, min_flows=10, max_flows=30),
            ),
            each_for=TAFE_REGIME,
            num_phases=4,
        ),
    ),
    "tafe-mixed": (
        "partition-aggregate tasks of tafe-log at load 0.45 over jobs of tafe-alibaba at load 0.4",
        Overlay(
            sources=(
                replace(_TAFE_LOG, load=0.45, pattern=AGGREGATE, num_tasks=80),
                JobWorkload(load=0.4, num_tasks=80),
            )
        ),
    ),
}

WORKLOADS: Final[Mapping[str, NamedWorkload]] = MappingProxyType(
    {name: NamedWorkload(name, *rest) for name, rest in _NAMED.items()}
)
"""The named workloads, in the order in which they are listed."""


def find_named(name: object) -> NamedWorkload:
    """Finds a named workload."""
    if not isinstance(name, str) or name not in WORKLOADS:
        raise ConfigError(
            f"workload {shown(name)} does not exist{similar(name, WORKLOADS)}: there are {', '.join(WORKLOADS)}"
        )
    return WORKLOADS[name]


def draw_flows(config: NamedConfig, *, num_flows: int, seed: int) -> Workload:
    """Draws exactly ``num_flows`` >= 1 flows, the first ones of the draw; the workload's own length is not used."""
    return first_flows(config.with_num_flows(num_flows).draw(seed), num_flows)
