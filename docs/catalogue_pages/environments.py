"""Pages of the environments."""

import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import gymnasium as gym
import numpy as np
from PIL import Image

from docs.catalogue_pages.markdown import code, example, list_page, picture, shown, table, write_page
from docs.catalogue_pages.scores import scores_of_environment
from flowsched_gym.envs.columns import Layout
from flowsched_gym.players import find_player, make_policy
from flowsched_gym.registration import SYSTEMS, load_target
from flowsched_gym.systems import EnvironmentSpec, SystemSpec

__all__ = ["file_name", "write_environments"]


class Example(NamedTuple):
    """A short episode of an environment.

    Attributes:
        arguments: Arguments of the environment.
        policy: A good heuristic.
        metrics: Metrics that are printed at the end.
    """

    arguments: dict[str, Any]
    policy: str
    metrics: tuple[str, ...]


FLOW_METRICS: Final = ("num_flows", "mean_fct", "p99_fct", "mean_slowdown")
EXAMPLES: Final[Mapping[str, Example]] = {
    "flowsched/Artemis-v0": Example(
        {"workload": "gather-heavy", "k": 3, "f": 10, "bursts": 20},
        "feasible-first",
        ("num_flows", "deadlines_met", "mean_fct"),
    ),
    "flowsched/MERPOrder-v0": Example(
        {"workload": "poisson-pareto", "flows": 300}, "vdg", ("num_flows", "mean_slowdown", "max_slowdown")
    ),
    "flowsched/MERPRoute-v0": Example(
        {"workload": "poisson-fat-tree", "flows": 200},
        "memr",
        ("num_flows", "mean_fct", "mean_slowdown", "max_slowdown"),
    ),
    "flowsched/AuTOThresholds-v0": Example({"workload": "auto-web-search", "flows": 2_000}, "qlas", FLOW_METRICS),
    "flowsched/AuTOLongFlows-v0": Example(
        {"workload": "auto-web-search", "flows": 500}, "least-attained", FLOW_METRICS
    ),
    "flowsched/QCluster-v0": Example({"workload": "qcluster-w4", "flows": 200, "load": 0.9}, "adaptive", FLOW_METRICS),
    "flowsched/TAFETasks-v0": Example(
        {"workload": "tafe-log", "tasks": 30}, "stf", ("num_tasks", "mean_tct", "p99_tct")
    ),
    "flowsched/TAFEThresholds-v0": Example(
        {"workload": "tafe-log", "tasks": 50}, "paper", ("num_tasks", "mean_tct", "p99_tct")
    ),
}
"""A short episode of each environment; others are shown with their defaults and first policy."""
SEED: Final = 7
QUICK: Final = "flowsched/Artemis-v0"
"""The environment whose example is run in quick builds too: the others compile more."""
HEADING: Final = re.compile(r"^## (.+)$", re.MULTILINE)
LINKED: Final = {"``docs/workloads.md``": "[workloads](../../workloads.md)"}
TABLE: Final = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def file_name(env_id: str) -> str:
    """Returns the name of the page of an environment, without its extension."""
    return env_id.rpartition("/")[2].rpartition("-")[0].lower()


def write_environments(folder: Path, *, complete: bool) -> None:
    """Writes a page for each environment, and their list."""
    found = [(system, environment) for system in SYSTEMS for environment in system.environments]
    for system, environment in found:
        write_page(folder / f"{file_name(environment.id)}.md", _page(system, environment, folder, complete=complete))
    text = "Each environment has the network, the traffic, the decision and the reward of a published system."
    entries = ((file_name(each.id), each.id, each.description) for _, each in found)
    write_page(folder / "index.md", list_page("All environments", text, entries, order=False))


def _page(system: SystemSpec, spec: EnvironmentSpec, folder: Path, *, complete: bool) -> str:
    kind = load_target(spec.entry_point)
    summary, sections = _sections(kind)
    chosen = EXAMPLES.get(spec.id) or Example({}, spec.policies[0].name, FLOW_METRICS)
    arguments, policy, _ = chosen
    env = gym.make(spec.id, **arguments)
    name = spec.id.removeprefix("flowsched/").partition("-")[0]
    parts = [f"# {name}\n", f'`gym.make("{spec.id}")`\n', f"{summary} {system.title[0].upper()}{system.title[1:]}.\n"]
    if complete:
        parts.append(_frame(spec, arguments, policy, folder))
    parts.append(f"## Description\n\n{sections.pop('Description')}\n")
    parts.append(f"## Example\n\n{_example(spec, chosen, run=complete or spec.id == QUICK)}")
    parts.append(f"## Action Space\n\n{sections.pop('Action Space')}\n")
    parts.append(f"In the example: `{_space(env.action_space)}`.\n")
    layout: Layout = env.unwrapped.layout  # type: ignore[attr-defined]
    parts.append(f"## Observation Space\n\n{_observation(sections.pop('Observation Space'), layout)}\n")
    parts.append(f"In the example: `{_space(env.observation_space)}`.\n")
    argument_text = sections.pop("Arguments")
    reference = sections.pop("Reference")
    history = sections.pop("Version History")
    vectorized = sections.pop("Vectorized environment")
    for title, text in sections.items():
        parts.append(f"## {title}\n\n{text}\n")
    parts.append(f"## Arguments\n\n{argument_text}\n")
    parts.append(
        '\nBesides, `engine` is `"simpy"` or `"compiled"` ([engines](../../engines.md)), and `render_mode` '
        "`None`, or how frames are drawn: " + ", ".join(f'`"{mode}"`' for mode in kind.metadata["render_modes"]) + ".\n"
    )
    parts.append(
        f"## Workloads\n\nTables are made for {_workload_links(spec.workloads)}; any other of the right kind will do.\n"
    )
    rows = [
        (f"[`{each.name}`](../policies/{each.name}.md)", each.description, code(each.target)) for each in spec.policies
    ]
    parts.append(f"## Heuristics\n\n{table(('policy', 'what it does', 'class'), rows)}")
    if scores := scores_of_environment(spec.id, "../policies"):
        parts.append(f"## Reference scores\n\n{scores}")
    parts.append(f"## Vectorized environment\n\n{vectorized}\n")
    parts.append(f"## Version History\n\n{history}\n")
    parts.append(f"## Reference\n\n{reference}\n\nSystem: {system.paper}.\n")
    return "\n".join(parts)


