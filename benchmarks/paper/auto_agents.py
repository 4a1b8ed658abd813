"""Gathers the trainings of AuTO's own agents (``auto.py --agents FOLDER``), and lays them out beside the paper.

FOLDER has a sweep of each experiment, ``flowsched-train -m experiment=auto_srla 'seed=range(10)'
sweep_dir=FOLDER/auto_srla`` and so on, of those with ``workload=auto-data-mining`` (``FOLDER/auto_srla_mining``), of
three seeds, and of the `REMEDIES` that were tried on either. Who has no sweep there keeps its rows.
"""

import csv
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import flowsched_gym
from benchmarks.paper.auto_schemes import DELAY
from benchmarks.paper.figures import GREY, headline, panel_title, panels
from benchmarks.paper.merp import rounded
from benchmarks.paper.statements import MS
from flowsched_gym.core.files import read_json
from flowsched_gym.core.units import BYTES_PER_KILOBYTE
from flowsched_gym.evaluation import (
    EvaluationResult,
    make_environment,
    paired_ratio,
    read_result,
)
from flowsched_gym.evaluation.figures import LEARNED
from flowsched_gym.leaderboard import Table
from flowsched_gym.queueing import optimal_thresholds
from flowsched_gym.systems.auto.thresholds.config import SCALE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRIC: Final = "mean_fct"
CURVE: Final = f"evaluation/{METRIC}"
ENTROPY: Final = "train/entropy_loss"
SRLA, LRLA, BOTH = "auto_srla", "auto_lrla", "auto"
SUFFIX: Final = "_mining"
TRAINED: Final = {"web search": "", "data mining": SUFFIX}
"""Endings of the names of sweeps, by the sizes that they are trained on."""
EXPERIMENTS: Final = {SRLA: "thresholds alone (sRLA)", LRLA: "long flows alone (lRLA)", BOTH: "both at once"}
SIZES: Final = {BOTH: "web_search", BOTH + SUFFIX: "data_mining"}
"""Sizes for which QSJF has the best thresholds, by the sweep that it stands beside."""
REMEDIES: Final = {
    f"{SRLA}_start": "`policy.start=qlas`: begins at QLAS's thresholds",
    f"{SRLA}_reward": "`env.reward=log_fct algorithm.gamma=0`: our reward, no discount",
    f"{SRLA}_summary": "`env.observation=summary`: our 26 numbers",
    f"{LRLA}_rate": "a tenth of the learning rate",
    f"{LRLA}_reward": "`env.reward=progress algorithm.gamma=0.3`: our reward",
    f"{LRLA}_full": "`env.observation=full`: our 323 numbers",
}
"""Sweeps with one change each, half as long."""
PAIRS: Final = {
    "qlas": "QLAS",
    "pias": "PIAS",
    "qsjf": "QSJF, which knows sizes",
    "thresholds alone": "thresholds alone",
    "long flows alone": "long flows alone",
    "both": "both: AuTO",
}
BEFORE: Final = ", before"
PRINTED: Final = {"": "-18.31 %", SUFFIX: "-4.12 %"}
"""What training both changes in the paper (section 6.1.1)."""
CONSTANT: Final = 0.1
"""Largest difference between all actions for thresholds, from -1 to 1, or entropy of choices, of an agent that has
collapsed: it hardly looks at what it observes."""


