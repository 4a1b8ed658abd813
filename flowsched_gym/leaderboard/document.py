"""Tables of the settings of a leaderboard in Markdown, generated from result files alone."""

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from flowsched_gym.leaderboard.comparison import ComparedSetting, comparison_table
from flowsched_gym.leaderboard.table import escaped

APART: Final = "With more actions or information"
"""Stands above the rows of what the agents of a setting cannot be compared with."""


def tables_markdown(settings: Sequence[ComparedSetting]) -> str:
    """Returns a table for each setting, under headings of settings and environments.

    What stands apart, with actions or information that the agents of a setting do not have, has a table of its own.
    """
    parts = []
    for environment, group in groupby(settings, key=lambda each: each.setting.spec.id):
        parts.append(f"\n## {environment}\n")
        for compared in group:
            setting = compared.setting
            heading = ": ".join(escaped(name) for name in (setting.name, setting.title) if name)
            parts.append(f"\n### {heading}\n")
            if setting.ability is not None:
                named = "Tier: {}. Actions: {}. Information: {}. Score 1: {}."
                parts.append(f"\n{named.format(setting.tier, *setting.ability.words, escaped(setting.reference))}\n")
            ranked = [row for row in compared.rows if not row.apart]
            apart = [row for row in compared.rows if row.apart]
            for words, rows in (("", ranked), (f"\n{APART}:\n", apart)):
                if rows:
                    table = comparison_table(compared.results, metric=setting.metric, rows=rows)
                    parts.append(f"{words}\n{table.markdown()}")
    return "".join(parts)
