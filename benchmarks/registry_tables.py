"""Writes the tables of environments and heuristics into their pages: ``python -m benchmarks.registry_tables``."""

from pathlib import Path
from typing import Final

from flowsched_gym.core.files import write_text
from flowsched_gym.leaderboard import Table
from flowsched_gym.registration import ENVIRONMENTS, SYSTEMS

ROOT: Final = Path(__file__).resolve().parents[1]
START: Final = "<!-- generated: {} -->"
END: Final = "<!-- end of generated: {} -->"


def main() -> None:
    """Writes the pages."""
    for path, text in pages().items():
        write_text(text, path)
        print(f"written to {path}")


def pages() -> dict[Path, str]:
    """Returns the pages with tables of the registry, these made anew."""
    tables = {
        "README.md": ("environments", environments_table()),
        "baselines/README.md": ("heuristics", heuristics_table()),
    }
    return {
        ROOT / name: with_part((ROOT / name).read_text(encoding="utf-8"), part, table)
        for name, (part, table) in tables.items()
    }


def with_part(text: str, name: str, content: str) -> str:
    """Returns a page with one of its generated parts replaced."""
    start, end = START.format(name), END.format(name)
    before, _, rest = text.partition(start)
    return f"{before}{start}\n{content}{end}{rest.partition(end)[2]}"


def environments_table() -> str:
    """Lists the environments of the registry."""
    rows = tuple(
        (f"`{environment.id}`", system.name, environment.description)
        for system in SYSTEMS
        for environment in system.environments
    )
    return Table(columns=("id", "system", "the decision"), rows=rows).markdown(numbers=False)


def heuristics_table() -> str:
    """Lists their heuristics and planners."""
    rows = tuple(
        (f"`{policy.name}`", env_id.removeprefix("flowsched/"), policy.description, f"`{policy.target}`")
        for env_id, environment in ENVIRONMENTS.items()
        for policy in environment.named_policies.values()
    )
    return Table(columns=("name", "environment", "what it does", "class"), rows=rows).markdown(numbers=False)


if __name__ == "__main__":
    main()
