"""Plays what was learned in the fluid, and rules, in packets: ``python -m benchmarks.packets.from_fluid``.

Kept agents of settings of the leaderboard, and rules, play test episodes in the fluid and with ``packets=`` in the same
environment, those of the papers' settings too; ``--ns3`` plays those of Artemis in ns-3 itself. ``--write`` keeps the
figures in ``from_fluid.json``, and writes what is made of them: the page, the figure, the track *packets* of the
leaderboard and the table of the README. ``--settings --write`` plays nothing.
"""

import argparse
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

import flowsched_gym
from benchmarks import papers_tier
from benchmarks.packets.page import FROM_FLUID, write_survivors
from benchmarks.packets.survivors import AGENTS, PAPER
from benchmarks.registry_tables import ROOT
from benchmarks.rules import tuned_rules
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import EvaluationResult, evaluate, write_json
from flowsched_gym.leaderboard import Setting, load_suite, read_results
from flowsched_gym.players import find_player, kept_agents

SUITE: Final = load_suite("standard")
Ways = Callable[[dict[str, Any]], dict[str, dict[str, Any]]]
NUM_EPISODES: Final = 10
ARTEMIS: Final = ("skip-late", "feasible-first", "sjf", "lifo", "edf", "random")
POSTPONE: Final = ("postpone-late", "skip-late", "sjf", "lifo", "edf", "random")
ORDERS: Final = ("vdg", "srpt", "sjf", "fifo", "random")
ROUTES: Final = ("memr", "conga", "least-loaded", "ecmp", "random")
THRESHOLDS: Final = ("qlas", "mismatched", "equal", "pias", "random")
TASKS: Final = ("least-work", "stf", "tafe", "las", "fifo", "random")
PORTS: Final = ("opt", "adaptive", "geometric", "constant", "random")
SETTINGS: Final[dict[str, tuple[str, ...]]] = {
    "artemis-thesis-wait": ("paced", "lifo", "skip-late", "feasible-first", "edf", "random"),
    "artemis-thesis-a2-wait": ("paced", "lifo", "skip-late", "feasible-first", "edf", "random"),
    "artemis-heavy": ARTEMIS,
    "artemis-heavy-postpone": POSTPONE,
    "artemis-heavy-a2-postpone": POSTPONE,
    "artemis-uniform-postpone": ("postpone-late:base=feasible-first,margin_ms=4", *POSTPONE),
    "artemis-multi-postpone": POSTPONE,
    "artemis-changing": ARTEMIS,
    "artemis-background": ("skip-late:base=feasible-first,margin_ms=2.2", *ARTEMIS),
    "artemis-applications": ("sjf", "skip-late", "feasible-first", "lifo", "edf", "random"),
    "merp-order-pareto": ORDERS,
    "merp-order-tree": ORDERS,
    "merp-order-bursts": ORDERS,
    "merp-route": ROUTES,
    "merp-route-slow-link": ("memr-ratio", *ROUTES),
    "merp-route-failures-repaired": ("memr-ratio", *ROUTES),
    "auto-thresholds-changing": THRESHOLDS,
    "auto-thresholds-incast": THRESHOLDS,
    "auto-long-flows": ("least-crowded", "least-loaded", "least-attained", "ecmp", "random"),
    "qcluster-w4": PORTS,
    "qcluster-changing-heavy": PORTS,
    "tafe-tasks-log": TASKS,
    "tafe-tasks-log-attained": ("tafe", "las", "stf-estimated", "fifo", "random"),
    "tafe-tasks-alibaba": TASKS,
    "tafe-tasks-alibaba-light": TASKS,
    "tafe-tasks-changing": TASKS,
    "tafe-tasks-mixed": TASKS,
    "tafe-thresholds-changing": ("tenfold", "constant", "thirds", "paper", "random"),
}
"""Settings and the rules beside their kept agents and the tuned ones. Left out are settings like one of these."""
PAPERS: Final[dict[str, tuple[str, ...]]] = {
    f"{PAPER}{name}": (
        *(roles.own, *roles.others, "random"),
        *([roles.ours] if roles.ours and not name.startswith("artemis") else []),
    )
    for name, roles in papers_tier.ROLES.items()
    if name != "qcluster"
}
"""The papers' settings and who plays there: the paper's own agent or rule, what it compares with, random, our agent.
Left out are QCluster, which is packets already, and our agents of Artemis, which play the same episodes in
``SETTINGS``."""
OWN: Final = ("transport", "window", "buffer", "mark_at", "min_rto_us")
"""Arguments of senders that an environment has in place of packets."""
MORE_TOKENS: Final = 2
"""In packets a flow alone takes several round trips: with so many times the tokens the link is as busy as before."""
LEARNED: Final[dict[str, tuple[str, ...]]] = {
    "artemis-heavy": ("workload=gather-heavy", "env.k=6", "env.f=10", "env.packets=cubic"),
    "artemis-heavy-postpone": (
        "workload=gather-heavy",
        "env.k=6",
        "env.f=10",
        "env.defer=to-back",
        "env.packets=cubic",
    ),
    "artemis-thesis-wait": ("workload=artemis-thesis", "env.defer=wait", "env.packets=dctcp"),
}
"""Settings in which evolution goes on over packets, and their arguments; ``LEARNING`` are those of all."""
TUNED: Final = {
    "artemis-heavy": "skip-late:base=feasible-first,margin_ms=2",
    "artemis-heavy-postpone": "postpone-late:base=fifo,margin_ms=10",
}
"""The best of 35 rules there, of five bases and seven margins, in four validation episodes."""
LEARNED_WAYS: Final = {"cubic": "cubic, more tokens", "dctcp": "dctcp"}
LEARNED_DECISIONS: Final = 1_000_000
LEARNING: Final = ("algorithm=cmaes", "seed=0", f"total_timesteps={LEARNED_DECISIONS}", "evaluation.episodes=10")


