"""The statements of all papers with the runs that stand for each, and the one writer of tables and pages.

``statements.csv`` has the statements, ``texts/`` the prose of each page, with a field in braces for each table.
"""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.paper.merp import Runs
from flowsched_gym.evaluation import Interval, bootstrap_interval, paired_difference, paired_ratio
from flowsched_gym.leaderboard import Table, format_interval

HERE: Final = Path(__file__).resolve().parent
STATEMENTS: Final = HERE / "statements.csv"
TEXTS: Final = HERE / "texts"
PART: Final = "=== "
"""Begins the line that names a part of a text, which is written as often as there is something to fill in."""
MS: Final = 1000.0
EACH: Final = "each"
"""Stands for all points of a study: the least and the largest."""


class Row(NamedTuple):
    """A row of a table: its first cells, the runs, their point, and metric and scheme where the columns have none."""

    texts: tuple[str, ...]
    runs: Runs
    point: str
    metric: str = ""
    scheme: str = ""


class Column(NamedTuple):
    """A column: its heading; of two schemes the change in % from the second to the first, of one the mean, scaled.

    An empty name is the row's scheme. A mean has its interval where that is asked for.
    """

    heading: str
    schemes: tuple[str, ...] = ("",)
    metric: str = ""
    scale: float = 1.0
    digits: int = 1
    interval: bool = False


class Statement(NamedTuple):
    """A row of ``statements.csv``: what a paper states, where, its number, how we differ, and the runs beside it.

    The study is empty where nothing was run, the point where each column has its own. Two schemes are compared in %, or
    where there is a ``scale`` by their difference, multiplied by it; so is the mean of one.
    """

    place: str
    statement: str
    number: str
    differs: str
    study: str
    point: str
    metric: str
    schemes: tuple[str, ...]
    scale: str
    digits: str


Here = Callable[[Statement, str], str]
"""Writes what comes out here for a statement in one of the last columns."""


def change(runs: Runs, point: str, metric: str, schemes: Sequence[str]) -> Interval:
    """Returns the relative change of a metric from the second of two schemes to the first, paired by seeds."""
    first, second = (runs[point][scheme][metric] for scheme in schemes)
    ratio = paired_ratio(first, second)
    return replace(ratio, mean=ratio.mean - 1, low=ratio.low - 1, high=ratio.high - 1)


def mean(runs: Runs, point: str, scheme: str, metric: str) -> Interval:
    """Returns the mean of a metric over the seeds."""
    return bootstrap_interval(runs[point][scheme][metric])


def in_percent(interval: Interval, digits: int = 0) -> str:
    """Writes a change in percent."""
    return format_interval(interval, scale=100, digits=digits, signed=True)


def shown(row: Row, column: Column) -> str:
    """Writes a cell; nothing where a scheme would be compared with itself."""
    metric, names = column.metric or row.metric, [name or row.scheme for name in column.schemes]
    if len(names) > 1:
        return "" if len({*names}) == 1 else in_percent(change(row.runs, row.point, metric, names), column.digits)
    found = mean(row.runs, row.point, names[0], metric)
    if column.interval:
        return format_interval(found, scale=column.scale, digits=column.digits)
    return f"{found.mean * column.scale:.{column.digits}f}"


def table(heads: str | tuple[str, ...], rows: Iterable[Row], columns: Sequence[Column]) -> Table:
    """Lays runs out."""
    cells = tuple((*row.texts, *(shown(row, column) for column in columns)) for row in rows)
    first = (heads,) if isinstance(heads, str) else heads
    return Table(columns=(*first, *(column.heading for column in columns)), rows=cells)


def points(runs: Runs) -> list[Row]:
    """Returns a row for each point of a study."""
    return [Row((point,), runs, point) for point in runs]


def columns_of(title: str, metric: str, scale: float, schemes: Sequence[str]) -> list[Column]:
    """Returns a column for each scheme, and one for the change from the second to the first."""
    found = [Column(name, (name,), metric, scale) for name in schemes]
    found[0] = found[0]._replace(heading=f"{title}: {schemes[0]}")
    return [*found, Column("change, %", (*schemes[:2],), metric, digits=0)]


def read_statements(paper: str) -> list[Statement]:
    """Reads those of a paper, or of a part of it."""
    with STATEMENTS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row[0] == paper]
    return [Statement._make((*row[1:8], tuple(row[8].split("; ")), *row[9:])) for row in rows]


def at_points(studies: Mapping[str, Runs], modes: Sequence[str] = ("here",), *, digits: int = 0) -> Here:
    """Looks statements up in studies: at their points, or at each of some modes."""

    def here(each: Statement, mode: str) -> str:
        runs, point = studies.get(each.study.replace("*", mode), {}), each.point or mode
        if each.point and "*" not in each.study and mode != modes[0]:
            return ""
        if point == EACH:
            found = [100 * change(runs, name, each.metric, each.schemes).mean for name in runs]
            return f"{min(found):+.0f} to {max(found):+.0f} %"
        if point not in runs:
            return "" if runs else "not run"
        if len(each.schemes) > 1 and each.scale:
            pair = (runs[point][name][each.metric] for name in each.schemes)
            return format_interval(paired_difference(*pair), scale=float(each.scale), signed=True)
        column = Column("", each.schemes, each.metric, float(each.scale or 1), int(each.digits or 1))
        if len(each.schemes) == 1:
            return shown(Row((), runs, point), column)
        return shown(Row((), runs, point), column._replace(digits=digits)) + ("" if digits else " %")

    return here


def statements_table(paper: str, here: Here, modes: Sequence[str] = ("here",)) -> str:
    """Sets the statements of a paper beside what comes out here."""
    rows = tuple((*each[:4], *(here(each, mode) for mode in modes)) for each in read_statements(paper))
    columns = ("place", "statement", "paper", "what we ran differently", *modes)
    return Table(columns=columns, rows=rows).markdown(numbers=False)


def page(name: str, part: str = "", **values: str | float | Table) -> str:
    """Fills in the text of a page, or a part of it, which ends with one line feed."""
    parts = (TEXTS / f"{name}.txt").read_text(encoding="utf-8").split(f"\n{PART}")
    found = {"": parts[0]} | {title: text for title, _, text in (each.partition("\n") for each in parts[1:])}
    filled = {key: value.markdown() if isinstance(value, Table) else value for key, value in values.items()}
    return f"{found[part].rstrip().format(**filled).rstrip()}\n"
