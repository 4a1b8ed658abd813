"""Pages of the disciplines and of the schedulers of packets."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import flowsched_gym
from docs.catalogue_pages.facts import DISCIPLINE_FACTS, SCHEDULER_FACTS, Facts
from docs.catalogue_pages.figures import draw_packets, draw_rates
from docs.catalogue_pages.markdown import (
    arguments_table,
    code,
    example,
    first_sentence,
    list_page,
    picture,
    prose,
    shown,
    table,
    write_page,
)
from flowsched_gym.fluid.disciplines import DISCIPLINES
from flowsched_gym.packets.schedulers import SCHEDULERS

__all__ = ["write_disciplines", "write_schedulers"]

FLOWS: Final = {
    "flow_id": [0, 1, 2, 3, 4],
    "source": [0, 1, 2, 3, 4],
    "destination": [5, 5, 5, 5, 5],
    "size_bytes": [3_000_000, 1_000_000, 2_000_000, 500_000, 1_000_000],
    "arrival_s": [0.0, 0.004, 0.008, 0.014, 0.022],
    "deadline_s": [0.050, 0.030, 0.020, 0.012, 0.040],
}
"""Five flows that meet at a link of 1 Gbps."""
TASKS: Final = {**FLOWS, "task_id": [0, 0, 1, 1, 2], "arrival_s": [0.0, 0.0, 0.004, 0.004, 0.012]}
"""The same flows as three tasks."""
OF_TASKS: Final = ("tafe", "fifo-lm", "task-las", "stf", "sebf")
PARAMETERS: Final[Mapping[str, dict[str, Any]]] = {
    "mlfq": {"thresholds": [500_000, 1_500_000]},
    "qsjf": {"thresholds": [500_000, 1_500_000]},
    "wfq": {"queue": [0, 1, 0, 1, 0], "weights": [3, 1]},
    "tafe": {"thresholds": [1_000_000, 3_000_000]},
    "fifo-lm": {"heavy": 2_000_000},
}
PACKETS: Final = {
    "flow_id": [0, 0, 0, 1, 0, 1, 2, 0, 2],
    "size_bytes": [1500] * 9,
    "arrival_s": [0.0, 0.0, 0.0, 0.000002, 0.000004, 0.000006, 0.000006, 0.000008, 0.00002],
}
"""Nine packets of three flows that meet at a port of 1 Gbps."""
PACKET_PARAMETERS: Final[Mapping[str, dict[str, Any]]] = {
    "pias": {"thresholds": [1500, 4500]},
    "ranked": {"ranks": [2, 1, 0]},
    "tagged": {"tags": [1, 1, 1, 0, 1, 0, 0, 1, 0], "queues": 2},
    "qcluster": {"queues": 4},
    "afq": {"queues": 8, "weights": [1500]},
}


def write_disciplines(folder: Path, *, complete: bool) -> None:
    """Writes a page for each discipline, and their list."""
    for name, kind in DISCIPLINES.items():
        tasks = name in OF_TASKS
        flows, parameters = (TASKS if tasks else FLOWS), PARAMETERS.get(name, {})
        given = f",\n    parameters={shown(parameters)}," if parameters else ","
        lines = [f"flows = {{\n{_columns(flows)}}}", "records = flowsched_gym.replay("]
        lines += [f'    flows,\n    discipline="{name}"{given}\n)']
        lines += ['print("completed at", [f"{1000 * time:.1f} ms" for time in records.completion_time])']
        lines += ['print("deadlines met", records.deadline_met.tolist())']
        parts = [f"# {name}\n", prose(kind) + "\n", _facts(DISCIPLINE_FACTS[name])]
        parts.append(_parameters(kind))
        parts.append("## Example\n")
        if complete:
            draw_rates(flowsched_gym.workload.workload_from_columns(flows), name, parameters, folder / f"{name}.png")
            what = "Three tasks (one colour each)" if tasks else "Five flows"
            note = (
                "A bar is as high as the flow's share of the link; the thin line goes from arrival to completion, "
                "and the tick is the deadline, red where it is missed."
            )
            parts.append(picture(f"{name}.png", f"{what} on one link under {name}") + f"\n{note}\n")
        parts.append(example("\n".join(["import flowsched_gym\n", *lines])))
        parts.append(
            f"From the shell: `flowsched replay flows.csv --discipline {name}{_options(parameters)} --out "
            "records.csv`.\n"
        )
        parts.append(f"In Python: {code(f'flowsched_gym.fluid.disciplines.{kind.__name__}')}.\n")
        write_page(folder / f"{name}.md", "\n".join(parts))
    text = (
        "A discipline acts inside the simulation: at every event it decides which flows send and how fast. It needs no "
        "environment and no agent, so it gives references and bounds."
    )
    write_page(
        folder / "index.md",
        list_page("Disciplines", text, ((name, name, first_sentence(kind)) for name, kind in DISCIPLINES.items())),
    )


def write_schedulers(folder: Path, *, complete: bool) -> None:
    """Writes a page for each scheduler of packets, and their list."""
    for name, kind in SCHEDULERS.items():
        parameters = PACKET_PARAMETERS.get(name, {})
        parts = [f"# {name}\n", prose(kind) + "\n", _facts(SCHEDULER_FACTS[name])]
        parts.append(_parameters(kind))
        parts.append("## Example\n")
        if complete and name != "pfabric-edf":
            draw_packets(PACKETS, name, parameters, folder / f"{name}.png")
            note = "Thin line: the packet waits; block: it is sent. Packets stand in the order of arrival."
            parts.append(picture(f"{name}.png", f"Nine packets of three flows at a port under {name}") + f"\n{note}\n")
        given = f",\n    parameters={shown(parameters)}," if parameters else ","
        if name == "pfabric-edf":
            source = f"""import flowsched_gym

