"""The named workloads that environments, YAML and the command line offer."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from flowsched_gym.core.errors import ConfigError, shown, similar
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.flows.workload import Workload
from flowsched_gym.workload.clusters import ClusterWorkload, Incast, Traffic
from flowsched_gym.workload.distributions import Constant, Exponential, LogUniform, Pareto, Uniform
from flowsched_gym.workload.empirical import load_cdf
from flowsched_gym.workload.failures import RandomFailures
from flowsched_gym.workload.gather import ARTEMIS_A1, ARTEMIS_A2, GatherWorkload
from flowsched_gym.workload.jobs import JobWorkload
from flowsched_gym.workload.poisson import PoissonWorkload
from flowsched_gym.workload.qcluster import QCLUSTER
from flowsched_gym.workload.source import first_flows
from flowsched_gym.workload.specs import FAT_TREE_CORE_CABLES
from flowsched_gym.workload.tasks import CLOSED, TaskWorkload

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

AUTO_INCAST: Final = Incast(burst_rate=50.0, senders=16, size=Constant(value=20 * BYTES_PER_KILOBYTE))
"""Bursts as they come when a request asks many servers (DCTCP, section 2); they add 0.4 % to the load."""

NamedConfig = GatherWorkload | PoissonWorkload | ClusterWorkload | TaskWorkload | JobWorkload

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
_THESIS_SCATTER: Final = replace(_THESIS_MULTI, pattern="scatter", num_destinations=8, num_senders=10)
"""What the thesis leaves for later (chapter 5): gathers at several places, and scatter."""

TAFE_LOAD: Final = 0.8

LONG_TOTAL: Final = Pareto(shape=2.0, mean=20 * BYTES_PER_MEGABYTE)
"""The paper's "10M to infinity": the Pareto distribution that begins at 10 MB. No shape is printed; with 2 the largest
of 100 tasks has 120 MB at the median, so that no one task is most of the bytes."""

LOG_TOTAL: Final = LogUniform(low=100 * BYTES_PER_KILOBYTE, high=10 * BYTES_PER_MEGABYTE)

DEADLINE_FACTOR: Final = Uniform(low=2.0, high=10.0)

TAFE: Final[Mapping[str, tuple[str, TaskWorkload | JobWorkload]]] = MappingProxyType(
    {
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
            TaskWorkload(total=LOG_TOTAL, load=TAFE_LOAD, deadline_factor=DEADLINE_FACTOR),
        ),
        "tafe-alibaba": (
            "100 jobs of Alibaba's trace as tasks, with CPU work, on one link at load 0.8",
            JobWorkload(load=TAFE_LOAD),
        ),
    }
)
"""TAFE's workloads (section V-A and V-B): tasks of three clients, by default 100 of 2 to 8 flows.

The paper prints ranges of task sizes and the names of two distributions of flow sizes; how many flows a task has, how
large they are beside each other and how loaded the network is, are ours.
"""


@dataclass(frozen=True, slots=True)
class NamedWorkload:
    """A workload with a name.

    Attributes:
        name: Name by which ``make_workload`` finds it.
        description: One line for lists.
        config: The workload.
    """

    name: str
    description: str
    config: NamedConfig


def _poisson(size: str) -> PoissonWorkload:
    """Returns Poisson flows of a packaged size distribution at load 0.8, the usual one of the papers."""
    return PoissonWorkload(size=load_cdf(size), load=0.8, num_flows=EPISODE_FLOWS)


def _auto(*traffic: tuple[str, float], **fields: Any) -> ClusterWorkload:
    """Returns flows between AuTO's servers, in clusters with these pairs of size distribution and load."""
    each = tuple(Traffic(size=load_cdf(size), load=load) for size, load in traffic)
    return ClusterWorkload(traffic=each, num_hosts=AUTO_HOSTS, num_flows=AUTO_FLOWS, **fields)


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
        "what chapter 4 of the Artemis thesis measures, variant 1: gather-a1, for a transport that loses packets",
        _THESIS_1,
    ),
    "artemis-thesis-a2": (
        "the same, variant 2: gather-a2, for a transport that loses packets",
        _THESIS_2,
    ),
    "artemis-thesis-multi": (
        "artemis-thesis gathered by 4 hosts from 20, 10 bursts/s at each: the outlook of the thesis, chapter 5",
        _THESIS_MULTI,
    ),
    "artemis-thesis-scatter": (
        "artemis-thesis the other way: 8 hosts send 10 bursts/s each to 10 others: the thesis's outlook, chapter 5",
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
        GatherWorkload(
            size=Uniform(low=100 * BYTES_PER_KILOBYTE, high=500 * BYTES_PER_KILOBYTE),
            deadline=Uniform(low=30 * SECONDS_PER_MILLISECOND, high=60 * SECONDS_PER_MILLISECOND),
            flows_per_burst=10,
            burst_rate=HEAVY_BURST_RATE,
            num_bursts=EPISODE_BURSTS,
        ),
    ),
    "scatter-a1": (
        "variant 1 the other way: one host sends 10 bursts/s to 10 hosts",
        GatherWorkload(pattern="scatter", mix=ARTEMIS_A1, burst_rate=THESIS_BURST_RATE, num_bursts=EPISODE_BURSTS),
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
    **QCLUSTER,
    **TAFE,
}

WORKLOADS: Final[Mapping[str, NamedWorkload]] = MappingProxyType(
    {name: NamedWorkload(name, *rest) for name, rest in _NAMED.items()}
)
"""The named workloads, in the order in which they are listed."""


def find_named(name: object) -> NamedWorkload:
    """Finds a named workload.

    Raises:
        ConfigError: There is none of this name.
    """
    if not isinstance(name, str) or name not in WORKLOADS:
        raise ConfigError(
            f"workload {shown(name)} does not exist{similar(name, WORKLOADS)}: there are {', '.join(WORKLOADS)}"
        )
    return WORKLOADS[name]


def draw_flows(config: NamedConfig, *, num_flows: int, seed: int) -> Workload:
    """Draws exactly ``num_flows`` flows, the first ones of the draw.

    Args:
        config: The workload; its own length is not used.
        num_flows: Number of flows, >= 1.
        seed: Seed of the draw, an integer >= 0.

    Raises:
        ConfigError: The number of flows or the seed is not allowed.
    """
    return first_flows(config.with_num_flows(num_flows).draw(seed), num_flows)
