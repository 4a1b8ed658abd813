"""Holds figures in sentences of the README and of pages, and the page on trainings, to what they come from."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from benchmarks import papers_tier, training_studies
from benchmarks.packets.from_fluid import PAPERS, SETTINGS
from benchmarks.packets.page import FROM_FLUID
from benchmarks.registry_tables import ROOT, with_part
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import paired_difference
from flowsched_gym.flows.metrics import merit

README, PACKETS = "README.md", "benchmarks/packets/README.md"
STUDIES, TRAINING = "docs/training-studies.md", "docs/training.md"
WORDS = {
    **dict(enumerate(("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"))),
    16: "sixteen",
    18: "eighteen",
    20: "twenty",
    30: "thirty",
}
TUNED = "paced-in-time"
EVOLVED = ("cmaes", "static")
METRICS = {
    **{"deadlines met, %": "deadline_hit_ratio", "p99 slowdown": "p99_slowdown", "mean slowdown": "mean_slowdown"},
    **{"mean TCT, ms": "mean_tct", "mean FCT, ms": "mean_fct"},
}
NO_FIGURE = re.compile(r"`[^`]*`|\]\([^)]*\)|\b[A-Z]+ \d{4}\b|\b[A-Za-z]\d+")
"""Code, addresses, conferences and names: what has digits that are no figures."""


def in_words(count: int) -> str:
    return WORDS.get(count) or f"{WORDS[count // 10 * 10]}-{WORDS[count % 10]}"


@cache
def played() -> dict[str, Any]:
    return dict(read_json(FROM_FLUID))


def mean(setting: str, policy: str, way: str, scale: float = 100.0) -> float:
    policies = played()["settings"][setting]["policies"]
    name = next(each for each in policies if each.split(":")[0] == policy or each == policy)
    return scale * float(np.mean(policies[name][way]))


def wait(variant: str, way: str) -> list[str]:
    """Returns the deadlines in % that both agents, the tuned rule and `paced` meet."""
    name = f"artemis-thesis-{variant}wait"
    return [f"{mean(name, policy, way):.1f}" for policy in ("cmaes", "distilled", TUNED, "paced")]


def of_papers() -> Iterator[tuple[str, str]]:
    """Yields what the README says of the papers' own settings."""
    compared = {each.setting.name: each for each in papers_tier.comparison(ROOT / "benchmarks" / papers_tier.RESULTS)}
    verdicts = dict[str, list[str]](own=[], better=[], worse=[])
    for name, each in compared.items():
        roles, metric = papers_tier.ROLES[name], each.setting.metric
        samples = {
            row.policy: each.result(row.policy).counted.samples(metric) for row in each.rows if row.policy != "bound"
        }
        best = max(roles.others, key=lambda other: merit(metric, float(np.mean(samples[other]))))
        signs = [merit(metric, end) for end in ends(samples[roles.own], samples[best])]
        if min(signs) > 0:
            verdicts["own"].append(name)
        if roles.ours:
            signs = [merit(metric, end) for end in ends(samples[roles.ours], samples[roles.own])]
            verdicts["better"] += [name] * (min(signs) > 0)
            verdicts["worse"] += [name] * (max(signs) < 0)
    assert verdicts["own"] == ["merp-route", "tafe-thresholds"]
    yield README, f"In {in_words(len(verdicts['own']))} of {in_words(len(compared))} settings, MERP's paths and TAFE's"
    counts = in_words(len(verdicts["better"])), in_words(len(verdicts["worse"]))
    yield README, f"An agent of ours is better than it in {counts[0]} and worse in {counts[1]}."
    paced = [next(row for row in compared[f"artemis-variant-{n}"].rows if row.policy == "paced") for n in (1, 2)]
    told = [f"{100 * row.estimate.mean:.1f}" for row in paced]
    yield README, f"`paced`, a rule that waits, meets {told[0]} and {told[1]} %."


def ends(ours: Any, theirs: Any) -> tuple[float, float]:
    apart = paired_difference(ours, theirs)
    return apart.low, apart.high


