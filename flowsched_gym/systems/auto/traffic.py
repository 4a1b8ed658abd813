"""What clusters of hosts send, as far as thresholds by theory need it: a size distribution and a load each."""

import functools
import math
from typing import Any, Final

import numpy as np

from flowsched_gym.errors import ConfigError
from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.workload import ClusterWorkload, Distribution, Empirical, PoissonWorkload, Traffic, WorkloadSource

__all__ = ["USUAL_LOAD", "offered_traffic", "qlas_thresholds"]


USUAL_LOAD: Final = 0.8
"""Load for which the paper computes thresholds, where nothing else is said (section 6)."""


def offered_traffic(source: WorkloadSource, num_clusters: int) -> tuple[Traffic, ...] | None:
    """Returns what each cluster of an environment sends, in the long run; bursts of incast are left out.

    Where hosts of one cluster send different traffic, or change theirs, it is the mixture of all of it.

    Args:
        source: Where the flows come from.
        num_clusters: Clusters of equal size into which the hosts are divided, in their order.

    Returns:
        Traffic of each cluster, or ``None`` where it is not known, as of a flow file.

    Raises:
        ConfigError: Traffic mixes that is not all of measured distributions.
    """
    if isinstance(source, PoissonWorkload):
        return (Traffic(size=source.size, load=source.offered_load),) * num_clusters
    if not isinstance(source, ClusterWorkload):
        return None
    if source.change_every is not None:
        return (_mixed(source.traffic),) * num_clusters
    hosts = np.arange(source.num_hosts).reshape(num_clusters, -1) // source.hosts_per_cluster
    return tuple(_mixed(tuple(source.traffic[host] for host in row)) for row in hosts.tolist())


def qlas_thresholds(size: Distribution | str, load: float, num_queues: int) -> tuple[float, ...]:
    """Returns the best thresholds of queues by attained bytes on one link, in B; see ``optimal_thresholds``.

    Raises:
        ConfigError: There is no such distribution, or no best thresholds at this load.
    """
    return _best(size, load, num_queues)  # type: ignore[arg-type]  # distributions are hashable


@functools.lru_cache(maxsize=64)
def _best(size: Any, load: float, num_queues: int) -> tuple[float, ...]:
    """Finds them once; it takes some 40 ms."""
    return tuple(optimal_thresholds("qlas", size, load, num_queues).tolist())


@functools.lru_cache(maxsize=64)
def _mixed(parts: tuple[Traffic, ...]) -> Traffic:
    """Mixes the traffic of hosts, all alike in number."""
    if len(set(parts)) == 1:
        return parts[0]
    sizes = [part.size for part in parts]
    known = [size for size in sizes if isinstance(size, Empirical)]
    if len(known) < len(sizes):
        raise ConfigError(
            f"traffic mixes sizes of {', '.join(sorted({type(size).__name__ for size in sizes}))}: thresholds by "
            f"theory are known of mixed {Empirical.__name__} ones alone"
        )
    weights = np.array([part.load / part.size.mean for part in parts])
    # A distribution jumps at its smallest size, so the size just below it belongs to the points.
    smallest = [max(size.minimum, size.points[0][0]) for size in known]
    values = [value for size in known for value, _ in size.points]
    points = np.unique(np.maximum([*values, *smallest, *np.nextafter(smallest, 0.0)], np.nextafter(min(smallest), 0.0)))
    probability = np.sum([weight * size.cdf(points) for weight, size in zip(weights, known, strict=True)], axis=0)
    mixture = tuple(zip(points.tolist(), (probability / probability[-1]).tolist(), strict=True))
    return Traffic(size=Empirical(points=mixture), load=math.fsum(part.load for part in parts) / len(parts))
