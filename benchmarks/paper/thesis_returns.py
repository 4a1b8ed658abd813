"""Measures what the thesis's learner can see of a choice: of what ``thesis.py`` keeps, the part ``returns``."""

from typing import Any, Final

import gymnasium
import numpy as np

NUM_ENVS: Final = 64
DECISIONS: Final = 200_000
"""As many as a training has."""
FIRST_SEED: Final = 900_000
STEPS: Final = 8
"""Rewards in a return (n), each worth gamma times the one before it."""
GAMMA: Final = 0.99


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
