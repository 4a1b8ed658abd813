"""Episodes with seeds that nobody knew: how their seeds are drawn, what a claim is worth in them, where they are kept.

Whoever knows the seeds of episodes can look up what is hidden in them. So a claim is tested in episodes whose seeds are
drawn when it is tested. The policy plays them, and the best rule of the setting does; if the claim is true, the
differences in the suite's episodes and in these come from one distribution, and any of them could have been among the
others: a permutation test, which accuses at most one honest policy in a hundred, however differences are distributed.

What a policy and a rule did in such episodes is kept as two result files beside that of the row. The row is then
*verified*; no file proves who drew the seeds, so a mark is worth as much as whoever made it.
"""

import math
import secrets
from pathlib import Path
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.packed import is_file
from flowsched_gym.core.seeding import SeedStreams
from flowsched_gym.evaluation import EvaluationResult, read_result, write_result
from flowsched_gym.evaluation.result_checks import LARGEST_SEED
from flowsched_gym.evaluation.results import SecretSeeds

FOLDER: Final = "secret-seeds"
POLICY_FILE, RULE_FILE = "policy.json", "rule.json"
LEVEL: Final = 0.01
"""Share of honest claims that are said not to hold, at most."""
NUM_PERMUTATIONS: Final = 9_999


def secret_block(taken: tuple[range, ...], count: int) -> range:
    """Draws seeds in a row from all that there are, save those that are taken; each block is as probable as another."""
    begins = [0, *sorted(each.stop for each in taken)]
    ends = [*sorted(each.start for each in taken), LARGEST_SEED + 1]
    blocks = [range(begin, end - count + 1) for begin, end in zip(begins, ends, strict=True) if end - begin >= count]
    if not blocks:
        raise ConfigError(f"the suite leaves no {count} seeds in a row free: no other episodes can be played")
    place = secrets.randbelow(sum(block.stop - block.start for block in blocks))
    for block in blocks:
        if place < block.stop - block.start:
            break
        place -= block.stop - block.start
    return range(block.start + place, block.start + place + count)


def secret_seeds(taken: tuple[range, ...], count: int) -> list[int]:
    """Draws seeds one by one, so that one which is found out tells nothing of the others."""
    drawn: dict[int, None] = {}
    while len(drawn) < count:
        drawn[secret_block(taken, 1).start] = None
    return list(drawn)


def probability_of_claim(claimed: FloatArray, found: FloatArray) -> float | None:
    """Returns how probable means as far apart are if both samples come from one distribution, by permutations.

    ``None`` of so few values that no outcome would be improbable.
    """
    both, count = np.concatenate([claimed, found]), len(found)
    if not len(claimed) or math.comb(len(both), count) * LEVEL < 1:
        return None
    drawn = SeedStreams(0)["permutations"].permuted(np.tile(both, (NUM_PERMUTATIONS, 1)), axis=1)
    means = drawn[:, :count].mean(axis=1)
    others = drawn[:, count:].mean(axis=1)
    observed, rounding = abs(found.mean() - claimed.mean()), 1e-9 * np.abs(both).max()
    return float((1 + np.sum(np.abs(means - others) >= observed - rounding)) / (1 + NUM_PERMUTATIONS))


def paired(policy: EvaluationResult, rule: EvaluationResult, metric: str) -> FloatArray:
    """Returns the policy's metric minus the rule's in each episode in which both are known, (num_episodes,)."""
    differences: FloatArray = policy.values(metric) - rule.values(metric)
    return differences[~np.isnan(differences)]


def keep(path: Path, policy: EvaluationResult, rule: EvaluationResult) -> Path:
    """Keeps episodes on secret seeds beside the result file of a row; returns their folder."""
    folder = path.parent / FOLDER / path.stem
    write_result(rule, folder / RULE_FILE)
    write_result(policy, folder / POLICY_FILE)
    return folder


def kept(path: Path, row: EvaluationResult) -> tuple[EvaluationResult, EvaluationResult] | None:
    """Reads the policy's and the rule's episodes that are kept beside a row; ``None`` where they are of another row.

    Raises:
        ConfigError: A file is no result, or both are not of the same episodes on other seeds than the row's.
    """
    folder = path.parent / FOLDER / path.stem
    if not is_file(folder / POLICY_FILE):
        return None
    policy, rule = read_result(folder / POLICY_FILE), read_result(folder / RULE_FILE)
    if identity(policy) != identity(row):
        return None
    if rule.reference != row.reference or policy.seeds != rule.seeds or set(policy.seeds) & set(row.seeds):
        raise ConfigError(
            f"{folder}: policy and rule must have played the same episodes of the setting on secret seeds"
        )
    return policy, rule


def mark(path: Path, row: EvaluationResult) -> SecretSeeds | None:
    """Returns the mark of a row whose result file is at a path; ``None`` where there is none."""
    found = kept(path, row)
    if found is None:
        return None
    policy, rule = found
    names = (name for name in policy.metric_names if name in rule.metric_names)
    differences = {name: policy.samples(name) - rule.samples(name) for name in names}
    return SecretSeeds(rule=rule.policy, differences=differences)


def identity(result: EvaluationResult) -> tuple[object, ...]:
    """Returns what tells who played where: results with the same are of one row."""
    models = tuple(run.model.digest for run in result.runs if run.model is not None)
    kwargs = {name: value for name, value in result.kwargs.items() if name != "engine"}
    return result.reference, result.policy, result.source, models, kwargs