def main() -> None:
    """Measures and prints, and writes where asked."""
    parser = argparse.ArgumentParser(description="Plays what was learned in the fluid in packets.")
    parser.add_argument("--episodes", type=int, default=NUM_EPISODES, help="test episodes of each setting")
    parser.add_argument(
        "--settings", nargs="*", default=[*SETTINGS, *PAPERS], choices=[*SETTINGS, *PAPERS], help="those to play anew"
    )
    parser.add_argument("--ns3", action="store_true", help="play these, of Artemis, in ns-3 and nowhere else")
    parser.add_argument(
        "--policy", action="append", default=[], help="play this one alone, and keep the others' figures"
    )
    parser.add_argument("--write", action="store_true", help=f"keep {FROM_FLUID.name} and what is made of it")
    parser.add_argument("--learned", type=Path, help="folder of runs, such as ``runs``, by the names of ``LEARNED``")
    options = parser.parse_args()
    seeds = range(SUITE.test[0], SUITE.test[0] + options.episodes)
    figures = read_json(FROM_FLUID)
    figures |= {"package_version": flowsched_gym.__version__, "seeds": list(seeds)}
    for name in options.settings:
        if options.ns3 or options.policy:
            kept = figures["settings"][name]["policies"]
            for policy, played in measure(
                name, seeds, ways_in_ns3 if options.ns3 else None, only=options.policy
            ).items():
                kept[policy] = kept.get(policy, {}) | played
        else:
            own = {"own": PAPERS[name][0]} if name in PAPERS else {}
            figures["settings"][name] = {"metric": setting_of(name).metric, **own, "policies": measure(name, seeds)}
        if options.write:
            write_json(figures, FROM_FLUID)
    if options.learned is not None:
        of_rules = {name: figures["settings"][name]["policies"] for name in LEARNED}
        settings = {name: play_learned(name, options.learned, of_rules[name], seeds) for name in LEARNED}
        figures["learned"] = {
            "decisions": LEARNED_DECISIONS,
            "commands": [*map(command_of, LEARNED)],
            "settings": settings,
        }
    if options.write:
        played = figures["settings"]
        figures["settings"] = {name: played[name] for name in (*SETTINGS, *PAPERS) if name in played}
        write_json(figures, FROM_FLUID)
        write_survivors(figures)
        print(f"written to {FROM_FLUID} and the pages made of it")


def measure(
    name: str, seeds: range, ways_of: Ways | None = None, *, only: Collection[str] = ()
) -> dict[str, dict[str, list[float]]]:
    """Plays the kept agents of a setting, and rules, or some of them; returns its metric by policy, way and episode."""
    found: dict[str, dict[str, list[float]]] = {}
    for label, (policy, given) in players_of(name).items():
        if only and label not in only:
            continue
        ways = (ways_of or ways_in_packets)({**given, "engine": "compiled"})
        found[label] = {way: play(name, policy, kwargs, seeds) for way, kwargs in ways.items()}
        means = {way: f"{sum(each) / len(each):.4g}" for way, each in found[label].items()}
        print(f"{name}, {label}: {setting_of(name).metric} {means}", flush=True)
    return found