flows = {{
{_columns(FLOWS)}}}
records = flowsched_gym.replay_packets(flows, scheduler="pfabric-edf")
print("deadlines met", records.deadline_met.tolist())"""
        else:
            source = f"""import flowsched_gym

packets = {{
{_columns(PACKETS)}}}
trace = flowsched_gym.serve_packets(
    packets,
    scheduler="{name}"{given}
)
print("flow ", trace.flow_id.tolist())
print("queue", trace.queue.tolist())
print("ends ", [f"{{1e6 * time:.0f}} us" for time in trace.departure_time])"""
        parts.append(example(source))
        parts.append(
            f"In Python: {code(f'flowsched_gym.packets.schedulers.{kind.__name__}')}. More: "
            "[packets at a port](../../packets.md).\n"
        )
        write_page(folder / f"{name}.md", "\n".join(parts))
    text = "A scheduler chooses, at a port, the queue that a packet enters and the packet that is sent next."
    write_page(
        folder / "index.md",
        list_page(
            "Schedulers of packets", text, ((name, name, first_sentence(kind)) for name, kind in SCHEDULERS.items())
        ),
    )


def _facts(facts: Facts) -> str:
    rows = [("rule", facts.rule), ("must know", facts.knows), ("interrupts", facts.preempts), ("source", facts.source)]
    return table(("", ""), rows)


def _parameters(kind: type) -> str:
    arguments = arguments_table(kind)
    return f"## Parameters\n\n{arguments}" if arguments else "It has no parameters.\n"


def _columns(columns: Mapping[str, list[Any]]) -> str:
    return "".join(f'    "{name}": {values},\n' for name, values in columns.items())


def _options(parameters: Mapping[str, Any]) -> str:
    def plain(value: Any) -> str:
        return ",".join(map(str, value)) if isinstance(value, list) else str(value)

    return "".join(f" --param {name}={plain(value)}" for name, value in parameters.items())
