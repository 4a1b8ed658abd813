"""Scores of policies, from the tables of the leaderboard, which are generated from result files."""

import functools
import re
from pathlib import Path
from typing import Final

from flowsched_gym.leaderboard import APART

__all__ = ["scores_of_environment", "scores_of_policy"]

TABLES: Final = Path(__file__).resolve().parents[2] / "benchmarks" / "tables"
ENVIRONMENT: Final = re.compile(r"^## (flowsched/\S+)$", re.MULTILINE)


@functools.cache
def _tables() -> dict[str, dict[str, list[str]]]:
    """Returns the lines of the tables by environment and setting, without what stands apart."""
    found: dict[str, dict[str, list[str]]] = {}
    for path in sorted(TABLES.glob("*.md")):
        _, *parts = ENVIRONMENT.split(path.read_text(encoding="utf-8"))
        for environment, text in zip(parts[::2], parts[1::2], strict=True):
            settings = re.split(r"^### (.+)$", text, flags=re.MULTILINE)[1:]
            found[environment] = {
                title: [line for line in body.partition(APART)[0].splitlines() if line.startswith("|")]
                for title, body in zip(settings[::2], settings[1::2], strict=True)
            }
    return found


def scores_of_environment(env_id: str, policies: str) -> str:
    """Returns the tables of an environment, or nothing where there are none."""
    parts = []
    for title, lines in _tables().get(env_id, {}).items():
        parts.append(f"### {title}\n\n" + "\n".join(lines) + "\n")
    if not parts:
        return ""
    return (
        "Episodes, intervals and how to play them again are on the page of the "
        "[leaderboard](../../../benchmarks/README.md).\n\n" + "\n".join(parts)
    )


def scores_of_policy(env_id: str, policy: str) -> str:
    """Returns the rows of a policy in the tables of an environment, or nothing where there are none."""
    parts = []
    for title, lines in _tables().get(env_id, {}).items():
        rows = [line for line in lines[2:] if re.match(rf"\| `?{re.escape(policy)}`? \|", line)]
        if rows:
            parts.append(f"{title}:\n\n" + "\n".join([*lines[:2], *rows]) + "\n")
    return "\n".join(parts)
