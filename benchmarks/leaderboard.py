"""Writes the published leaderboard from its result files: ``python -m benchmarks.leaderboard``.

It writes the page beside this file, its pictures, a page of tables for each system, the line about the score in
the README of the project, and the published results in the wheel. The results of the newest suite lie in a folder of
its name below ``results/``, packed into a file for each setting; result files beside these are packed first.
"""

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from benchmarks import papers_tier, score_pictures
from benchmarks.packets import survivors
from benchmarks.registry_tables import with_part
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import read_json, write_packed, write_text
from flowsched_gym.core.packed import packed_file, unpacked
from flowsched_gym.core.tables import code_span, escaped
from flowsched_gym.evaluation import BOUND_POLICY, EvaluationResult
from flowsched_gym.evaluation.results import check_printable
from flowsched_gym.leaderboard import (
    Claim,
    ComparedSetting,
    Table,
    claims_of,
    compare_settings,
    group_results,
    learned_table,
    load_suite,
    read_results,
    score_line,
    share_line,
    tables_markdown,
    tier_of,
    write_published,
)
from flowsched_gym.leaderboard.claims import REASONS, WORSE, gain
from flowsched_gym.leaderboard.secret_seeds import FOLDER as MARKS
from flowsched_gym.leaderboard.suite import CALIBRATION, HEADLINE, SHIFT
from flowsched_gym.registration import SYSTEMS

HERE: Final = Path(__file__).resolve().parent
README: Final = HERE.parent / "README.md"
START, END = "<!-- score -->", "<!-- /score -->"
"""Marks of the line about the score in the README of the project."""
SUITE: Final = load_suite("standard")
RESULTS: Final = Path("results") / SUITE.name
TABLES: Final = "tables"
SPEED: Final = "speed/results.json"
PACKETS: Final = "packets/from_fluid.json"

HEAD: Final = """# Leaderboard

{score}

Each setting of the suite `{suite}` is an environment, its traffic, and what agents may do and know; all policies play
the same {count} test episodes (from `reset(seed={first})` on). The **share of the room** is (agent - best rule) /
(search - best rule). Rules are tuned on training episodes (`flowsched tune-rule`). A **score** is (agent - random) /
(reference - random), over a tier the interquartile mean of all trainings, each setting weighing the same. *Calibration*
settings, where search finds less than 2 % or cannot play, are not counted; *shift* settings have traffic, tokens or
windows of no training. Brackets are 95 % intervals over trainings and episodes (Agarwal et al., NeurIPS 2021). Made by
`python -m benchmarks.leaderboard`.
"""
PICTURES: Final = """
![Scores of all trainings in the headline settings](scores.png)

Dots are trainings, the bar is the best rule, the lines are random, at 0, and the reference, at 1.

![Share of trainings with a score above each value](profile.png)
"""
LEARNED: Final = """
## Learned agents

*Difference* is the agent minus the best rule within the setting's actions and information, in the same episodes; *on
secret seeds*, on seeds drawn when the row was verified (`leaderboard verify --mark`). Other rows are *with models*,
which `leaderboard verify --models models` asks, or *actions only*. Equal trainings are one, *distinct*; *equal to*
names who did the same in all episodes. The verdict is better or worse if the p-value, adjusted for all rows (Holm), is
below 0.05. A training has collapsed if its score is 0.25 below the agent's median, or not above random. References that
were trained are not counted.

"""
LOSSES: Final = """
## Where agents lose, and why

Headline and shift settings; agents with all actions and information that these allow.

"""
PAPERS: Final = """
## The papers' settings

Tier *papers*, suite `papers-v1`: each paper's setting, its agent or rule, and what it compares with, in ten episodes,
not counted above. `a2c-thesis`, `srla` and `lrla` learned as the papers say.

"""
OVER_PACKETS: Final = """
## Packets

"""
FOOT: Final = """
## More

All policies: {tables}. [Speed](tables/speed.md). [Trained agents](models/README.md). [How to add your
policy](../docs/leaderboard.md).
"""
TABLES_HEAD: Final = """# {name}: all policies

For each setting of `{suite}`, in the {count} test episodes from `reset(seed={first})` on, and of the tier *papers*, in
ten of these: means with 95 % intervals over episodes and, for trained agents, over trainings. *Middle half* is the mean
without the best and the worst quarter.
A policy is compared with its *reference*, the best other rule with no other actions and information than its own, or
than the setting allows: by the difference in the same episodes, and by the probability that it is better in one of
them. The policy with the score 1 stands above each table. *Verified* rows have played on secret seeds as well; of
other agents the models are kept, *with models*, or the *actions only* are known. *Equal to* names a policy that did the
same in all episodes. *Traffic* is the size distribution and the load. `{bound}` is what no scheduler can
exceed, even with all flows known in advance. FCT is the flow completion time, waiting included; a slowdown is FCT over
that of the flow alone; TCT is the completion time of a task. Generated from result files by `python -m
benchmarks.leaderboard`. Back to the [leaderboard](../README.md).
"""
AGAIN: Final = """
Commands of these results, which also take `--env SETTING`; `flowsched leaderboard verify FILE` recomputes a result file
from its actions.

"""

