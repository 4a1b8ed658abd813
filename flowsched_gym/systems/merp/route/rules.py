"""What an agent that chooses paths may do, sees and is rewarded with (MERP, section 5), for both engines.

Paths are compared as in ``fluid/rules/routing``: bytes, flows and utilisation of a path are those of its most loaded
link, links that all paths that are up share left out; its expansion ratio and expected rate are those of MEMR, over all
of its links. A path that is down has the ratio inf, utilisation 1 and nothing to expect.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, ObservationArray
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.envs.columns import Column, Layout, named, writer
from flowsched_gym.flows.decisions import Order
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.fluid.rules.routing.memr import expect_on_links, expect_on_path
from flowsched_gym.machine_code.decorators import allocating_part, inlined_part
from flowsched_gym.systems.merp.route.config import MERPRouteConfig, RouteObservation, RouteReward
from flowsched_gym.systems.merp.route.forecast import forecast_slowdowns
from flowsched_gym.topology.routes import NetworkState, path_is_up, shared_ends

SIZE_SCALE: Final = 1500 * BYTES_PER_KILOBYTE
"""Size in B that becomes one half: the mean of MERP's flows (section 6.1.1)."""
TIME_SCALE: Final = 12 * SECONDS_PER_MILLISECOND
"""Time in s that becomes one half, and the unit of the reward ``fct``: what so many bytes take at 1 Gbps."""
COUNT_SCALE: Final = 4.0
LIVE_SCALE: Final = 32.0
"""Flows on a link, and in the network, that become one half: about as many as the 16 hosts have at load 0.6."""
RATIO_SCALE: Final = 4.0
"""Expansion ratio that becomes one half."""
FLOW_FIELDS: Final = (("ideal_fct", "f8"),)
TAKE_PATH: Final = int(Order.TAKE_PATH)
CONTEXT: Final = (
    Column.squashed("size", "bytes to deliver", "B", SIZE_SCALE),
    Column.squashed("ideal_fct", "completion time alone on the empty network", "s", TIME_SCALE),
    Column.squashed("live_flows", "flows that send in the whole network", "flows", LIVE_SCALE),
    Column.fraction("same_pod", "1 if source and destination are in one pod"),
)
PATH: Final = (
    Column.fraction("present", "1 if the path exists"),
    Column.fraction("live", "1 if all of its links are up"),
    Column.squashed("bytes_left", "bytes left of the flows on its most loaded link", "B", SIZE_SCALE),
    Column.squashed("num_flows", "flows on that link", "flows", COUNT_SCALE),
    Column.fraction("utilisation", "largest share of a link's capacity that is in use"),
    Column.squashed(
        "expansion_ratio", "largest expansion ratio that MERP's order would give the flow (GPE)", "1", RATIO_SCALE
    ),
    Column.fraction("expected_rate", "least rate to expect over the capacity of a link (GMER)"),
)
ROLES: Final = {
    "edge_up": "from edge to aggregation",
    "core_up": "from aggregation to core",
    "core_down": "from core to aggregation",
    "edge_down": "from aggregation to edge",
}
"""Links of a path between those of the hosts, in their order; a path inside a pod has the first and the last."""
NUM_ROLES: Final = len(ROLES)
LINK: Final = (
    Column.squashed("{}_flows", "flows on the link {}", "flows", COUNT_SCALE),
    Column.squashed("{}_bytes", "bytes that they have left", "B", SIZE_SCALE),
    Column.fraction("{}_rate", "least rate to expect there over its capacity"),
    Column.fraction("{}_live", "1 if the link is up"),
)
FORECAST: Final = (
    Column.squashed("own_slowdown", "slowdown of the flow if no more flows came", "1", RATIO_SCALE),
    Column.squashed("total_slowdown", "the same, and what it would add to the slowdowns of others", "1", RATIO_SCALE),
)
"""Columns of a path with ``observation="forecast"`` alone."""
write_context, write_path, write_link, write_forecast = (writer(each) for each in (CONTEXT, PATH, LINK, FORECAST))


def reward_terms(reward: RouteReward) -> tuple[str, ...]:
    """Names the terms of a reward."""
    return ("fct", "slowdown") if reward is RouteReward.BOTH else (str(reward),)


