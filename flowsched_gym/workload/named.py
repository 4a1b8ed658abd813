"""The named workloads that environments, YAML and the command line offer: those of ``data/named.toml``."""

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import Any, Final

from flowsched_gym.core.errors import ConfigError, shown, similar
from flowsched_gym.flows.workload import Workload
from flowsched_gym.workload.clusters import ClusterWorkload
from flowsched_gym.workload.gather import GatherWorkload
from flowsched_gym.workload.joined import InTurn, Overlay
from flowsched_gym.workload.poisson import PoissonWorkload
from flowsched_gym.workload.source import OneOf, first_flows
from flowsched_gym.workload.tasks import JobWorkload, TaskWorkload

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


_named: dict[str, NamedWorkload] = {}
WORKLOADS: Final[Mapping[str, NamedWorkload]] = MappingProxyType(_named)
"""The named workloads, in the order in which they are listed."""


def read_named(read: Callable[[Mapping[str, object]], Any]) -> None:
    """Reads the file of the named workloads; ``read`` makes each of its mapping, which may name those before it."""
    file = resources.files("flowsched_gym.workload").joinpath("data", "named.toml")
    for name, mapping in tomllib.loads(file.read_text(encoding="utf-8")).items():
        _named[name] = NamedWorkload(name, mapping.pop("description"), read(mapping))


def find_named(name: object) -> NamedWorkload:
    """Finds a named workload."""
    if not isinstance(name, str) or name not in WORKLOADS:
        if isinstance(name, str) and os.path.isfile(name):
            needed = "must end in .csv, .parquet, .json or .yaml (flowsched import-flows converts other files)"
            raise ConfigError(f"workload is {shown(name)}: the name of a file {needed}")
        raise ConfigError(
            f"workload {shown(name)} does not exist{similar(name, WORKLOADS)}: there are {', '.join(WORKLOADS)}"
        )
    return WORKLOADS[name]


def draw_flows(config: NamedConfig, *, num_flows: int, seed: int) -> Workload:
    """Draws exactly ``num_flows`` >= 1 flows, the first ones of the draw; the workload's own length is not used."""
    return first_flows(config.with_num_flows(num_flows).draw(seed), num_flows)
