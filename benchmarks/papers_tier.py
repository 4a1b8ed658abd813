"""Lays the tier of papers out: each paper's own setting, its own agent or rule, its comparators, ours and the bound.

The settings are a suite of their own, ``papers-v1``, with ten test episodes: a suite never changes, so that nothing
published in ``standard-v3`` has to be played again. They have what the environments can play; a paper's other settings
are in ``benchmarks/paper``. All results lie in one file, ``results/papers-v1.tar.xz``. Who plays again does so into the
folder of that name, which ``python -m benchmarks.leaderboard`` packs::

    flowsched leaderboard run --suite papers-v1 --out benchmarks/results/papers-v1 --env qcluster --policy opt
"""

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.registry_tables import with_part
from flowsched_gym.core.files import write_packed
from flowsched_gym.core.packed import is_folder, packed_file, unpacked
from flowsched_gym.evaluation import BOUND_POLICY, paired_difference
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard import (
    ComparedSetting,
    Table,
    compare_settings,
    group_results,
    load_suite,
    read_results,
)
from flowsched_gym.leaderboard.play import model_digest, models_by_digest
from flowsched_gym.players import kept_agents

SUITE: Final = load_suite("papers-v1")
RESULTS: Final = Path("results") / SUITE.name
PART: Final = "papers"
WHOLE: Final = ("fifo", "edf:queue=whole", "ssdf:queue=whole", "lsdf:queue=whole")


class Roles(NamedTuple):
    """Who stands for what in a setting.

    Attributes:
        title: The paper, and which of its settings.
        own: What the paper proposes: its agent, or its rule where nothing learns.
        others: What it compares that with, as far as it takes actions of the environment.
        ours: The agent that comes with the package, or of ``benchmarks/models``, that was trained nearest to the
            setting; empty where there is none.
    """

    title: str
    own: str
    others: tuple[str, ...]
    ours: str = ""


ROLES: Final = {
    "artemis-variant-1": Roles("Artemis thesis, variant 1", "a2c-thesis", WHOLE, "cmaes"),
    "artemis-variant-2": Roles("Artemis thesis, variant 2", "a2c-thesis", WHOLE, "cmaes"),
    "auto-thresholds": Roles("AuTO, sRLA: thresholds", "srla", ("qlas", "pias"), "ppo"),
    "auto-long-flows": Roles("AuTO, lRLA: long flows", "lrla", ("ecmp",)),
    "auto-both": Roles("AuTO, sRLA trained beside lRLA", "srla", ("qlas", "pias")),
    "merp-order": Roles("MERP: order, tree, load 0.8", "vdg", ("srpt", "fifo"), "cmaes"),
    "merp-route": Roles("MERP: paths, links down", "memr", ("ecmp", "conga"), "cmaes"),
    "qcluster": Roles("QCluster: W4, load 0.6, PDA", "geometric", ("opt", "wst"), "static"),
    "tafe-tasks": Roles("TAFE: order, long tasks", "tafe", ("fifo", "las"), "cmaes"),
    "tafe-thresholds": Roles("TAFE: thresholds, long tasks", "paper", ("tenfold", "thirds"), "static"),
}
"""By the names of the settings."""


@cache
def kept_digests() -> frozenset[str]:
    """Returns the digests of the models that are kept in the repository and in the package."""
    own = (model_digest(each.path) for each in kept_agents().values())
    return frozenset([*models_by_digest(Path(__file__).resolve().parent / "models"), *own])


def comparison(folder: Path) -> list[ComparedSetting]:
    """Compares the results of the tier, in a folder with results; nothing where there are none."""
    results = read_results(folder, kept_digests()) if is_folder(folder) else []
    return compare_settings(group_results(results, list(SUITE.settings.values())))


def table(compared: Sequence[ComparedSetting]) -> str:
    """Lays the tier out, a line for each setting."""
    columns = (
        *("paper and setting", "measure", "its own agent or rule", "best of what it compares with"),
        *("its own minus that", "our agent", "ours minus its own", "bound"),
    )
    return Table(columns=columns, rows=tuple(map(_line, compared))).markdown(numbers=False)


def readme(text: str, compared: Sequence[ComparedSetting]) -> str:
    """Returns the README of the project with its table of the tier made anew."""
    return with_part(text, PART, table(compared))


def pack(folder: Path) -> None:
    """Puts result files of a folder into the file that stands for it, beside those there."""
    if folder.is_dir():
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.json")}
        before = unpacked(folder) if packed_file(folder).is_file() else {}
        write_packed({**before, **files}, folder)
        shutil.rmtree(folder)


def _line(compared: ComparedSetting) -> tuple[str, ...]:
    roles, shown = ROLES[compared.setting.name], compared.column
    best = max(roles.others, key=lambda name: merit(compared.setting.metric, _mean(compared, name)))
    bound = compared.row(BOUND_POLICY)
    return (
        roles.title,
        shown.label,
        _shown(compared, roles.own),
        _shown(compared, best),
        _minus(compared, roles.own, best),
        _shown(compared, roles.ours) if roles.ours else "",
        _minus(compared, roles.ours, roles.own) if roles.ours else "",
        "" if bound is None else shown.write(bound.estimate.mean),
    )


def _mean(compared: ComparedSetting, name: str) -> float:
    return next(row.estimate.mean for row in compared.rows if row.policy == name)


def _shown(compared: ComparedSetting, name: str) -> str:
    row = next(row for row in compared.rows if row.policy == name)
    trainings = f", {row.num_runs} trainings" if row.num_runs > 1 else ""
    return f"{compared.column.write(row.estimate.mean)} `{name}`{trainings}"


def _minus(compared: ComparedSetting, name: str, other: str) -> str:
    ours, theirs = (compared.result(each).counted.samples(compared.setting.metric) for each in (name, other))
    return compared.column.write(paired_difference(ours, theirs), signed=True)
