"""What an agent that orders flows of tasks may do, sees and is rewarded with (TAFE, section IV), for both engines."""

from typing import Final, NamedTuple

import numpy as np

from flowsched_gym.core.arrays import BoolArray, FloatArray, ObservationArray
from flowsched_gym.envs.columns import Column, Layout, scaled, writer
from flowsched_gym.flows.decisions import mask_slots, serve_slot
from flowsched_gym.fluid.decision import Decision
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.systems.tafe.tasks.config import Information, TAFETasksConfig
from flowsched_gym.topology.network import first_cpu_path

TASK_SCALE: Final = 4.0
"""Flows of a task that become one half."""
TERMS: Final = ("unfinished", "tail")
UNFINISHED, TAIL = range(len(TERMS))
FLOW_FIELDS: Final = (
    ("to_first_of_task", "i8"),
    ("to_next_of_task", "i8"),
    ("cpu_time", "f8"),
    ("is_active", "i8"),  # scratch of an observation
    # of the first flow of a task alone:
    ("num_left", "i8"),  # flows that are to be delivered, 0 before one has been seen
    ("ready_time", "f8"),  # of the first flow that is ready
    ("seen_at", "i8"),  # scratch of an observation
)
EPISODE_FIELDS: Final = (
    ("unfinished", "i8"),  # tasks that have begun and have not ended
    ("sum_ready", "f8"),  # sum of when they began
    ("finished", "f8"),  # sum of the task completion times of the others
    ("largest", "f8"),  # largest of these
    ("rewarded", "f8"),  # integral of the number of unfinished tasks, as far as it has been rewarded
)
CONTEST: Final = (
    Column.fraction("on_cpu", "1 if the flows compete for a CPU, 0 if for links"),
    Column.squashed("competing", "flows that compete, seen or not; f become one half", "flows", "num_slots"),
    Column.squashed("active", "flows that run or send, or wait to be served; f become one half", "flows", "num_slots"),
    Column.squashed("tasks", "tasks of these flows; f become one half", "tasks", "num_slots"),
)
ATTAINED: Final = (
    Column.fraction("present", "1 if a flow competes in the slot"),
    Column.squashed("waiting", "time since the flow was ready", "s", "waiting_scale"),
    Column.squashed("attained", "time that what it has had of this stage takes alone", "s", "time_scale"),
    Column.squashed("task_time", "time since the first flow of its task was ready", "s", "waiting_scale"),
    Column.squashed("task_sent", "bytes that its task has sent", "B", "size_scale"),
    Column.squashed("task_active", "flows of its task that are active", "flows", TASK_SCALE),
    Column.squashed("task_finished", "flows of its task that have finished", "flows", TASK_SCALE),
    Column.fraction("task_slot", "first slot with a flow of the same task, over f"),
)
LEFT: Final = (
    Column.squashed("remaining", "time that the rest of this stage takes alone", "s", "time_scale"),
    Column.squashed("unsent", "bytes that the flow has still to send", "B", "size_scale"),
    Column.squashed("task_left", "bytes that its task has still to send", "B", "size_scale"),
    Column.squashed("task_longest", "bytes that the longest flow of its task has still to send", "B", "size_scale"),
    Column.squashed("task_cpu_left", "seconds of a whole CPU that its task still needs", "s", "time_scale"),
)
write_contest, write_attained, write_left = writer(CONTEST), writer(ATTAINED), writer(LEFT)


