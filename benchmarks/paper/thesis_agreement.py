"""Finds which rules a learned agent of chapter 4 agrees with: of what ``thesis.py`` keeps, the part ``agreement``."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

from flowsched_gym.evaluation import make_environment
from flowsched_gym.integrations.sb3 import load_policy
from flowsched_gym.players import make_policy

ARTEMIS: Final = "flowsched/Artemis-v0"

RULES: Final = ("ssdf", "lsdf", "edf", "feasible-first", "fifo", "lifo")


def agreement(models: list[Path], kwargs: dict[str, object], seeds: range) -> dict[str, float]:
    """Plays the trainings of an agent, and asks the rules what they would have granted, where there was a choice.

    Returns:
        ``decisions``, how many there were; ``waits``, how often it let the destination wait; by rule, how often it
        granted the same request; and ``chance``, how often a random choice would.
    """
    total: Counter[str] = Counter()
    for model in models:
        # The rules see all columns, whatever the agent sees: a second environment goes through the same episode.
        seen, env = (make_environment(ARTEMIS, each) for each in (kwargs, {**kwargs, "observation": "full"}))
        agent = load_policy(model, seen)
        rules = {rule: make_policy(rule, env, seed=0) for rule in RULES}
        core: Any = env.unwrapped
        for seed in seeds:
            shown, _ = seen.reset(seed=seed)
            observation, _ = env.reset(seed=seed)
            over = False
            while not over:
                action = int(agent.predict(shown, deterministic=True)[0])
                destination = core.simulation.asking
                visible = min(destination.num_waiting, core.config.f)
                granted = action if not visible <= action < core.config.f else 0  # an empty slot: the oldest
                if visible > 1:
                    found = Counter(
                        rule for rule, policy in rules.items() if int(policy.predict(observation)[0]) == granted
                    )
                    found.update(decisions=1, waits=int(action >= core.config.f))
                    found["chance"] += 1.0 / visible
                    total.update(found)
                shown = seen.step(action)[0]
                observation, _, terminated, truncated, _ = env.step(action)
                over = terminated or truncated
    return shares(total)


def shares(counts: "Counter[str]") -> dict[str, float]:
    """Returns the shares of decisions; ``decisions`` is their number."""
    number = counts["decisions"]
    names = (*RULES, "waits", "chance")
    return {"decisions": number, **{name: round(counts[name] / max(number, 1), 4) for name in names}}
