"""Gathers the trainings of AuTO's own agents (``auto.py --agents FOLDER``), and lays them out beside the paper.

FOLDER has a sweep of each experiment, ``flowsched-train -m experiment=auto_srla 'seed=range(10)'
sweep_dir=FOLDER/auto_srla`` and so on, and of the `REMEDIES` that were tried. Who has no sweep there keeps its rows.
"""

import csv
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import flowsched_gym
from benchmarks.paper.auto_schemes import DELAY
from benchmarks.paper.figures import headline, panel_title, panels
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
EXPERIMENTS: Final = {SRLA: "thresholds alone (sRLA)", LRLA: "long flows alone (lRLA)", BOTH: "both at once"}
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
PRINTED: Final = {"both": "-18.31 %"}
"""What training changes in the paper (section 6.1.1)."""
CONSTANT: Final = 0.1
"""Largest difference between all actions for thresholds, from -1 to 1, or entropy of choices, of an agent that has
collapsed: it hardly looks at what it observes."""

HEAD: Final = """
**The paper's own agents**, as `flowsched-train experiment=auto_srla`, `auto_lrla` and `auto` train them, {trainings}
seeds of each: networks, observations and rewards of the paper, web search at load 0.8; {decisions}
decisions where the paper has 8 hours. The excerpt prints neither discounts, learning rates, noise nor periods: ours
are in these files. The first table has both agents, and each alone (of the same trainings), on three links for each
server, in ten episodes of 2,000 flows, the same for all; QLAS's thresholds or ECMP stand in for who does not act.
Intervals are over trainings and episodes.

"""
ALONE: Final = """
Each agent in its own experiment, with what was tried as it does not learn: the mean FCT of the first look at three
episodes and the last, means over trainings, and against the rule that its actions stand in for in ten episodes.
*Collapsed*: trainings whose thresholds hardly depend on what is observed, or whose choices are nearly certain.
Thresholds: the medians of each training, which Figure 13 would show.

"""

VERDICT: Final = """
**Neither agent learns here what the paper reports.** Training changes the mean FCT of both at once by nothing that
differs significantly from 0, and they stay behind the rules that they replace.

- *sRLA collapses*: in {srla} trainings its actions are at the ends of their range after a few hundred decisions,
  whatever it observes. Each threshold is then below, or above, the sizes of flows, which is fair sharing, 10 % behind
  QLAS; in the paper's Figure 13 they are near those of an optimizer. The paper's reward cannot tell which thresholds
  are good: the ratio of two successive means is about 1 for any that stay. That is not all: with our reward, with our
  observation and from QLAS's thresholds DDPG's actor goes to the ends of its range as well. PPO does not (`learned`
  above). One training came off the ends, with all three thresholds near 0.7 MB, which is two queues, 6.5 % behind
  QLAS; trained on, it is back at the ends after 4,096 decisions, and stays there to the last of 8,192.
- *lRLA learns little*: it begins by choosing queues, rates and paths at random, which costs the flows some percent,
  and in its experiment ends on average where it began, at {least} to {most} ms; in {lrla} trainings its choices are
  then nearly certain, which are no better. A smaller learning rate, our reward or our observation change nothing.
  Beside sRLA {both} end so; some unlearn a part of the harm, and the best is level with ECMP. Its reward is a ratio of
  two steps too, and what a choice was worth is known tens of decisions later. Agents that choose by path do learn
  (Figure 16).
- *Short trainings*: about a minute of computing, where the paper has hours. sRLA's three longer ones (4,096 decisions
  twice, and the one above) ended as these do. Data mining (-4.12 % in the paper) is `workload=auto-data-mining`, and
  was not trained.
"""


def gather(folder: Path, kept: dict[str, Any]) -> dict[str, Any]:
    """Reads the sweeps of a folder: of each training its curve, mean FCT in s of each episode, and how it ended.

    Of an experiment without a sweep there, what was kept is returned.
    """
    found = dict(kept)
    for name in (each for each in (*EXPERIMENTS, *REMEDIES) if (folder / each).is_dir()):
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
        if name == BOTH:
            found[name]["pairs"] = _pairs([_of(run) for run in runs])
    return found


def _pairs(both: list[dict[str, Any]]) -> dict[str, list[list[float]]]:
    pairs = {name: [[rounded(value) for value in each["pairs"][name]] for each in both] for name in both[0]["pairs"]}
    seeds = range(both[0]["evaluation"]["seed"], both[0]["evaluation"]["seed"] + both[0]["evaluation"]["episodes"])
    return pairs | {"qsjf": [[_qsjf(both[0]["kwargs"], seed) for seed in seeds]]}


