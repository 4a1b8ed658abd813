"""QCluster's workloads W1 to W6 (section 6.1): messages that cross one port of 10 Gbps.

A pair of hosts is a connection, on which messages follow each other: twelve hosts make 132 of them, about as many as
end at a host of the paper's network of 144. Loads are those of the port, which all bytes cross.
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_SECOND_PER_GBPS, SECONDS_PER_MICROSECOND
from flowsched_gym.workload.clusters import ClusterWorkload, Traffic
from flowsched_gym.workload.distributions import Exponential
from flowsched_gym.workload.empirical import load_cdf
from flowsched_gym.workload.poisson import PoissonWorkload

LOAD: Final = 0.6
CAPACITY: Final = 10 * BYTES_PER_SECOND_PER_GBPS
HOSTS: Final = 12

PHASE: Final = 0.2
"""Time in s after which sizes change: some 60 messages of W6 or 1,200 of W4, and 40 actions taken every 5 ms."""
PHASES: Final = 4

DEADLINE_MEAN: Final = 170 * SECONDS_PER_MICROSECOND
"""The paper prints none: mean of the authors' ``80 us * 2^(packets / 16)`` over W4's messages below 100 KB."""
DEADLINE_BELOW: Final = 100 * BYTES_PER_KILOBYTE

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


def _poisson(size: str, num_flows: int) -> PoissonWorkload:
    """Returns Poisson messages of a packaged size distribution between all hosts, across one port."""
    return PoissonWorkload(
        size=load_cdf(size),
        load=LOAD,
        busiest_share=1.0,
        capacity=CAPACITY,
        num_flows=num_flows,
        pattern="all-to-all",
        num_hosts=HOSTS,
    )


_W4: Final = _poisson("w4", 2_000)

QCLUSTER: Final[Mapping[str, tuple[str, PoissonWorkload | ClusterWorkload]]] = MappingProxyType(
    {
        "qcluster-w1": ("W1: messages of a key-value store across a 10 Gbps port at load 0.6", _poisson("w1", 10_000)),
        "qcluster-w2": ("W2: messages of Google's search RPCs across a 10 Gbps port", _poisson("w2", 10_000)),
        "qcluster-w3": ("W3: messages of all Google's RPCs across a 10 Gbps port", _poisson("w3", 10_000)),
        "qcluster-w4": ("W4: messages of Facebook's Hadoop across a 10 Gbps port", _W4),
        "qcluster-w5": ("W5: data mining across a 10 Gbps port", _poisson("data_mining_ns2", 1_000)),
        "qcluster-w6": ("W6 for LAS and SRPT: web search across a 10 Gbps port", _poisson("w5", 1_000)),
        "qcluster-w6-fq": ("W6 for fair queueing: web search of pFabric and PIAS", _poisson("web_search_ns2", 1_000)),
        "qcluster-deadlines": (
            "W4 whose messages below 100 KB have deadlines, exponential with a mean of 170 us",
            replace(_W4, deadline=Exponential(mean=DEADLINE_MEAN), deadline_below=DEADLINE_BELOW),
        ),
        "qcluster-changing": (
            "W6 and W4 in turns across a 10 Gbps port: sizes change every 0.2 s, three times",
            ClusterWorkload(
                traffic=(Traffic(size=load_cdf("w5"), load=LOAD), Traffic(size=load_cdf("w4"), load=LOAD)),
                num_hosts=HOSTS,
                num_clusters=1,
                change_every=PHASE,
                busiest_share=1.0,
                capacity=CAPACITY,
                duration=PHASE * PHASES,
            ),
        ),
    }
)
"""Descriptions and workloads by name."""