def of_packets() -> Iterator[tuple[str, str]]:
    """Yields what both pages say of agents that play over packets."""
    yield README, f"The agents of {in_words(len(SETTINGS))} settings, and the papers' own agents and rules in "
    yield README, f"{in_words(len(PAPERS))} of theirs, play ten episodes each over packets"
    gains, leads = [], 0
    for each in played()["learned"]["settings"].values():
        before, after, *rules = (100 * np.array(values) for values in each["policies"].values())
        gains.append(after.mean() - before.mean())
        leads += ends(after, max(rules, key=np.mean))[0] > 0
    regained = f"{min(gains):.0f} to {max(gains):.0f} points, and lead in {in_words(leads)} of {in_words(len(gains))}"
    yield README, f"After more training over packets Artemis's agents regain {regained} settings."
    evolved, network, tuned, paced = wait("", "ns3")
    told = f"in variant 1 the evolved weights meet {evolved} % of deadlines, the network {network}, the tuned rule "
    *beside, last = wait("", "reno")
    yield PACKETS, f"{told}{tuned}, `paced` {paced}, over our packets {', '.join(beside)} and {last}."
    evolved, network, tuned, _ = wait("a2-", "ns3")
    lead = f"{float(network) - float(tuned):.0f} points more than the tuned rule ({tuned})"
    yield PACKETS, f"In variant 2 the network meets {network} % in ns-3, {lead}; evolved weights ({evolved}) are level"
    of_reno = {name: [float(each) for each in wait(name, "reno")] for name in ("", "a2-")}
    assert {round(network - tuned) for _, network, tuned, _ in of_reno.values()} == {3}
    yield PACKETS, "the networks (`distilled`) of both variants are 3 points ahead of the best rule"
    yield README, "the networks lead the tuned rule by 3 points over packets of that TCP too, and in ns-3."
    apart = [
        100 * abs(np.mean(ways["ns3"]) - np.mean(ways["reno"]))
        for name, setting in played()["settings"].items()
        for policy, ways in setting["policies"].items()
        if name.startswith("artemis-thesis") and {"ns3", "reno"} <= ways.keys()
    ]
    told = f"{in_words(len(apart))} policies differ by {min(apart):.1f} to {max(apart):.1f} points between ns-3 and"
    yield PACKETS, f"{told} our packets"


def of_trainings() -> Iterator[tuple[str, str]]:
    """Yields what the pages on training say of trainings, and of PPO beside evolution on the leaderboard."""
    yield STUDIES, f"the same {training_studies.EPISODES} episodes, from seed {training_studies.FIRST_SEED:,} on"
    rows = {row.command: row for row in training_studies.read_rows()}
    plain = " policy.standardise=false"
    for name in ("merp_route", "tafe_tasks"):
        assert each_less(rows[f"experiment={name}"], rows[f"experiment={name}{plain}"])
    plain = f"experiment=fast{plain} algorithm.learning_rate=2e-3"
    for less, more in ((plain, "experiment=fast"), (f"{plain} start=feasible-first", "experiment=fast")):
        assert each_less(rows[less], rows[more])
    assert each_less(rows["experiment=fast start=feasible-first"], rows["experiment=fast"])
    assert each_less(rows[plain], rows[f"{plain} start=feasible-first"])
    yield STUDIES, "with each seed, on Artemis, MERPRoute and TAFETasks"
    ahead = [row for row in rows.values() if "ratio" in row.metric and min(row.values) > float(row.by_rule)]
    (evolved,) = ahead
    yield STUDIES, "**CMA-ES** (`algorithm=cmaes`), the only one ahead of the rule on Artemis with each seed"
    leads = [value - float(evolved.by_rule) for value in evolved.values]
    told = f"its rules meet {min(leads):.1f} to {max(leads):.1f} points more deadlines than `{evolved.rule}`"
    decisions = f"{int(evolved.decisions) // 10**6} million decisions"
    yield TRAINING, f"{decisions} in about {float(evolved.cpu_s):.0f} CPU-seconds"
    yield TRAINING, f"With training seeds 0 to {len(leads) - 1}, {told}"
    cells = [line.split(" | ") for line in (ROOT / "benchmarks/README.md").read_text(encoding="utf-8").splitlines()]
    means = {
        (row[0], row[2].partition(" ")[0]): merit(METRICS[metric], float(value))
        for row in cells
        if len(row) > 5 and (metric := row[4].partition(": ")[0]) in METRICS and (value := row[4].partition(": ")[2])
    }
    beside = [
        (means[name, "ppo"], means[name, other])
        for name, agent in means
        if agent == "ppo"
        for other in EVOLVED
        if (name, other) in means
    ]
    assert len(beside) > 3
    assert all(ppo <= other for ppo, other in beside)
    yield STUDIES, "it is ahead of evolution in no setting"


def each_less(less: training_studies.Row, more: training_studies.Row) -> bool:
    return all(one < other for one, other in zip(less.values, more.values, strict=True))


def flat(page: str) -> str:
    return re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("statements", [of_papers, of_packets, of_trainings])
def test_figures_in_sentences_are_those_of_the_results(statements: Any) -> None:
    for page, sentence in statements():
        assert sentence in flat(page), f"{page}: {sentence}"


def test_the_page_on_trainings_is_its_data_and_has_no_figure_of_which_no_test_knows() -> None:
    page = training_studies.PAGE.read_text(encoding="utf-8")
    assert page == training_studies.page(), "stale: python -m benchmarks.training_studies"
    prose = re.sub(r"\s+", " ", with_part(page, training_studies.PART, ""))
    for name, sentence in of_trainings():
        prose = prose.replace(sentence, "") if name == STUDIES else prose
    assert re.findall(r"\d[\d,.]*", NO_FIGURE.sub("", prose)) == []
