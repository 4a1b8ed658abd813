"""The columns that an agent sees that orders the flows of tasks; ``decision.TaskRules.observe`` fills them."""

from flowsched_gym.envs.columns import Column, Layout
from flowsched_gym.systems.tafe.tasks.config import Information, TAFETasksConfig
from flowsched_gym.systems.tafe.tasks.rules import TASK_SCALE


def tasks_layout(config: TAFETasksConfig) -> Layout:
    """Lists the columns that the agent sees.

    Args:
        config: The arguments of the environment.
    """
    f, size, time, waiting = float(config.f), config.size_scale, config.time_scale, config.waiting_scale
    context = (
        Column.fraction("on_cpu", "1 if the flows compete for a CPU, 0 if for links"),
        Column.squashed("competing", "flows that compete, seen or not; f become one half", "flows", f),
        Column.squashed("active", "flows that run or send, or wait to be served; f become one half", "flows", f),
        Column.squashed("tasks", "tasks of these flows; f become one half", "tasks", f),
    )
    attained = (
        Column.fraction("present", "1 if a flow competes in the slot"),
        Column.squashed("waiting", "time since the flow was ready", "s", waiting),
        Column.squashed("attained", "time that what it has had of this stage takes alone", "s", time),
        Column.squashed("task_time", "time since the first flow of its task was ready", "s", waiting),
        Column.squashed("task_sent", "bytes that its task has sent", "B", size),
        Column.squashed("task_active", "flows of its task that are active", "flows", TASK_SCALE),
        Column.squashed("task_finished", "flows of its task that have finished", "flows", TASK_SCALE),
        Column.fraction("task_slot", "first slot with a flow of the same task, over f"),
    )
    full = (
        Column.squashed("remaining", "time that the rest of this stage takes alone", "s", time),
        Column.squashed("unsent", "bytes that the flow has still to send", "B", size),
        Column.squashed("task_left", "bytes that its task has still to send", "B", size),
        Column.squashed("task_longest", "bytes that the longest flow of its task has still to send", "B", size),
        Column.squashed("task_cpu_left", "seconds of a whole CPU that its task still needs", "s", time),
    )
    slot = attained if config.information is Information.ATTAINED else (*attained, *full)
    return Layout(context=context, slot=slot, num_slots=config.f)