class TaskRules(NamedTuple):
    """Who goes first; see ``DecisionRules`` for the methods, and ``TAFETasksConfig`` for the scales.

    Attributes:
        num_slots: Flows that the agent sees (f).
        knows_left: Whether it sees what is left of them.
    """

    num_slots: int
    knows_left: bool
    size_scale: float
    time_scale: float
    waiting_scale: float
    reward_scale: float
    tail_weight: float

    def act(self, decision: Decision, action: int) -> tuple[int, int, bool]:
        """Serves a flow first."""
        return serve_slot(decision, action)

    def mask(self, decision: Decision, mask: BoolArray) -> None:
        """Writes which slots hold a flow."""
        mask_slots(decision, self.num_slots, mask)

    def observe(self, decision: Decision, observation: ObservationArray) -> None:
        """Writes the columns of ``tasks_layout``."""
        is_active = decision.flows["is_active"]
        for index in range(decision.first_active, decision.first_active + decision.num_active):
            is_active[decision.active[index]] = 1
        at = _show_contest(self, decision, observation)
        for slot in range(min(self.num_slots, decision.num_candidates)):
            at = _show_flow(self, decision, slot, at, observation)
        observation[at:] = 0.0
        _forget_seen(decision)
        for index in range(decision.first_active, decision.first_active + decision.num_active):
            is_active[decision.active[index]] = 0

    def reward(self, decision: Decision, num_before: int, terms: FloatArray) -> float:
        """Rewards for the time since the last action; ``TAFETasksEnv`` has the terms.

        A task whose only bytes are on their way counts once they have arrived, for all its time.
        """
        n, episodes = decision.number, decision.episodes
        largest = episodes["largest"][n]
        for index in range(decision.first_row + num_before, decision.first_row + decision.num_delivered):
            _finish(decision, decision.delivered[index])
        for index in range(decision.first_active, decision.first_active + decision.num_active):
            _begin_task(decision, decision.active[index])
        total = episodes["finished"][n] + (episodes["unfinished"][n] * decision.now - episodes["sum_ready"][n])
        terms[UNFINISHED] = (episodes["rewarded"][n] - total) / self.reward_scale
        terms[TAIL] = self.tail_weight * (largest - episodes["largest"][n]) / self.reward_scale
        episodes["rewarded"][n] = total
        return float(terms[UNFINISHED] + terms[TAIL])


def tasks_layout(config: TAFETasksConfig) -> Layout:
    """Lists the columns that the agent sees."""
    slot = ATTAINED if config.information is Information.ATTAINED else (*ATTAINED, *LEFT)
    scales = {name: getattr(config, name) for name in ("size_scale", "time_scale", "waiting_scale")}
    context = scaled(CONTEST, {"num_slots": config.f})
    return Layout(context=context, slot=scaled(slot, scales), num_slots=config.f)


@inlined_part
def _task_of(decision: Decision, row: int) -> tuple[float, float, int, int, float, float, float]:
    """Adds up the flows of a flow's task. Active flows have been marked.

    Returns when the first was ready, bytes sent, flows active and finished, bytes left in all and of the longest flow,
    and seconds of a whole CPU that are left.
    """
    flows, state, path = decision.flows, decision.state, decision.controls.path
    cpu_path = first_cpu_path(decision.network)
    begun = decision.now
    sent = left = longest = cpu_left = 0.0
    num_active = num_finished = 0
    member = row + flows["to_first_of_task"][row]
    while True:
        on_cpu = path[member] >= cpu_path
        active = flows["is_active"][member] == 1
        attained = 0.0 if on_cpu else state.attained[member]
        if on_cpu or active or attained > 0.0:
            begun = min(begun, state.arrival_time[member])
        if on_cpu:
            cpu_left += state.remaining[member]
        elif not active and attained == 0.0:
            cpu_left += flows["cpu_time"][member]
        unsent = state.size[member] if on_cpu else state.remaining[member]
        sent += attained
        left += unsent
        longest = max(longest, unsent)
        num_active += active
        num_finished += not np.isnan(decision.completion_time[member])
        step = flows["to_next_of_task"][member]
        if step == 0:
            break
        member += step
    return begun, sent, num_active, num_finished, left, longest, cpu_left


