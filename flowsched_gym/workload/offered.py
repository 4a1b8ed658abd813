"""What hosts send in the long run, as far as theory needs it: size distributions and loads."""

import functools
import math

import numpy as np

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload.clusters import ClusterWorkload, Traffic
from flowsched_gym.workload.empirical import Empirical
from flowsched_gym.workload.poisson import PoissonWorkload
from flowsched_gym.workload.source import WorkloadSource


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
