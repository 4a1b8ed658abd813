"""Writes the page, ``index.html``, and reads the learning curves that it draws.

Learning curves, the means of validation episodes while agents were trained, are read from ``curve.csv`` beside models.
"""

import contextlib
import csv
import io
import math
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Final

import numpy as np

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.files import write_text
from flowsched_gym.core.packed import folders_in, is_file, read_bytes
from flowsched_gym.evaluation import Progress
from flowsched_gym.evaluation.learning import KEPT, on_one_grid
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.leaderboard.page.charts import Curve
from flowsched_gym.leaderboard.page.document import page_html
from flowsched_gym.leaderboard.suite import Groups

PAGE_FILE: Final = "index.html"
CURVE_FILE: Final = KEPT
CURVE_COLUMNS: Final = ("seed", "decisions", "metric", "mean")
EPISODE_COLUMNS: Final = ("first_seed", "episodes")
"""Columns that may follow: the episodes whose mean it is, so that a rule can be played in them."""


def write_site(
    groups: Groups,
    folder: Path,
    *,
    suite: str,
    yours: Collection[tuple[str, str]] = (),
    models: Path | None = None,
    with_films: bool = True,
    progress: Progress | None = None,
    home: str | None = None,
) -> Path:
    """Writes the page; returns its path.

    ``models`` has a folder for each setting, in which each agent has a folder with ``curve.csv``. The other arguments
    are those of `page_html`.
    """
    if models is not None and not models.is_dir():
        raise ConfigError(f"--models is {str(models)!r}: there is no such folder")
    learning = {
        setting.name: read_learning_curves(models / setting.name, setting.metric)
        for setting, _ in groups
        if models is not None and setting.name
    }
    how = {"yours": yours, "with_films": with_films, "learning": learning, "progress": progress, "home": home}
    page = page_html(groups, suite=suite, **how)  # type: ignore[arg-type]
    folder.mkdir(parents=True, exist_ok=True)
    write_text(page, folder / PAGE_FILE)
    return folder / PAGE_FILE


def read_learning_curves(models: Path, metric: str) -> list[Curve]:
    """Reads the curves of a setting's agents, a folder each: the median of their trainings, and each of them."""
    curves = []
    for path in filter(is_file, (folder / CURVE_FILE for folder in folders_in(models))):
        trainings: dict[str, dict[float, float]] = defaultdict(dict)
        episodes = set()
        with io.StringIO(read_bytes(path).decode(), newline="") as file:
            rows = csv.DictReader(file)
            heads = rows.fieldnames
            if heads is None or not set(CURVE_COLUMNS) <= set(heads):
                raise ConfigError(f"{path} has the columns {shown(heads)}: it needs {', '.join(CURVE_COLUMNS)}")
            for row in rows:
                if row["metric"] == metric:
                    trainings[row["seed"]][_number(path, row["decisions"])] = _number(path, row["mean"])
                    if set(EPISODE_COLUMNS) <= set(heads):
                        first, count = (int(_number(path, row[name])) for name in EPISODE_COLUMNS)
                        episodes.add(range(first, first + count))
        if not trainings:
            continue
        x, values = on_one_grid(list(trainings.values()))
        values = column_of(metric).scale * values
        played = episodes.pop() if len(episodes) == 1 else None
        median = np.median(values, axis=0)
        curves.append(Curve(name=path.parent.name, x=x, y=median, others=values, episodes=played))
    return curves


def _number(path: Path, text: str | None) -> float:
    with contextlib.suppress(ValueError):
        if math.isfinite(value := float(text or "")):
            return value
    raise ConfigError(f"{path} holds {shown(text)}: decisions and means must be finite numbers")
