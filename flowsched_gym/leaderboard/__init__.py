"""Suites in which policies are compared, the results of policies, and the tables that these make."""

from functools import partial

from flowsched_gym.core.tables import Table
from flowsched_gym.evaluation.written import column_of, format_interval
from flowsched_gym.leaderboard.claims import (
    Claim,
    claims_of,
    learned_table,
    score_line,
    score_of,
    share_line,
    share_of,
    tier_misfit,
    tier_of,
)
from flowsched_gym.leaderboard.comparison import (
    APART,
    ComparedSetting,
    ComparisonRow,
    compare,
    compare_settings,
    comparison_table,
    curves_of,
    metrics_beside,
    reference_of,
    tables_markdown,
)
from flowsched_gym.leaderboard.play import check_names, play, result_path
from flowsched_gym.leaderboard.policy_process import acting
from flowsched_gym.leaderboard.published import published_results, same_as_published, write_published
from flowsched_gym.leaderboard.suite import SUITES, Setting, Suite, group_results, load_suite, read_results
from flowsched_gym.leaderboard.verification import Fresh, Verified, verify

__all__ = [
    "APART",
    "SUITES",
    "Claim",
    "ComparedSetting",
    "ComparisonRow",
    "Fresh",
    "Setting",
    "Suite",
    "Table",
    "Verified",
    "acting",
    "check_names",
    "claims_of",
    "column_of",
    "compare",
    "compare_settings",
    "comparison_table",
    "curves_of",
    "format_interval",
    "group_results",
    "learned_table",
    "load_suite",
    "metrics_beside",
    "play",
    "published_results",
    "read_results",
    "reference_of",
    "result_path",
    "same_as_published",
    "score_line",
    "score_of",
    "share_line",
    "share_of",
    "tables_markdown",
    "tier_misfit",
    "tier_of",
    "verify",
    "write_published",
]
__dir__ = partial(sorted, __all__)
