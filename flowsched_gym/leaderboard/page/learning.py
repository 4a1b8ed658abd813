"""Learning curves: the means of validation episodes while agents were trained, from ``curve.csv`` beside models."""

import csv
import math
from collections import defaultdict
from pathlib import Path
from typing import Final

import numpy as np

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.leaderboard.comparison import column_of
from flowsched_gym.leaderboard.page.charts import Curve

CURVE_FILE: Final = "curve.csv"
COLUMNS: Final = ("seed", "decisions", "metric", "mean")
MIN_SEEDS: Final = 2


def read_learning_curves(models: Path, metric: str) -> list[Curve]:
    """Reads the curves of a setting's agents: the mean over training seeds, and the range of the seeds as a band.

    Args:
        models: Folder of the setting, with a folder for each agent.
        metric: Metric of the setting; rows of others are left out.

    Raises:
        ConfigError: A file is no such table.
        OSError: A file cannot be read.
    """
    curves = []
    for path in sorted(models.glob(f"*/{CURVE_FILE}")):
        by_decisions: dict[float, dict[str, float]] = defaultdict(dict)
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            if rows.fieldnames is None or not set(COLUMNS) <= set(rows.fieldnames):
                raise ConfigError(f"{path} has the columns {shown(rows.fieldnames)}: it needs {', '.join(COLUMNS)}")
            for row in rows:
                if row["metric"] == metric:
                    by_decisions[_number(path, row["decisions"])][row["seed"]] = _number(path, row["mean"])
        seeds = {seed for means in by_decisions.values() for seed in means}
        # Where a training ended sooner than the others, the mean would jump.
        complete = sorted(at for at, means in by_decisions.items() if len(means) == len(seeds))
        if not complete:
            continue
        scale = column_of(metric).scale
        values = scale * np.array([list(by_decisions[at].values()) for at in complete])
        several = len(seeds) >= MIN_SEEDS
        curves.append(
            Curve(
                name=path.parent.name,
                learned=True,
                x=np.array(complete),
                y=values.mean(axis=1),
                low=values.min(axis=1) if several else np.full(len(values), np.nan),
                high=values.max(axis=1) if several else np.full(len(values), np.nan),
            )
        )
    return curves


def _number(path: Path, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{path} holds {shown(text)}: decisions and means must be finite numbers")
    return value
