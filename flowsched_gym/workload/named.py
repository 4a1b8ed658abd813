"""Names the workloads that environments, YAML and the command line offer."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Final

from flowsched_gym.errors import ConfigError
from flowsched_gym.units import BYTES_PER_KILOBYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.workload.distributions import Exponential, Uniform
from flowsched_gym.workload.empirical import load_cdf
from flowsched_gym.workload.gather import GatherWorkload
from flowsched_gym.workload.mix import ARTEMIS_A1, ARTEMIS_A2, Mix
from flowsched_gym.workload.poisson import PoissonWorkload
from flowsched_gym.workload.source import first_flows
from flowsched_gym.workload.specs import parse_distribution, parse_mix
from flowsched_gym.workload.workload import Workload

__all__ = ["WORKLOADS", "NamedWorkload", "draw_flows", "make_workload"]

THESIS_BURST_RATE: Final = 10.0
"""Bursts per s (Artemis thesis, section 4.1.2)."""

HEAVY_BURST_RATE: Final = 30.0
"""Bursts per s at which variant 1 loads a 1 Gbps link to 72 %, so that the order of service decides."""

EPISODE_BURSTS: Final = 100

EPISODE_FLOWS: Final = 1000

ALTERNATIVES: Final = (
    ("burst_rate", "load"),
    ("rate", "load"),
    ("num_bursts", "duration"),
    ("num_flows", "duration"),
    ("mix", "size"),
)
"""Fields of which one takes the place of the other when it is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedWorkload:
    """Ties a name to a workload.

    Attributes:
        name: Name by which ``make_workload`` finds it.
        description: One line for lists.
        config: The workload.
    """

    name: str
    description: str
    config: GatherWorkload | PoissonWorkload


def _poisson(size: str) -> PoissonWorkload:
    """Describes Poisson flows of a packaged size distribution at load 0.8, the usual one of the papers."""
    return PoissonWorkload(size=load_cdf(size), load=0.8, num_flows=EPISODE_FLOWS)


_NAMED: Final = (
    NamedWorkload(
        name="gather-a1",
        description="10 bursts/s of 5 x (350 KB, 40 ms) + 5 x (250 KB, 50 ms) to one host (Artemis thesis, variant 1)",
        config=GatherWorkload(mix=ARTEMIS_A1, burst_rate=THESIS_BURST_RATE, num_bursts=EPISODE_BURSTS),
    ),
    NamedWorkload(
        name="gather-a2",
        description="10 bursts/s of 6 x (350 KB, 40 ms) + 4 x (250 KB, 50 ms) to one host (Artemis thesis, variant 2)",
        config=GatherWorkload(mix=ARTEMIS_A2, burst_rate=THESIS_BURST_RATE, num_bursts=EPISODE_BURSTS),
    ),
    NamedWorkload(
        name="gather-heavy",
        description="30 bursts/s of variant 1: bursts overlap and the order of service decides",
        config=GatherWorkload(mix=ARTEMIS_A1, burst_rate=HEAVY_BURST_RATE, num_bursts=EPISODE_BURSTS),
    ),
    NamedWorkload(
        name="gather-heavy-a2",
        description="30 bursts/s of variant 2",
        config=GatherWorkload(mix=ARTEMIS_A2, burst_rate=HEAVY_BURST_RATE, num_bursts=EPISODE_BURSTS),
    ),
    NamedWorkload(
        name="gather-a1-load",
        description="variant 1 at a load of 0.6 of the destination's link",
        config=GatherWorkload(mix=ARTEMIS_A1, load=0.6, num_bursts=EPISODE_BURSTS),
    ),
    NamedWorkload(
        name="gather-multi",
        description="variant 1 gathered by 4 hosts from 20, 20 bursts/s at each",
        config=GatherWorkload(
            mix=ARTEMIS_A1, burst_rate=20.0, num_bursts=EPISODE_BURSTS, num_destinations=4, num_senders=20
        ),
    ),
    NamedWorkload(
        name="gather-uniform",
        description="30 bursts/s of 10 flows with sizes uniform in 100-500 KB and deadlines in 30-60 ms",
        config=GatherWorkload(
            size=Uniform(low=100 * BYTES_PER_KILOBYTE, high=500 * BYTES_PER_KILOBYTE),
            deadline=Uniform(low=30 * SECONDS_PER_MILLISECOND, high=60 * SECONDS_PER_MILLISECOND),
            flows_per_burst=10,
            burst_rate=HEAVY_BURST_RATE,
            num_bursts=EPISODE_BURSTS,
        ),
    ),
    NamedWorkload(
        name="scatter-a1",
        description="variant 1 the other way: one host sends 10 bursts/s to 10 hosts",
        config=GatherWorkload(
            pattern="scatter", mix=ARTEMIS_A1, burst_rate=THESIS_BURST_RATE, num_bursts=EPISODE_BURSTS
        ),
    ),
    NamedWorkload(
        name="poisson-web-search",
        description="single flows of the DCTCP web search sizes on one link at load 0.8, no deadlines",
        config=_poisson("web_search"),
    ),
    NamedWorkload(
        name="poisson-data-mining",
        description="single flows of the VL2 data mining sizes on one link at load 0.8, no deadlines",
        config=_poisson("data_mining"),
    ),
    NamedWorkload(
        name="poisson-exponential",
        description="single flows of exponential size (mean 100 KB) on one link at load 0.8: the M/M/1 queue",
        config=PoissonWorkload(size=Exponential(mean=100 * BYTES_PER_KILOBYTE), load=0.8, num_flows=EPISODE_FLOWS),
    ),
)