@inlined_part
def _show_contest(rules: TaskRules, decision: Decision, observation: ObservationArray) -> int:
    """Writes the columns that all flows share; returns the index behind them."""
    on_cpu, tasks = False, 0
    if decision.num_candidates > 0:
        row = decision.candidates[decision.first_candidate]
        on_cpu = decision.controls.path[row] >= first_cpu_path(decision.network)
    to_first, seen_at = decision.flows["to_first_of_task"], decision.flows["seen_at"]
    for index in range(decision.first_active, decision.first_active + decision.num_active):
        row = decision.active[index]
        tasks += seen_at[row + to_first[row]] == 0
        seen_at[row + to_first[row]] = 1
    _forget_seen(decision)
    return write_contest(
        rules, observation, 0, on_cpu=on_cpu, competing=decision.num_candidates, active=decision.num_active, tasks=tasks
    )


@inlined_part
def _forget_seen(decision: Decision) -> None:
    """Takes back what has been noted of the tasks of active flows."""
    to_first, seen_at = decision.flows["to_first_of_task"], decision.flows["seen_at"]
    for index in range(decision.first_active, decision.first_active + decision.num_active):
        row = decision.active[index]
        seen_at[row + to_first[row]] = 0


@inlined_part
def _show_flow(rules: TaskRules, decision: Decision, slot: int, at: int, observation: ObservationArray) -> int:
    """Writes the columns of the flow in a slot from an index on; returns the index behind them."""
    row = decision.candidates[decision.first_candidate + slot]
    first = row + decision.flows["to_first_of_task"][row]
    seen_at = decision.flows["seen_at"]
    if seen_at[first] == 0:
        seen_at[first] = slot + 1
    now, state, path, network = decision.now, decision.state, decision.controls.path[row], decision.network
    capacity = np.inf
    for step in range(network.path_start[path], network.path_start[path + 1]):
        capacity = min(capacity, network.capacity[network.path_links[step]])
    begun, sent, num_active, num_finished, left, longest, cpu_left = _task_of(decision, row)
    at = write_attained(
        rules,
        observation,
        at,
        present=1.0,
        waiting=now - state.arrival_time[row],
        attained=state.attained[row] / capacity,
        task_time=now - begun,
        task_sent=sent,
        task_active=num_active,
        task_finished=num_finished,
        task_slot=(seen_at[first] - 1) / rules.num_slots,
    )
    if not rules.knows_left:
        return at
    return write_left(
        rules,
        observation,
        at,
        remaining=state.remaining[row] / capacity,
        unsent=state.size[row] if path >= first_cpu_path(network) else state.remaining[row],
        task_left=left,
        task_longest=longest,
        task_cpu_left=cpu_left,
    )


@inlined_part
def _begin_task(decision: Decision, row: int) -> int:
    """Counts the task of a flow that has begun, if it is the first; returns the row of the task's first flow."""
    flows, episodes, n = decision.flows, decision.episodes, decision.number
    first: int = row + flows["to_first_of_task"][row]
    ready = decision.state.arrival_time[row]
    if flows["num_left"][first] == 0:
        flows["num_left"][first] = 1
        member = first
        while flows["to_next_of_task"][member] > 0:
            flows["num_left"][first] += 1
            member += flows["to_next_of_task"][member]
        flows["ready_time"][first] = ready
        episodes["unfinished"][n] += 1
        episodes["sum_ready"][n] += ready
    elif ready < flows["ready_time"][first]:
        episodes["sum_ready"][n] += ready - flows["ready_time"][first]
        flows["ready_time"][first] = ready
    return first


@inlined_part
def _finish(decision: Decision, row: int) -> None:
    """Counts a flow that has been delivered, and its task where it was the last."""
    flows, episodes, n = decision.flows, decision.episodes, decision.number
    first = _begin_task(decision, row)
    flows["num_left"][first] -= 1
    if flows["num_left"][first] > 0:
        return
    ready = flows["ready_time"][first]
    time = decision.completion_time[row] - ready
    episodes["finished"][n] += time
    episodes["largest"][n] = max(episodes["largest"][n], time)
    episodes["unfinished"][n] -= 1
    episodes["sum_ready"][n] = episodes["sum_ready"][n] - ready if episodes["unfinished"][n] > 0 else 0.0