def setting_of(name: str) -> Setting:
    """Returns a setting of ``PAPERS``, or of ``SETTINGS`` with the measure of its environment."""
    if name in PAPERS:
        return papers_tier.SUITE.settings[name.removeprefix(PAPER)]
    return replace(SUITE.settings[name], metric=SUITE.settings[name].spec.metric)


def results_of(name: str) -> dict[str, EvaluationResult]:
    """Returns the results that the leaderboard has of a paper's setting, by policy."""
    results = read_results(ROOT / "benchmarks" / papers_tier.RESULTS)
    return {each.policy: each for each in results if each.reference and PAPER + each.reference.setting == name}


def players_of(name: str) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    """Returns who plays a setting, by label: by which text it is found, and with which arguments it plays in the fluid.

    The results of the leaderboard say so of a paper's setting.
    """
    if name in PAPERS:
        results = results_of(name)
        return {label: (str(results[label].source), results[label].kwargs) for label in PAPERS[name]}
    setting, kept = SUITE.settings[name], kept_agents()
    agents = {each: kept[f"{name}/{each}"] for each in AGENTS if f"{name}/{each}" in kept}
    found = dict.fromkeys((*tuned_rules(name), *SETTINGS[name]))
    others = {rule: (rule, setting.arguments(find_player(rule, setting.spec))) for rule in found}
    return {
        each: (f"model:{agent.name}", {**setting.kwargs, **agent.kwargs}) for each, agent in agents.items()
    } | others


def play(name: str, policy: str, kwargs: dict[str, Any], seeds: range) -> list[float]:
    """Plays the episodes of a setting with these arguments; returns its metric by episode, the mean over trainings.

    ns-3 plays the first training alone, as an episode takes it 20 seconds.
    """
    setting = setting_of(name)
    models = find_player(policy, setting.spec).models
    texts = [*map(str, models)] if len(models) > 1 else [policy]
    found = []
    for text in texts[:1] if kwargs["engine"] == "ns3" else texts:
        result = evaluate(setting.spec, text, episodes=len(seeds), seed=list(seeds), kwargs=kwargs)
        found.append([each.metrics[setting.metric] for each in result.runs[0].episodes])
    return [float(f"{each:.6g}") for each in np.mean(found, axis=0)]


def command_of(name: str) -> str:
    """Returns the command by which an agent of ``LEARNED`` learns over packets."""
    return " ".join(["flowsched-train", *LEARNED[name], *LEARNING, f"start=model:{name}/cmaes", f"run_name={name}"])


def play_learned(name: str, folder: Path, before: dict[str, dict[str, list[float]]], seeds: range) -> dict[str, Any]:
    """Plays what has gone on to learn over packets; returns shares of deadlines met: before, after, and of rules."""
    setting, way = SUITE.settings[name], LEARNED_WAYS[LEARNED[name][-1].removeprefix("env.packets=")]
    given = {**setting.kwargs, **kept_agents()[f"{name}/cmaes"].kwargs, "engine": "compiled"}
    found = {"before": before["cmaes"][way]}
    tuned = [TUNED[name]] if name in TUNED else []
    for label, text in (("after", str(folder / name / "model.zip")), *zip(tuned, tuned, strict=True)):
        found[label] = play(name, text, ways_in_packets(given)[way], seeds)
    return {"way": way, "policies": {**found, **{rule: before[rule][way] for rule in SETTINGS[name]}}}


def ways_in_packets(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Lists how a setting is played: as it is, in packets, and, where it has few tokens, in both with more of them."""
    plain = {key: value for key, value in given.items() if key not in OWN}
    ways = {"fluid": given, "dctcp": {**plain, "packets": "dctcp"}, "cubic": {**plain, "packets": "cubic"}}
    if given.get("transport", "").startswith("tcp"):
        return {**ways, "reno": {**plain, "packets": "reno"}}
    if "k" not in given:
        return ways
    more = {"k": MORE_TOKENS * given["k"]}
    return {**ways, "fluid, more tokens": {**given, **more}, "cubic, more tokens": {**ways["cubic"], **more}}


def ways_in_ns3(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Lists how a setting of Artemis is played in ns-3: with the TCP of 2018, or with Cubic and more tokens."""
    ways = ways_in_packets(given)
    name, way = ("ns3", "reno") if "reno" in ways else ("ns3, more tokens", "cubic, more tokens")
    return {name: {**ways[way], "engine": "ns3"}}


if __name__ == "__main__":
    main()