Judged = tuple[list[ComparedSetting], list[Claim]]


def main() -> None:
    """Writes all of it."""
    pack_results(HERE / RESULTS)
    papers_tier.pack(HERE / papers_tier.RESULTS)
    compared, claims = judged = comparison(HERE / RESULTS)
    for path, text in pages(HERE, judged).items():
        write_text(text, path)
        print(path)
    papers = papers_tier.comparison(HERE / papers_tier.RESULTS)
    write_text(papers_tier.readme(readme(share_line(compared, claims)), papers), README)
    score_pictures.write(HERE, compared, claims)
    for suite in (SUITE, papers_tier.SUITE):
        print(write_published(read_results(HERE / "results" / suite.name, papers_tier.kept_digests()), suite))


def pack_results(folder: Path) -> None:
    """Puts the result files of a folder, with the marks of those that were verified, into the file of their setting."""
    for path in folder.glob("*.json"):
        setting, _, name = path.name.partition("_")
        kept = folder / MARKS / path.stem
        files = {name: path, **{f"{MARKS}/{Path(name).stem}/{mark.name}": mark for mark in kept.glob("*.json")}}
        before = unpacked(folder / setting) if packed_file(folder / setting).is_file() else {}
        write_packed({**before, **{each: file.read_bytes() for each, file in files.items()}}, folder / setting)
        path.unlink()
        shutil.rmtree(kept, ignore_errors=True)
    with suppress(OSError):  # not there, or not empty
        (folder / MARKS).rmdir()


def comparison(folder: Path) -> Judged:
    """Compares the results of a folder, and judges the learned agents.

    Raises:
        ConfigError: A file is not what it should be, or there is none.
    """
    results = read_results(folder, papers_tier.kept_digests())
    if not results:
        raise ConfigError(f"{folder} holds no result")
    compared = compare_settings(group_results(results, list(SUITE.settings.values())))
    return compared, claims_of(compared)


def readme(line: str) -> str:
    """Returns the README of the project with the line about the score made anew."""
    before, _, rest = README.read_text(encoding="utf-8").partition(START)
    return f"{before}{START}{line}{END}{rest.partition(END)[2]}"


def pages(folder: Path, judged: Judged | None = None) -> dict[Path, str]:
    """Returns the page of the leaderboard below a folder of results, and those of tables, by their paths.

    Where the results have been compared already, ``judged`` saves seconds.

    Raises:
        ConfigError: A file is not what it should be, or there is none.
        OSError: A file cannot be read.
    """
    compared, claims = judged or comparison(folder / RESULTS)
    seeds = compared[0].results[0].seeds
    words = {"suite": SUITE.name, "count": len(seeds), "first": seeds[0], "bound": BOUND_POLICY}
    found: dict[Path, str] = {}
    papers = papers_tier.comparison(folder / papers_tier.RESULTS)
    for system in SYSTEMS:
        settings = [
            each for spec in system.environments for each in (*compared, *papers) if each.setting.spec.id == spec.id
        ]
        if settings:
            text = TABLES_HEAD.format(name=system.name, **words) + tables_markdown(settings)
            text += made_by([result for each in settings for result in each.results])
            found[folder / TABLES / f"{system.name}.md"] = text
    tables = ", ".join(f"[{path.stem}]({TABLES}/{path.name})" for path in found)
    if (folder / SPEED).exists():
        found[folder / TABLES / "speed.md"] = speed_page(folder / SPEED)
    scores = [share_line(compared, claims), score_line(compared, claims)]
    if any(tier_of(each) == SHIFT for each in compared):
        scores.append(score_line(compared, claims, SHIFT))
    parts = [HEAD.format(score="\n\n".join(scores), **words)]
    parts += [PICTURES] * any(claim.counted and tier_of(claim.compared) == HEADLINE for claim in claims)
    parts += [LEARNED, learned_table(claims).markdown(numbers=False)] if claims else []
    losses = losses_table(claims)
    if losses.rows:
        given = {row[-1] for row in losses.rows}
        told = "; ".join(f"*{name}*: {text}" for name, text in REASONS.items() if name in given)
        parts += [LOSSES, losses.markdown(numbers=False), f"\n{told[0].upper()}{told[1:]}.\n"]
    if papers:
        parts += [PAPERS, papers_tier.table(papers)]
    if (folder / PACKETS).exists():
        track = survivors.parts(survivors.compare(read_json(folder / PACKETS)))["benchmarks/README.md", survivors.PART]
        parts += [with_part(OVER_PACKETS, survivors.PART, track), "\n"]
    return {folder / "README.md": "".join([*parts, FOOT.format(tables=tables)]), **found}


