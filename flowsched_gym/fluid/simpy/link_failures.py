"""Links that fail and come up again at their times."""

from collections.abc import Callable, Iterable
from itertools import groupby

from simpy.events import ProcessGenerator

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.simpy_environment import NetworkEnvironment
from flowsched_gym.fluid.events import EventKind
from flowsched_gym.fluid.simpy.links import SharedLinks
from flowsched_gym.fluid.simpy.paths import Paths
from flowsched_gym.workload import LinkChanges


def change_links(
    env: NetworkEnvironment,
    changes: LinkChanges,
    capacity: FloatArray,
    links: SharedLinks,
    paths: Paths,
    connecting: Iterable[int],
    note: Callable[[EventKind, int], None],
) -> ProcessGenerator:
    """Changes links, and gives flows whose paths have failed others; those that have none wait, and lose nothing.

    Args:
        env: Environment of the simulation.
        changes: When links fail and come up.
        capacity: Capacities in B/s of links that are up, (num_links,).
        links: The links.
        paths: Who chooses paths.
        connecting: Rows of the flows that have arrived but do not send yet, as of the time of each change.
        note: Writes an event (kind, link) to the log.
    """
    rows = zip(changes.time.tolist(), changes.link.tolist(), changes.up.tolist(), strict=True)
    for time, now_changing in groupby(rows, key=lambda row: row[0]):
        yield env.at(time, EventKind.LINK_CHANGE)
        for _, link, up in now_changing:
            links.set_capacity(link, float(capacity[link]) if up else 0.0)
            note(EventKind.LINK_CHANGE, link)
        for row in sorted((*links.active[: links.num_active].tolist(), *connecting)):
            if not paths.is_up(row):
                paths.choose(env.now, row, links.active, links.num_active)