def _workload_links(names: tuple[str, ...]) -> str:
    return ", ".join(f"[`{name}`](../workloads/{name}.md)" for name in names)


def _sections(kind: type) -> tuple[str, dict[str, str]]:
    """Splits the docstring of an environment into its first sentence and its sections."""
    document = inspect.getdoc(kind) or ""
    for text, link in LINKED.items():
        document = document.replace(text, link)
    summary, *rest = HEADING.split(document)
    return summary.strip(), dict(zip(rest[::2], map(str.strip, rest[1::2]), strict=True))


def _observation(text: str, layout: Layout) -> str:
    """Puts the columns of the layout in the place of the table in the docstring, where it has the same columns."""
    match = TABLE.search(text + "\n")
    names = re.findall(r"^\| (\w+) \|", match[0], re.MULTILINE)[1:] if match else []
    if not match or names != [column.name for column in layout.columns]:
        return text
    where = _indices(layout)
    rows = [
        (where[index], code(column.name), column.meaning, column.unit, column.encoding, f"{column.scale:g}")
        for index, column in enumerate(layout.columns)
    ]
    made = table(("index", "column", "meaning", "unit", "encoding", "scale"), rows)
    return f"{text[: match.start()]}{made}{(text + chr(10))[match.end() :]}".rstrip()


def _indices(layout: Layout) -> list[str]:
    """Returns where each column stands in the observation: one index, or a formula of the slot or row i."""
    where = [str(index) for index in range(layout.num_context)]
    start = layout.num_context
    for count, columns in ((layout.num_slots, layout.slot), *((rows.count, rows.columns) for rows in layout.rows)):
        width = len(columns)
        where += [f"{start + index} + {width} i" for index in range(width)]
        start += count * width
    return where


def _space(space: gym.Space[Any]) -> str:
    """Returns a space in short: its type, bounds and shape."""
    if isinstance(space, gym.spaces.Box):
        return f"Box({space.low.min():g}, {space.high.max():g}, {space.shape}, {space.dtype})"
    if isinstance(space, gym.spaces.MultiDiscrete):
        values, repeats = np.unique(space.nvec, return_counts=True)
        several = ", ".join(f"{repeat} times {value}" for value, repeat in zip(values, repeats, strict=True))
        return f"MultiDiscrete of {len(space.nvec)} numbers: {several} choices"
    return str(space)


def _example(spec: EnvironmentSpec, chosen: Example, *, run: bool) -> str:
    arguments, policy, metrics = chosen
    given = "".join(f", {name}={shown(value)}" for name, value in arguments.items())
    for name, value in find_player(policy, spec).arguments({}).items():
        if name not in arguments and _default(spec, name) != value:
            given += f", {name}={shown(value)}"
    return f"The heuristic [`{policy}`](../policies/{policy}.md) plays a short episode:\n\n" + example(
        f"""
        import gymnasium as gym

        import flowsched_gym  # registers the environments
        from flowsched_gym.players import make_policy

        env = gym.make("{spec.id}"{given})
        policy = make_policy("{policy}", env)
        observation, info = env.reset(seed={SEED})
        steps, rewards, over = 0, 0.0, False
        while not over:
            action, _ = policy.predict(observation)
            observation, reward, terminated, truncated, info = env.step(action)
            steps, rewards, over = steps + 1, rewards + reward, terminated or truncated
        print(f"{{steps}} decisions, sum of rewards {{rewards:.2f}}")
        for name in {shown(metrics)}:
            print(f"{{name}} {{info['episode_metrics'][name]:.4g}}")
    """,
        run=run,
    )


def _default(spec: EnvironmentSpec, name: str) -> object:
    return inspect.signature(load_target(spec.entry_point)).parameters[name].default


def _frame(spec: EnvironmentSpec, arguments: Mapping[str, Any], policy_name: str, folder: Path) -> str:
    """Writes the frame in the middle of the episode of the example, beside the page."""
    name = file_name(spec.id)
    env = gym.make(spec.id, render_mode="rgb_array", **find_player(policy_name, spec).arguments(arguments))
    policy = make_policy(policy_name, env)
    base: Any = env.unwrapped
    observation, _ = env.reset(seed=SEED)
    finished, over, num_flows = 0, False, base.workload.num_flows
    while not over and 2 * finished < num_flows:
        action, _ = policy.predict(observation)
        observation, _, terminated, truncated, info = env.step(action)
        finished, over = finished + len(info["finished"]), terminated or truncated
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(env.render())).save(folder / f"{name}.png", optimize=True)
    return picture(f"{name}.png", f"A frame of {name} in the middle of an episode under {policy_name}")