def losses_table(claims: Sequence[Claim]) -> Table:
    """Says of the agents that are worse than the best rule by how much, what there was to win, and why they lose.

    Left out are settings for calibration, those without a reference, and agents with less than their setting allows.
    """
    lines = []
    for each in (each for each in claims if each.verdict == WORSE):
        setting = each.compared.setting
        able = setting.ability is not None and each.row.ability.covers(setting.ability)
        if not able or setting.tier == CALIBRATION:
            continue
        compared, rule = each.compared, each.compared.best_rule
        reference = compared.row(compared.setting.reference)
        loss = "" if rule is None else _percent(gain(compared, rule, each.row))
        room = "" if reference is None or rule is None else _percent(gain(compared, reference, rule))
        names = (compared.setting.name, each.row.policy, compared.setting.reference)
        lines.append((*map(escaped, names), loss, room, each.reason))
    columns = ("setting", "agent", "reference", "best rule over the agent", "reference over the best rule", "why")
    return Table(columns=columns, rows=tuple(lines))


def _percent(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0} %"  # adding zero after rounding turns -0.0 into 0.0


def made_by(results: Sequence[EvaluationResult]) -> str:
    """Lists the commands that made results."""
    made = {(each.made.command or "from Python", each.made.versions.get("flowsched-gym", "")) for each in results}
    return AGAIN + "".join(f"- {code_span(command)}, flowsched-gym {escaped(name)}\n" for command, name in sorted(made))


def speed_table(content: Mapping[str, Any]) -> Table:
    """Lays the figures of ``benchmarks/speed/run.py`` out."""
    rates: Mapping[str, Mapping[str, Any]] = content["rates"]
    reference = next(rate["median"] for name, rate in rates.items() if name.startswith("CartPole"))
    rows = []
    for name, rate in rates.items():
        beside = f"{rate['median'] / reference:.2f}" if rate["unit"] == "steps" else ""
        numbers = (f"{rate[key]:,.0f}" for key in ("min", "median", "max"))
        rows.append((escaped(name), escaped(f"{rate['unit']}/s"), *numbers, beside))
    return Table(columns=("what", "unit", "min", "median", "max", "of CartPole's"), rows=tuple(rows))


def speed_page(path: Path) -> str:
    """Returns the page about the speed of single environments.

    Raises:
        ConfigError: The file is not what ``benchmarks/speed/run.py`` writes.
    """
    content = read_json(path)
    check_printable(str(path), content)
    try:
        table, memory, machine = speed_table(content), content["memory"], content["machine"]
        growth = f"{memory['growth_mb']:+.1f} MB over {memory['decisions']:,} decisions"
        where = f"{machine['system']} on {machine['architecture']}"
        versions = [f"{name} {value}" for name, value in machine.items() if name not in ("system", "architecture")]
        return (
            "# Speed of single environments\n\n"
            f"One core, {escaped(', '.join((where, *versions)))}; {int(content['repetitions'])} interleaved "
            "repetitions of each. [More about speed](../speed/README.md).\n\n"
            f"{table.markdown()}\n"
            f"Resident memory from the first tenth to the end: {growth}.\n\n"
            f"Made by {code_span(content['command'])}, flowsched-gym {escaped(content['package_version'])}.\n"
        )
    except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError) as error:
        raise ConfigError(f"{path}: this is not what benchmarks/speed/run.py writes: {error!r}") from None


if __name__ == "__main__":
    main()