def gather(folder: Path, kept: dict[str, Any]) -> dict[str, Any]:
    """Reads the sweeps of a folder: of each training its curve, mean FCT in s of each episode, and how it ended.

    Of an experiment without a sweep there, what was kept is returned.
    """
    found = dict(kept)
    for name in (each for each in sweeps() if (folder / each).is_dir()):
        runs = sorted((file.parent for file in (folder / name).glob("*/result.json")), key=lambda run: _of(run)["seed"])
        learned = [_played(run, _of(run)["algorithm"]) for run in runs]
        rule = _played(runs[0], "qlas" if name.startswith(SRLA) else "ecmp")
        found[name] = {
            "decisions": _of(runs[0])["num_timesteps"],
            "curves": [_curve(run, CURVE) for run in runs],
            "learned": [[rounded(value) for value in each.values(METRIC)] for each in learned],
            "rule": [rounded(value) for value in rule.values(METRIC)],
        }
        if name.startswith(SRLA):
            # Nothing has finished before the first action of an episode, so there is nothing to see.
            actions = [np.concatenate([np.array(one.actions)[1:] for one in each.episodes]) for each in learned]
            found[name]["spread"] = [rounded(np.ptp(each, axis=0).max()) for each in actions]
            medians = np.array([np.median(each, axis=0) for each in actions], dtype=np.float64)
            found[name]["thresholds"] = SCALE.thresholds_of(medians).tolist()
        else:
            found[name]["spread"] = [rounded(-_curve(run, ENTROPY)[-1][1]) for run in runs]
        if name in SIZES:
            found[name]["pairs"] = _pairs([_of(run) for run in runs], SIZES[name])
    return found


def sweeps() -> list[str]:
    """Names all sweeps."""
    return [with_ending(name, ending) for ending in TRAINED.values() for name in (*EXPERIMENTS, *REMEDIES)]


def with_ending(name: str, ending: str) -> str:
    """Names the sweep of an experiment, or of a remedy, with the sizes that the ending stands for."""
    base = next(each for each in (SRLA, LRLA, BOTH) if name.startswith(each))
    return base + ending + name.removeprefix(base)


def _pairs(both: list[dict[str, Any]], sizes: str) -> dict[str, list[list[float]]]:
    pairs = {name: [[rounded(value) for value in each["pairs"][name]] for each in both] for name in both[0]["pairs"]}
    seeds = range(both[0]["evaluation"]["seed"], both[0]["evaluation"]["seed"] + both[0]["evaluation"]["episodes"])
    return pairs | {"qsjf": [[_qsjf(both[0]["kwargs"], seed, sizes) for seed in seeds]]}