def _of(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = read_json(run / "result.json")
    return content


def _curve(run: Path, column: str) -> list[list[float]]:
    with (run / "progress.csv").open(encoding="utf-8") as file:
        return [[float(row["timesteps"]), rounded(float(row[column]))] for row in csv.DictReader(file) if row[column]]


def _played(run: Path, policy: str) -> EvaluationResult:
    return next(each for file in (run / "results").glob("*.json") if (each := read_result(file)).policy == policy)


def _qsjf(kwargs: dict[str, Any], seed: int) -> float:
    """Serves the flows of an episode of long flows by QSJF, on its links; returns the mean FCT in s."""
    with closing(make_environment("flowsched/AuTOLongFlows-v0", kwargs)) as env:
        env.reset(seed=seed)
        env_: Any = env.unwrapped
        limits = optimal_thresholds("qsjf", "web_search", kwargs["load"], 4).tolist()
        network: Any = {"topology": "multi-plane", "num_hosts": env_.config.hosts, "engine": "compiled"}
        own = {"thresholds": limits, "delay": DELAY}
        return rounded(flowsched_gym.replay(env_.workload, discipline="qsjf", parameters=own, **network).fct.mean())


def agents_markdown(found: dict[str, Any]) -> list[str | Table]:
    """Lays both tables out."""
    decisions = ", ".join(f"{found[name]['decisions']:,}" for name in EXPERIMENTS)
    head = HEAD.format(decisions=decisions, trainings=len(found[BOTH]["curves"]))
    figure = "\n![Learning curves](auto_agents.png)\n"
    return [head, pairs_table(found[BOTH]["pairs"]), ALONE, alone_table(found), figure, verdict(found)]


def verdict(found: dict[str, Any]) -> str:
    """Returns what both tables show."""
    ends = [MS * curve[-1][1] for curve in found[LRLA]["curves"]]
    counts = {"srla": collapsed(found[SRLA]), "lrla": collapsed(found[LRLA]), "both": collapsed(found[BOTH])}
    return VERDICT.format(**counts, least=f"{min(ends):.1f}", most=f"{max(ends):.1f}")


def collapsed(each: dict[str, Any]) -> str:
    """Returns how many trainings of an experiment have collapsed."""
    return f"{sum(spread < CONSTANT for spread in each['spread'])} of {len(each['spread'])}"


def by_training(found: dict[str, Any]) -> str:
    """Returns by how many percent training changes the mean FCT of both agents at once."""
    pairs = found[BOTH]["pairs"]
    return _change(np.array(pairs["both"]), np.array(pairs["both" + BEFORE]))


def pairs_table(pairs: dict[str, list[list[float]]]) -> Table:
    """Sets both agents beside each alone and the rules."""
    qlas = np.array(pairs["qlas"][0])
    rows = []
    for name, label in PAIRS.items():
        values, before = np.array(pairs[name]), pairs.get(name + BEFORE)
        rows.append(
            (
                label,
                "" if before is None else f"{MS * np.mean(before):.2f}",
                f"{MS * values.mean():.2f}",
                "" if before is None else _change(values, np.array(before)),
                PRINTED.get(name, ""),
                "" if name == "qlas" else _change(values if len(values) > 1 and before else values[0], qlas),
            )
        )
    columns = ("", "mean FCT, ms: before", "after training", "change by training, %", "paper", "against QLAS, %")
    return Table(columns=columns, rows=tuple(rows))


def alone_table(found: dict[str, Any]) -> Table:
    """Tells how each experiment's trainings went, and those with remedies."""
    rows = []
    for name in sorted({SRLA, LRLA, *REMEDIES}, key=lambda name: (not name.startswith(SRLA), name)):
        each = found[name]
        ends = [f"{MS * np.mean([curve[place][1] for curve in each['curves']]):.1f}" for place in (0, -1)]
        rows_of = each.get("thresholds", ())
        limits = [" / ".join(f"{limit / BYTES_PER_KILOBYTE:,.0f}" for limit in row) for row in rows_of]
        label = EXPERIMENTS.get(name) or f"with {REMEDIES[name]}"
        against = _change(np.array(each["learned"]), np.array(each["rule"]))
        shown = (f"{each['decisions']:,}", *ends, against, collapsed(each))
        rows.append((label, *shown, "; ".join(sorted(set(limits)))))
    columns = ("", "decisions", "mean FCT, ms: first", "last", "against QLAS or ECMP, %", "collapsed", "thresholds, KB")
    return Table(columns=columns, rows=tuple(rows))


def _change(values: Any, baseline: Any) -> str:
    ratio = paired_ratio(values, baseline)
    low, high = (f"{100 * (end - 1):+.1f}" for end in (ratio.low, ratio.high))
    return f"{100 * (ratio.mean - 1):+.1f} [{low}, {high}]"


def draw_agents(found: dict[str, Any]) -> "Figure":
    """Draws the learning curves of all trainings beside their rules."""
    figure, (row,) = panels(1, len(EXPERIMENTS), (12, 4.2))
    for axes, (name, label) in zip(row, EXPERIMENTS.items(), strict=True):
        each = found[name]
        for curve in each["curves"]:
            decisions, values = zip(*curve, strict=True)
            axes.plot(decisions, [MS * value for value in values], color=LEARNED, linewidth=1.0, alpha=0.6)
        panel_title(axes, label)
        axes.set(xlabel="decisions", ylabel="mean FCT (ms)")
    headline(figure, "Trainings of AuTO's own agents, a line each, in this model")
    return figure