WORKLOADS: Final[Mapping[str, NamedWorkload]] = MappingProxyType({named.name: named for named in _NAMED})
"""The named workloads, in the order in which they are listed."""


def make_workload(name: str, **overrides: object) -> GatherWorkload | PoissonWorkload:
    """Returns a named workload, with some fields changed.

    A field that excludes another takes its place: ``make_workload("gather-a1", load=0.9)`` has no burst rate of its own
    any more. Sizes, deadlines and mixes may be plain values (``specs.py``).

    Args:
        name: Name of the workload (``WORKLOADS``).
        **overrides: Fields of its class and their values; None leaves a field as the named workload has it.

    Raises:
        ConfigError: The name or a field does not exist, or a value is not allowed.
    """
    if not isinstance(name, str) or name not in WORKLOADS:
        raise ConfigError(f"workload {name!r} does not exist{_nearest(name, WORKLOADS)}: there are {_list(WORKLOADS)}")
    config = WORKLOADS[name].config
    known = {field.name: field for field in fields(config)}
    changes = {key: value for key, value in overrides.items() if value is not None}
    for key in overrides:
        if key not in known:
            raise ConfigError(f"workload {name!r} has no field {key!r}{_nearest(key, known)}: it has {_list(known)}")
    for key in ("size", "deadline"):
        if key in changes:
            changes[key] = parse_distribution(key, changes[key])
    if "mix" in changes:
        changes["mix"] = parse_mix("mix", changes["mix"])
    # The types of the values are not known here: the class checks each field.
    return replace(config, **{**_replaced_fields(changes, known), **changes})  # type: ignore[arg-type]


def draw_flows(config: GatherWorkload | PoissonWorkload, *, num_flows: int, seed: int) -> Workload:
    """Draws exactly so many flows: the first ones of the draw.

    Args:
        config: The workload; its own length is not used.
        num_flows: Number of flows, >= 1.
        seed: Seed of the draw, an integer >= 0.

    Raises:
        ConfigError: The number of flows or the seed is not allowed.
    """
    return first_flows(config.with_num_flows(num_flows).draw(seed), num_flows)


def _replaced_fields(changes: Mapping[str, object], known: Mapping[str, object]) -> dict[str, None]:
    """Names the fields that give way to those that are given."""
    replaced: dict[str, None] = {}
    for pair in ALTERNATIVES:
        given = [key for key in pair if key in changes]
        if len(given) == 1 and all(key in known for key in pair):
            replaced |= {key: None for key in pair if key not in given}
    mix = changes.get("mix")
    if isinstance(mix, Mix):
        replaced |= {"deadline": None} | ({} if mix.counts is None else {"flows_per_burst": None})
    return replaced


def _list(names: Mapping[str, object]) -> str:
    """Lists names for a message."""
    return ", ".join(names)


def _nearest(name: object, names: Mapping[str, object]) -> str:
    """Suggests the most similar name, where there is one."""
    similar = difflib.get_close_matches(str(name), list(names), n=1)
    return f" (did you mean {similar[0]!r}?)" if similar else ""