def _of(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = read_json(run / "result.json")
    return content


def _curve(run: Path, column: str) -> list[list[float]]:
    with (run / "progress.csv").open(encoding="utf-8") as file:
        return [[float(row["timesteps"]), rounded(float(row[column]))] for row in csv.DictReader(file) if row[column]]


def _played(run: Path, policy: str) -> EvaluationResult:
    return next(each for file in (run / "results").glob("*.json") if (each := read_result(file)).policy == policy)


def _qsjf(kwargs: dict[str, Any], seed: int, sizes: str) -> float:
    """Serves the flows of an episode of long flows by QSJF for these sizes, on its links; returns the mean FCT in s."""
    with closing(make_environment("flowsched/AuTOLongFlows-v0", kwargs)) as env:
        env.reset(seed=seed)
        env_: Any = env.unwrapped
        limits = optimal_thresholds("qsjf", sizes, kwargs["load"], 4).tolist()
        network: Any = {"topology": "multi-plane", "num_hosts": env_.config.hosts, "engine": "compiled"}
        own = {"thresholds": limits, "delay": DELAY}
        return rounded(flowsched_gym.replay(env_.workload, discipline="qsjf", parameters=own, **network).fct.mean())


def agents_values(found: dict[str, Any]) -> dict[str, Any]:
    """Returns what the page says of the agents: tables, and numbers of the text."""
    ends = [MS * curve[-1][1] for curve in found[LRLA]["curves"]]
    values: dict[str, Any] = {
        "decisions": ", ".join(f"{found[name]['decisions']:,}" for name in EXPERIMENTS),
        "trainings": str(len(found[BOTH]["curves"])),
        "least": f"{min(ends):.1f}",
        "most": f"{max(ends):.1f}",
    }
    for ending in TRAINED.values():
        trained = [name for name in EXPERIMENTS if name + ending in found]
        values |= {f"{name}{ending}": collapsed(found[name + ending]) for name in trained}
        values[f"alone{ending}"] = alone_table(found, ending)
        values[f"pairs{ending}"] = pairs_table(found, ending) if BOTH in trained else ""
    return values


def collapsed(each: dict[str, Any]) -> str:
    """Returns how many trainings of an experiment have collapsed."""
    return f"{sum(spread < CONSTANT for spread in each['spread'])} of {len(each['spread'])}"


def pairs_table(found: dict[str, Any], ending: str) -> Table:
    """Sets both agents beside each alone and the rules."""
    pairs = {name: np.array(values) for name, values in found[BOTH + ending]["pairs"].items()}
    rows = []
    for name, label in PAIRS.items():
        values, before = pairs[name], pairs.get(name + BEFORE)
        trained = ("", "") if before is None else (f"{MS * before.mean():.2f}", _change(values, before))
        against = "" if name == "qlas" else _change(values[0] if before is None else values, pairs["qlas"][0])
        printed = PRINTED[ending] if name == "both" else ""
        rows.append((label, trained[0], f"{MS * values.mean():.2f}", trained[1], printed, against))
    columns = ("", "mean FCT, ms: before", "after training", "change by training, %", "paper", "against QLAS, %")
    return Table(columns=columns, rows=tuple(rows))


def alone_table(found: dict[str, Any], ending: str) -> Table:
    """Tells how each experiment's trainings went, and those with remedies."""
    rows = []
    for name in sorted({SRLA, LRLA, *REMEDIES}, key=lambda name: (not name.startswith(SRLA), name)):
        each = found.get(with_ending(name, ending))
        if each is None:
            continue
        ends = [f"{MS * np.mean([curve[place][1] for curve in each['curves']]):.1f}" for place in (0, -1)]
        limits = sorted({kilobytes(row) for row in each.get("thresholds", ())})
        label = EXPERIMENTS.get(name) or f"with {REMEDIES[name]}"
        against = _change(np.array(each["learned"]), np.array(each["rule"]))
        rows.append((label, f"{each['decisions']:,}", *ends, against, collapsed(each), "; ".join(limits)))
    columns = ("", "decisions", "mean FCT, ms: first", "last", "against QLAS or ECMP, %", "collapsed", "thresholds, KB")
    return Table(columns=columns, rows=tuple(rows))


def kilobytes(limits: Sequence[float]) -> str:
    """Writes thresholds in KB."""
    return " / ".join(f"{limit / BYTES_PER_KILOBYTE:,.0f}" for limit in limits)


def _change(values: Any, baseline: Any) -> str:
    ratio = paired_ratio(values, baseline)
    mean, *ends = (100 * (value - 1) for value in (ratio.mean, ratio.low, ratio.high))
    return f"{mean:+.1f}" + ("" if np.isnan(ends).any() else " [{:+.1f}, {:+.1f}]".format(*ends))


def draw_agents(found: dict[str, Any]) -> "Figure":
    """Draws the learning curves of all trainings, above on web search, below on data mining."""
    figure, rows = panels(len(TRAINED), len(EXPERIMENTS), (12, 7.5))
    for row, (sizes, ending) in zip(rows, TRAINED.items(), strict=True):
        for axes, (name, label) in zip(row, EXPERIMENTS.items(), strict=True):
            tried = [with_ending(each, ending) for each in REMEDIES if each.startswith(f"{name}_") and name != BOTH]
            for each in (sweep for sweep in (name + ending, *tried) if sweep in found):
                for curve in found[each]["curves"]:
                    decisions, values = zip(*curve, strict=True)
                    colour = GREY if each in tried else LEARNED
                    axes.plot(decisions, [MS * value for value in values], color=colour, linewidth=1.0, alpha=0.6)
            panel_title(axes, f"{label}, {sizes}")
            axes.set(xlabel="decisions", ylabel="mean FCT (ms)")
    headline(figure, "Trainings of AuTO's own agents, a line each, in this model; grey: with a remedy")
    return figure
