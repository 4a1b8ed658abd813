"""Puts trained agents into the package, ``python -m benchmarks.kept_agents``: of headline and calibration settings.

Of each it is the training with the best mean in ten validation episodes: the test episodes choose nothing. Cards say
what the leaderboard says of all trainings of that agent. The models of AuTO's own agents stay.
"""

import json
from typing import Any, Final

from benchmarks import papers_tier
from benchmarks.agents import MODELS
from benchmarks.leaderboard import HERE, RESULTS, SUITE, comparison
from flowsched_gym.core.files import read_json, write_packed
from flowsched_gym.core.packed import packed_file, read_bytes, unpacked
from flowsched_gym.evaluation import evaluate
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard import claims_of, tier_of
from flowsched_gym.leaderboard.claims import Claim
from flowsched_gym.leaderboard.suite import CALIBRATION, HEADLINE
from flowsched_gym.players import find_player
from flowsched_gym.players.kept import CARDS, SCHEMA, folder_of_agents

MOST_BYTES: Final = 3 << 20
NUM_EPISODES: Final = 10
PAPERS: Final = {
    "auto-srla/ddpg": ("auto-thresholds", "srla"),
    "auto-lrla/reinforce": ("auto-long-flows", "lrla"),
    "auto/ddpg": ("auto-both", "srla"),
    "auto/reinforce": ("auto-long-flows", "lrla-both"),
}
"""Agents that lie in the package alone, first trainings of ``experiment=auto_srla``, ``auto_lrla`` and ``auto``: their
settings and rows in the tier of papers."""


def main() -> None:
    """Writes them, and says how large they are."""
    _, claims = comparison(HERE / RESULTS)
    cards: dict[str, Any] = {}
    files: dict[str, bytes] = {}
    for claim in (each for each in claims if tier_of(each.compared) in (HEADLINE, CALIBRATION)):
        name, agent, seed = claim.compared.setting.name, claim.row.policy, best_training(claim)
        print(f"{name}: {agent}, training {seed}", flush=True)
        model = MODELS / name / agent / f"seed{seed}.zip"
        files[f"{name}/{agent}.zip"] = read_bytes(model)
        cards[f"{name}/{agent}"] = card(claim, seed, SUITE.name, read_json(model.with_suffix(".json")))
    before, papers = unpacked(folder_of_agents()), claims_of(papers_tier.comparison(HERE / papers_tier.RESULTS))
    for name, place in PAPERS.items():
        claim = next(each for each in papers if (each.compared.setting.name, each.row.policy) == place)
        files[f"{name}.zip"] = before[f"{name}.zip"]
        results = results_of(claim, 0, papers_tier.SUITE.name)
        cards[name] = {**json.loads(before[CARDS])["agents"][name], "results": results}
    files[CARDS] = (json.dumps({"schema": SCHEMA, "agents": cards}, indent=1) + "\n").encode()
    write_packed(files, folder_of_agents())
    file = packed_file(folder_of_agents())
    print(f"{file}: {len(cards)} agents, {file.stat().st_size / 1e6:.2f} MB (at most {MOST_BYTES / 1e6:.1f})")


def best_training(claim: Claim) -> int:
    """Returns the training seed of an agent with the best mean in validation episodes."""
    setting, found = claim.compared.setting, []
    for model in find_player(str(MODELS / setting.name / claim.row.policy), setting.spec).models:
        kwargs = {**setting.kwargs, **read_json(model.with_suffix(".json"))["kwargs"], "engine": "compiled"}
        played = evaluate(setting.spec, str(model), episodes=NUM_EPISODES, seed=SUITE.validation[0], kwargs=kwargs)
        mean = float(played.values(setting.metric).mean())
        found.append((merit(setting.metric, mean), -int(model.stem.removeprefix("seed"))))
    return -max(found)[1]


def card(claim: Claim, seed: int, suite: str, origin: dict[str, Any]) -> dict[str, Any]:
    """Returns the card of an agent: what a training of it is for, and how all of them do."""
    environment = origin["environment"].rpartition(":")[2]
    command = f"flowsched-train agent={claim.compared.setting.name}-{claim.row.policy} seed={seed}"
    results = results_of(claim, seed, suite)
    return {"environment": environment, "kwargs": origin["kwargs"], "results": results, "command": command}


def results_of(claim: Claim, seed: int, suite: str) -> dict[str, Any]:
    """Returns what a card says of the trainings of an agent."""
    row, shown = claim.row, claim.compared.column
    rule = claim.rule.policy if claim.rule is not None else ""
    return {
        "suite": suite,
        "metric": claim.compared.setting.metric,
        "mean": row.estimate.mean,
        "label": shown.label,
        "shown": shown.write(row.estimate),
        "trainings": row.num_runs,
        "score": float(claim.scores.mean()),
        "reference": claim.compared.setting.reference,
        "rule": rule,
        "difference": shown.write(row.difference, signed=True),
        "verdict": claim.verdict.strip("*"),
        "seed": seed,
    }


if __name__ == "__main__":
    main()
