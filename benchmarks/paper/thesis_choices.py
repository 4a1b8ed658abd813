"""Looks at what agents of chapter 4 choose: which rules they agree with, and what returns tell of a choice.

Of what ``thesis.py`` keeps, the parts ``agreement`` and ``returns``.
"""

from collections import Counter
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np

from flowsched_gym.evaluation import make_environment
from flowsched_gym.integrations.sb3 import load_policy
from flowsched_gym.players import make_policy

ARTEMIS: Final = "flowsched/Artemis-v0"
RULES: Final = ("ssdf", "lsdf", "edf", "feasible-first", "fifo", "lifo")
NUM_ENVS: Final = 64
DECISIONS: Final = 200_000
"""As many as a training has."""
FIRST_SEED: Final = 900_000
STEPS: Final = 8
"""Rewards in a return (n), each worth gamma times the one before it."""
GAMMA: Final = 0.99


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


def returns(environment: str, **kwargs: Any) -> dict[str, Any]:
    """Lets uniformly random choices play, and groups the returns of those among as many requests as there are slots.

    Returns:
        ``mean`` and ``deviation`` of the returns; ``slots`` and ``sizes``, for each slot, and for the smaller and the
        larger flows, the mean and half of its 95 % interval; and ``decisions``, how many they are of.
    """
    envs: Any = gymnasium.make_vec(environment, num_envs=NUM_ENVS, **kwargs)
    generator = np.random.default_rng(0)
    num_slots = int(envs.single_action_space.n)
    observation, _ = envs.reset(seed=FIRST_SEED)
    sizes, actions, rewards = [], [], []
    for _ in range(DECISIONS // NUM_ENVS):
        actions.append(generator.integers(0, num_slots, NUM_ENVS))
        sizes.append(envs.layout.slot_column(observation, "size"))
        observation, reward, *_ = envs.step(actions[-1])
        rewards.append(reward)
    envs.close()
    num = len(rewards) - STEPS
    found = sum(GAMMA**i * np.array(rewards)[i : i + num] for i in range(STEPS))
    full = (np.array(sizes)[:num] > 0).all(axis=-1)
    chosen = np.array(actions)[:num][full]
    size = np.array(sizes)[:num][full][np.arange(full.sum()), chosen]
    values = np.asarray(found)[full]

    def mean_of(group: Any) -> list[float]:
        one = values[group]
        return [float(one.mean()), float(1.96 * one.std(ddof=1) / np.sqrt(len(one)))]

    return {
        "decisions": len(values),
        "mean": float(values.mean()),
        "deviation": float(values.std(ddof=1)),
        "slots": [mean_of(chosen == slot) for slot in range(num_slots)],
        "sizes": [mean_of(size < size.mean()), mean_of(size > size.mean())],
    }
