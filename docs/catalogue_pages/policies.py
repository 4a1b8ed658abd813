"""Pages of the heuristic policies: one for each name."""

import inspect
from pathlib import Path

from docs.catalogue_pages.environments import EXAMPLES, file_name
from docs.catalogue_pages.markdown import code, list_page, prose, section_entries, table, write_page
from docs.catalogue_pages.scores import scores_of_policy
from flowsched_gym.registration import SYSTEMS, load_target
from flowsched_gym.systems import EnvironmentSpec, PolicySpec

__all__ = ["write_policies"]


def write_policies(folder: Path) -> None:
    """Writes a page for each name of a policy, and their list."""
    found: dict[str, list[tuple[EnvironmentSpec, PolicySpec]]] = {}
    for system in SYSTEMS:
        for environment in system.environments:
            for policy in environment.policies:
                found.setdefault(policy.name, []).append((environment, policy))
    entries = []
    for name, owners in sorted(found.items()):
        write_page(folder / f"{name}.md", _page(name, owners))
        where = ", ".join(environment.id.removeprefix("flowsched/") for environment, _ in owners)
        entries.append((name, name, f"{owners[0][1].description} ({where})"))
    text = (
        "A policy acts through an environment, from its observation alone, by the `predict` of Stable-Baselines3: "
        "heuristics and trained agents are played by the same commands. These are the heuristics; "
        "[baselines](../../../baselines/README.md) has the learning agents."
    )
    write_page(folder / "index.md", list_page("Policies", text, entries))


def _page(name: str, owners: list[tuple[EnvironmentSpec, PolicySpec]]) -> str:
    parts = [f"# {name}\n"]
    rows = [
        (
            f"[`{environment.id}`](../environments/{file_name(environment.id)}.md)",
            policy.description,
            code(policy.target),
        )
        for environment, policy in owners
    ]
    parts.append(table(("environment", "what it does", "class"), rows))
    for target in dict.fromkeys(policy.target for _, policy in owners):
        kind = load_target(target)
        parts.append(f"## {kind.__name__}\n\n{prose(kind)}\n")
        needs = getattr(kind, "needs", ())
        if needs:
            parts.append(f"Columns of the observation that it needs: {', '.join(map(code, needs))}.\n")
        described = section_entries(kind, "Args")
        own = [name for name in inspect.signature(kind).parameters if name not in ("layout", "seed")]
        if rows := [(code(name), described[name]) for name in own if name in described]:
            parts.append(table(("argument", "meaning"), rows))
    options = {key: text for _, policy in owners for key, text in policy.options.items()}
    if options:
        rows = [(code(key), text) for key, text in options.items()]
        parts.append(f"Options, as in `{name}:key=value,key=value`:\n\n{table(('option', 'meaning, default'), rows)}")
    environment = owners[0][0]
    example = EXAMPLES.get(environment.id)
    arguments = {**(example.arguments if example else {}), **owners[0][1].requires}
    kwargs = "".join(f" --kwarg {key}={value}" for key, value in arguments.items())
    parts.append(f"## How to play it\n\n```console\nflowsched evaluate {environment.id} --policy {name}{kwargs}\n```\n")
    scores = [(environment.id, scores_of_policy(environment.id, name)) for environment, _ in owners]
    if shown := [f"### {env_id}\n\n{text}" for env_id, text in scores if text]:
        parts.append("## Scores\n\nFrom the [leaderboard](../../../benchmarks/README.md).\n\n" + "\n".join(shown))
    return "\n".join(parts)
