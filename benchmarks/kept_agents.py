"""Puts the trained agents of the headline settings into the package: ``python -m benchmarks.kept_agents``.

Of each it is the training with the best mean in ten validation episodes: the test episodes choose nothing. Cards say
what the leaderboard says of all trainings of that agent. AuTO's own agents come with cards of their own.
"""

import json
from typing import Any, Final

from benchmarks.agents import MODELS
from benchmarks.leaderboard import HERE, RESULTS, SUITE, comparison
from benchmarks.paper.auto_agents import KEPT, flat
from flowsched_gym.core.files import read_json, write_packed
from flowsched_gym.core.packed import packed_file, read_bytes, unpacked
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard import play, tier_of
from flowsched_gym.leaderboard.claims import Claim
from flowsched_gym.leaderboard.suite import HEADLINE
from flowsched_gym.players import find_player
from flowsched_gym.players.kept import CARDS, SCHEMA, folder_of_agents

MOST_BYTES: Final = 3 << 20
PAPER: Final = MODELS / "paper" / "auto-agents"
"""Agents that learned as their papers have it, with cards (`benchmarks.paper.auto_agents`)."""
NUM_EPISODES: Final = 10


def main() -> None:
    """Writes them, and says how large they are."""
    _, claims = comparison(HERE / RESULTS)
    cards: dict[str, Any] = {}
    files: dict[str, bytes] = {}
    for claim in (each for each in claims if tier_of(each.compared) == HEADLINE):
        name, agent, seed = claim.compared.setting.name, claim.row.policy, best_training(claim)
        print(f"{name}: {agent}, training {seed}", flush=True)
        model = MODELS / name / agent / f"seed{seed}.zip"
        files[f"{name}/{agent}.zip"] = read_bytes(model)
        cards[f"{name}/{agent}"] = card(claim, seed, SUITE.name, read_json(model.with_suffix(".json")))
    paper = unpacked(PAPER)
    cards |= json.loads(paper[CARDS])
    files |= {f"{name}.zip": paper[f"{flat(name)}.zip"] for name in KEPT}
    files[CARDS] = (json.dumps({"schema": SCHEMA, "agents": cards}, indent=1) + "\n").encode()
    write_packed(files, folder_of_agents())
    file = packed_file(folder_of_agents())
    print(f"{file}: {len(cards)} agents, {file.stat().st_size / 1e6:.2f} MB (at most {MOST_BYTES / 1e6:.1f})")


def best_training(claim: Claim) -> int:
    """Returns the training seed of an agent with the best mean in validation episodes."""
    seeds = range(SUITE.validation[0], SUITE.validation[0] + NUM_EPISODES)
    setting = claim.compared.setting
    player = find_player(str(MODELS / setting.name / claim.row.policy), setting.spec)
    result = play(SUITE, setting, player, seeds=seeds)
    means = result.samples(setting.metric).mean(axis=1).tolist()
    found = []
    for run, mean in zip(result.runs, means, strict=True):
        assert run.model is not None
        assert run.model.seed is not None
        found.append((merit(setting.metric, mean), -run.model.seed))
    return -max(found)[1]


def card(claim: Claim, seed: int, suite: str, origin: dict[str, Any]) -> dict[str, Any]:
    """Returns the card of an agent: what a training of it is for, and how all of them do."""
    row, shown = claim.row, claim.compared.column
    rule = claim.rule.policy if claim.rule is not None else ""
    results = {
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
    environment = origin["environment"].rpartition(":")[2]
    command = f"flowsched-train agent={claim.compared.setting.name}-{row.policy} seed={seed}"
    return {"environment": environment, "kwargs": origin["kwargs"], "results": results, "command": command}


if __name__ == "__main__":
    main()
