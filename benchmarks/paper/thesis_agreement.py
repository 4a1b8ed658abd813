"""Finds which rules a learned agent of chapter 4 agrees with: of what ``thesis.py`` keeps, the part ``agreement``."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np

from flowsched_gym.evaluation import make_environment
from flowsched_gym.integrations.sb3 import load_policy
from flowsched_gym.players import make_policy

ARTEMIS: Final = "flowsched/Artemis-v0"

RULES: Final = ("ssdf", "lsdf", "edf", "feasible-first", "fifo", "lifo")
STATES: Final = {
    "requests that wait": ("2", "3", "4", "5", "6 or more"),
    "visible requests that can be late only": ("0", "1", "2", "3 or more"),
    "tokens stalled": ("0", "1", "2", "3 or more"),
}
"""Kinds of states, and how they are divided."""
STALLED: Final = 0.15
"""A flow that has had its token for so many s is stalled."""


def agreement(models: list[Path], kwargs: dict[str, object], seeds: range) -> dict[str, Any]:
    """Plays the trainings of an agent, and asks the rules what they would have granted, where there was a choice.

    Returns:
        ``decisions``, how many there were; ``waits``, how often it let the destination wait; by rule, how often it
        granted the same request; ``chance``, how often a random choice would; ``favourites``, for each training how
        often it took the action that it takes most often; and ``states``, the first ones by state.
    """
    counts: dict[tuple[str, str], Counter[str]] = {
        (kind, state): Counter() for kind, states in STATES.items() for state in states
    }
    total: Counter[str] = Counter()
    favourites = []
    for model in models:
        actions: Counter[int] = Counter()
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
                actions[action] += 1
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
                    for kind, state in states_of(core, destination, visible).items():
                        counts[kind, state].update(found)
                shown = seen.step(action)[0]
                observation, _, terminated, truncated, _ = env.step(action)
                over = terminated or truncated
        favourites.append(round(max(actions.values()) / actions.total(), 4))
    states = {kind: {state: shares(counts[kind, state]) for state in names} for kind, names in STATES.items()}
    return {**shares(total), "favourites": favourites, "states": states}


def states_of(core: Any, destination: Any, visible: int) -> dict[str, str]:
    """Tells in which state of each kind a destination is that decides."""
    simulation, now = core.simulation, core.simulation.now
    rows = destination.requests[destination.head : destination.head + visible]
    state = simulation.state
    needed = state.volume[rows] / core.rules.line_rate
    hopeless = int(np.sum(state.deadline[rows] - now < needed))
    holders = destination.active[: destination.num_active]
    granted = simulation.batch.tables.flows["grant_time"][holders]
    stalled = int(np.sum(now - granted > STALLED))
    values = (destination.num_waiting - 2, hopeless, stalled)
    return {
        kind: names[min(value, len(names) - 1)] for (kind, names), value in zip(STATES.items(), values, strict=True)
    }


def shares(counts: "Counter[str]") -> dict[str, float]:
    """Returns the shares of decisions; ``decisions`` is their number."""
    number = counts["decisions"]
    names = (*RULES, "waits", "chance")
    return {"decisions": number, **{name: round(counts[name] / max(number, 1), 4) for name in names}}
