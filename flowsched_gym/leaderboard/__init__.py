"""Turns result files into tables."""

from flowsched_gym.leaderboard.comparison import ComparisonRow, compare, comparison_table
from flowsched_gym.leaderboard.document import (
    FIRST_SEED,
    NUM_EPISODES,
    leaderboard_markdown,
    play_settings,
    speed_table,
    write_leaderboard,
)
from flowsched_gym.leaderboard.settings import VIEW_ARGUMENTS, Setting, group_results, read_results, settings
from flowsched_gym.leaderboard.table import Table, format_interval

__all__ = [
    "FIRST_SEED",
    "NUM_EPISODES",
    "VIEW_ARGUMENTS",
    "ComparisonRow",
    "Setting",
    "Table",
    "compare",
    "comparison_table",
    "format_interval",
    "group_results",
    "leaderboard_markdown",
    "play_settings",
    "read_results",
    "settings",
    "speed_table",
    "write_leaderboard",
]
