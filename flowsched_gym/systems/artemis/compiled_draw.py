"""Draws the episodes of many Artemis environments in compiled code, and describes their requests."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from flowsched_gym.batch.loading import load
from flowsched_gym.batch.stepping import begin_episode
from flowsched_gym.batch.tables import Tables, view
from flowsched_gym.model.rules.compile import rule
from flowsched_gym.model.rules.draws import DrawPlan, draw_episode
from flowsched_gym.model.rules.observation import fill_requirements
from flowsched_gym.systems.artemis.compiled import Episodes

__all__ = ["Drawn", "draw", "prepare"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class Drawn(NamedTuple):
    """Receives the flows of one episode, (num_rows,) each; see ``Workload``."""

    arrival_time: FloatArray
    size: FloatArray
    deadline_span: FloatArray
    source: IntArray
    destination: IntArray
    task_id: IntArray
    path: IntArray
    scratch: IntArray


@rule
def draw(
    tables: Tables,
    own: Episodes,
    plan: DrawPlan,
    num_hosts: int,
    networks: IntArray,
    seeds: IntArray,
    drawn: Drawn,
    by_hand: BoolArray,
) -> None:
    """Draws episodes into networks.

    Args:
        tables: The tables.
        own: What environments keep.
        plan: How flows are drawn.
        num_hosts: Hosts of the topology, a big switch: the path from one to another is ``from * num_hosts + to``.
        networks: Networks, (count,).
        seeds: Seeds of their episodes, (count,).
        drawn: Receives the flows of each episode in its turn.
        by_hand: Receives which episodes are left, (count,): those that need more room or a look at their flows.
    """
    t = view(tables)
    # Not the literal 0, for which Numba would compile the draw once more.
    first: int = np.int64(0)  # type: ignore[assignment]
    for i in range(len(networks)):
        num_flows = draw_episode(
            seeds[i],
            plan,
            first,
            t.num_rows,
            drawn.arrival_time,
            drawn.size,
            drawn.deadline_span,
            drawn.source,
            drawn.destination,
            drawn.task_id,
            drawn.scratch,
        )
        by_hand[i] = True
        if num_flows <= 0:
            continue
        shortest, total = np.inf, 0.0
        for row in range(num_flows):
            drawn.path[row] = drawn.source[row] * num_hosts + drawn.destination[row]
            shortest = min(shortest, drawn.size[row])
            total += drawn.size[row]
        last = drawn.arrival_time[num_flows - 1] + total / own.line_rate
        if shortest / own.line_rate == 0.0 or not last < np.inf:
            continue
        n = networks[i]
        in_order = load(
            t,
            n,
            num_flows,
            drawn.size,
            drawn.arrival_time,
            drawn.deadline_span,
            drawn.path,
            drawn.destination,
        )
        if not in_order:
            continue
        by_hand[i] = False
        prepare(tables, own, n, drawn.size, drawn.deadline_span)


@rule
def prepare(tables: Tables, own: Episodes, n: int, size: FloatArray, deadline_span: FloatArray) -> None:
    """Describes the requests of an episode that has been loaded; its flows are (num_flows,) each."""
    first = n * tables.num_rows
    flows = tables.flows
    fill_requirements(
        first,
        first + tables.networks[n].num_flows,
        size,
        deadline_span,
        flows["volume"],
        own.line_rate,
        own.size_scale,
        own.time_scale,
        flows["send_time"],
        own.seen_at,
        own.seen,
    )
    episode = own.episodes[n]
    begin_episode(episode)
    episode.asked = 0
    episode.paid = 0