class RouteRules(NamedTuple):
    """Which path a flow takes, over links of a rate in B/s; see ``DecisionRules`` for the methods."""

    num_slots: int
    rewards_fct: bool
    rewards_slowdown: bool
    shows_forecast: bool
    line_rate: float

    def act(self, decision: Decision, action: int) -> tuple[int, int, bool]:
        """Takes a path; one that is not there or is down stands for the first that is up."""
        if not decision.is_due:
            return TAKE_PATH, 0, action > 0
        if _is_up(decision, action):
            return TAKE_PATH, action, False
        index = 0
        while not _is_up(decision, index):
            index += 1
        return TAKE_PATH, index, True

    def mask(self, decision: Decision, mask: BoolArray) -> None:
        """Writes which paths are up; at the end, the first."""
        for index in range(self.num_slots):
            mask[index] = _is_up(decision, index) if decision.is_due else index == 0

    def observe(self, decision: Decision, observation: ObservationArray) -> None:
        """Writes the columns of ``route_layout``; zeros at the end."""
        observation[:] = 0.0
        if decision.is_due:
            _show(self, decision, observation)

    def reward(self, decision: Decision, num_before: int, terms: FloatArray) -> float:
        """Rewards minus the completion times, or slowdowns, of the flows delivered since the last action."""
        total_fct, total_slowdown = 0.0, 0.0
        for index in range(decision.first_row + num_before, decision.first_row + decision.num_delivered):
            row = decision.delivered[index]
            fct = decision.completion_time[row] - decision.state.arrival_time[row]
            total_fct += fct
            total_slowdown += fct / decision.flows["ideal_fct"][row]
        reward = 0.0
        if self.rewards_fct:
            terms[0] = 0.0 - total_fct / TIME_SCALE
            reward += terms[0]
        if self.rewards_slowdown:
            terms[-1] = 0.0 - total_slowdown
            reward += terms[-1]
        return reward


def route_layout(config: MERPRouteConfig) -> Layout:
    """Lists the columns that the agent sees."""
    forecast = FORECAST if config.observation is RouteObservation.FORECAST else ()
    return Layout(context=CONTEXT, slot=(*PATH, *named(LINK, ROLES), *forecast), num_slots=config.num_paths)


@inlined_part
def _is_up(decision: Decision, index: int) -> bool:
    """Returns whether the flow that needs a path has one of this index, all of whose links are up."""
    routes: Any = decision.routes
    row, network = decision.candidates[decision.first_candidate], decision.network
    path = routes.first[row] + index
    return path < routes.last[row] and path_is_up(path, network)


@allocating_part
def _show(rules: RouteRules, decision: Decision, observation: ObservationArray) -> None:
    """Writes the flow that needs a path, its paths and their links; 0 stays where there are none."""
    routes: Any = decision.routes
    now, state, controls, network = decision.now, decision.state, decision.controls, decision.network
    row, count = decision.candidates[decision.first_candidate], decision.num_active
    active: Any = decision.active[decision.first_active : decision.first_active + count]
    num_links = len(network.capacity)
    first, last = routes.first[row], routes.last[row]
    path_start, path_links = network.path_start, network.path_links
    bytes_left, used, num_flows = np.zeros(num_links), np.zeros(num_links), np.zeros(num_links)
    for index in range(count):
        other = active[index]
        path = controls.path[other]
        for step in range(path_start[path], path_start[path + 1]):
            bytes_left[path_links[step]] += state.remaining[other]
            used[path_links[step]] += state.rate[other]
            num_flows[path_links[step]] += 1.0
    ratio, rate, ideal_fct = np.zeros(num_links), np.zeros(num_links), decision.flows["ideal_fct"]
    scene = NetworkState(now, active, count, state, controls, network, routes)
    expect_on_links(row, scene, ratio, rate)
    alone, together = np.full(last - first, np.inf), np.full(last - first, np.inf)
    if rules.shows_forecast:
        forecast_slowdowns(row, scene, ideal_fct, alone, together)
    head, tail = shared_ends(first, last, network)
    num_own = np.int64(path_start[first + 1]) - np.int64(path_start[first]) - 2
    in_pod = num_own < NUM_ROLES
    at = write_context(
        rules, observation, 0, size=state.size[row], ideal_fct=ideal_fct[row], live_flows=count, same_pod=in_pod
    )
    for path in range(first, last):
        begin, end = path_start[path], path_start[path + 1]
        is_up = path_is_up(path, network)
        most, crowd, busiest = 0.0, 0.0, 0.0 if is_up else 1.0
        for step in range(begin + head, end - tail):
            link = path_links[step]
            if bytes_left[link] > most or (bytes_left[link] == most and num_flows[link] > crowd):
                most, crowd = bytes_left[link], num_flows[link]
            if is_up:
                busiest = max(busiest, used[link] / network.capacity[link])
        largest, slowest = expect_on_path(path, network, ratio, rate)
        at = write_path(
            rules,
            observation,
            at,
            present=1.0,
            live=is_up,
            bytes_left=most,
            num_flows=crowd,
            utilisation=min(busiest, 1.0),
            expansion_ratio=largest if is_up else np.inf,
            expected_rate=min(slowest / rules.line_rate, 1.0) if is_up else 0.0,
        )
        for role in range(NUM_ROLES):
            hop = role if 2 * role < num_own else role + num_own - NUM_ROLES
            flows = left = expected = live = 0.0
            if hop == role or 2 * hop >= num_own:
                link = path_links[begin + 1 + hop]
                flows, left, expected = num_flows[link], bytes_left[link], min(rate[link] / rules.line_rate, 1.0)
                live = 1.0 if network.capacity[link] > 0.0 else 0.0
            at = write_link(rules, observation, at, flows=flows, bytes=left, rate=expected, live=live)
        if rules.shows_forecast:
            own, total = alone[path - first], together[path - first]
            at = write_forecast(rules, observation, at, own_slowdown=own, total_slowdown=total)
