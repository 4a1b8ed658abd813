"""The columns that an agent sees that orders the flows of tasks; ``decision.TaskRules.observe`` fills them."""

from flowsched_gym.envs.columns import Column, Encoding, Layout
from flowsched_gym.systems.tafe.tasks.config import Information, TAFETasksConfig
from flowsched_gym.systems.tafe.tasks.rules import TASK_SCALE


def _squashed(name: str, meaning: str, unit: str, scale: float) -> Column:
    return Column(name=name, meaning=meaning, unit=unit, encoding=Encoding.SQUASHED, scale=scale)


def tasks_layout(config: TAFETasksConfig) -> Layout:
    """Lists the columns that the agent sees.

    Args:
        config: The arguments of the environment.
    """
    f, size, time, waiting = float(config.f), config.size_scale, config.time_scale, config.waiting_scale
    context = (
        Column(
            name="on_cpu",
            meaning="1 if the flows compete for a CPU, 0 if for links",
            unit="1",
            encoding=Encoding.FRACTION,
        ),
        _squashed("competing", "flows that compete, seen or not; f become one half", "flows", f),
        _squashed("active", "flows that run or send, or wait to be served; f become one half", "flows", f),
        _squashed("tasks", "tasks of these flows; f become one half", "tasks", f),
    )
    attained = (
        Column(name="present", meaning="1 if a flow competes in the slot", unit="1", encoding=Encoding.FRACTION),
        _squashed("waiting", "time since the flow was ready", "s", waiting),
        _squashed("attained", "time that what it has had of this stage takes alone", "s", time),
        _squashed("task_time", "time since the first flow of its task was ready", "s", waiting),
        _squashed("task_sent", "bytes that its task has sent", "B", size),
        _squashed("task_active", "flows of its task that are active", "flows", TASK_SCALE),
        _squashed("task_finished", "flows of its task that have finished", "flows", TASK_SCALE),
        Column(
            name="task_slot",
            meaning="first slot with a flow of the same task, over f",
            unit="1",
            encoding=Encoding.FRACTION,
        ),
    )
    full = (
        _squashed("remaining", "time that the rest of this stage takes alone", "s", time),
        _squashed("unsent", "bytes that the flow has still to send", "B", size),
        _squashed("task_left", "bytes that its task has still to send", "B", size),
        _squashed("task_longest", "bytes that the longest flow of its task has still to send", "B", size),
        _squashed("task_cpu_left", "seconds of a whole CPU that its task still needs", "s", time),
    )
    slot = attained if config.information is Information.ATTAINED else (*attained, *full)
    return Layout(context=context, slot=slot, num_slots=config.f)
