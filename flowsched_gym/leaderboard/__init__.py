"""Suites in which policies are compared, the results of policies, and the tables that these make."""

from flowsched_gym.leaderboard.comparison import (
    ComparedSetting,
    ComparisonRow,
    column_of,
    compare,
    compare_settings,
    comparison_table,
    curves_of,
    metrics_beside,
    reference_of,
)
from flowsched_gym.leaderboard.document import leaderboard_markdown, tables_markdown, write_leaderboard
from flowsched_gym.leaderboard.play import Entrant, entrants_of, play, result_path
from flowsched_gym.leaderboard.policy_process import played_apart
from flowsched_gym.leaderboard.published import published_results, same_as_published, write_published
from flowsched_gym.leaderboard.suite import SUITES, Setting, Suite, group_results, load_suite, read_results
from flowsched_gym.leaderboard.table import Table, format_interval
from flowsched_gym.leaderboard.verification import Fresh, Verified, verify

__all__ = [
    "SUITES",
    "ComparedSetting",
    "ComparisonRow",
    "Entrant",
    "Fresh",
    "Setting",
    "Suite",
    "Table",
    "Verified",
    "column_of",
    "compare",
    "compare_settings",
    "comparison_table",
    "curves_of",
    "entrants_of",
    "format_interval",
    "group_results",
    "leaderboard_markdown",
    "load_suite",
    "metrics_beside",
    "play",
    "played_apart",
    "published_results",
    "read_results",
    "reference_of",
    "result_path",
    "same_as_published",
    "tables_markdown",
    "verify",
    "write_leaderboard",
    "write_published",
]
