r"""Learns from a dataset alone, without an environment: by cloning what was done, or what was done better than usual.

Advantage-weighted regression (AWR; Peng et al., 2019) clones each action with a weight that grows with what the action
brought over what was to be expected, so that the agent may end better than who made the dataset. The network is the
set-wise one. A model is written that ``flowsched evaluate`` plays, and its result is printed beside the best of the
rules that made the dataset, in the same episodes::

    flowsched collect flowsched/Artemis-v0 --policy feasible-first --policy random --episodes 50 --seed 4294967296 \
        --kwarg workload=gather-heavy --kwarg k=3 --kwarg f=10 --out data
    python -m flowsched_gym.baselines.offline data --out model.zip
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from gymnasium.envs.registration import EnvSpec
from sb3_contrib import MaskablePPO
from torch.nn import functional

from flowsched_gym.baselines.training.reinforce import discounted_returns
from flowsched_gym.core.checks import check_integer, check_number
from flowsched_gym.core.errors import ConfigError, FlowSchedError, MissingDependencyError
from flowsched_gym.evaluation import evaluate, paired_difference
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.flows.metrics import merit
from flowsched_gym.integrations.sb3 import MaskableSetwisePolicy, batched, save_model
from flowsched_gym.integrations.setwise import SetwiseShape
from flowsched_gym.players import find_player
from flowsched_gym.registration import find_environment

ALGORITHMS: Final = ("awr", "cloning")
EVALUATION_SEED: Final = 10_000
REWARD_SCALE: Final = 0.1
BATCH: Final = 256
"""Decisions in each update."""
LARGEST_WEIGHT: Final = 20.0
"""Of a decision in AWR, as in its paper (appendix C)."""


class Data(NamedTuple):
    """What was seen, allowed and done in each decision, and what that brought.

    Attributes:
        observations: (num_decisions, size) float32.
        masks: Actions that were allowed, (num_decisions, num_actions) bool.
        actions: (num_decisions,) int64.
        returns: Discounted rewards until the end of the episode, scaled, (num_decisions,) float32.
    """

    observations: torch.Tensor
    masks: torch.Tensor
    actions: torch.Tensor
    returns: torch.Tensor


def read_dataset(folder: str, *, gamma: float) -> tuple[Data, EnvSpec, list[str]]:
    """Reads a dataset of ``flowsched collect``: its decisions, its environment, and the policies that played.

    Raises:
        ConfigError: There is no such dataset, or an action is no slot.
        MissingDependencyError: Minari is not installed.
    """
    try:
        import minari  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError("minari", extra="minari", purpose="read datasets") from None
    try:
        dataset = minari.MinariDataset(folder)
    except (OSError, ValueError) as error:
        raise ConfigError(f"dataset {folder} cannot be read: {error}") from None
    if not isinstance(dataset.action_space, gym.spaces.Discrete):
        raise ConfigError(f"dataset {folder} has the actions {dataset.action_space}: they must be slots (Discrete)")
    columns: list[list[Any]] = [[], [], [], []]
    for episode in dataset:
        rewards = REWARD_SCALE * episode.rewards[:, np.newaxis]
        returns = discounted_returns(rewards, np.zeros(rewards.shape), gamma)[:, 0].astype(np.float32)
        masks = episode.infos["action_mask"][:-1] != 0
        parts = (episode.observations[:-1], masks, episode.actions, returns)
        for column, part in zip(columns, parts, strict=True):
            column.append(part)
    facts = dataset.storage.get_episode_metadata(range(len(dataset)))
    policies = list(dict.fromkeys(str(each["policy"]) for each in facts))
    return Data(*(torch.as_tensor(np.concatenate(column)) for column in columns)), dataset.env_spec, policies


def make_model(env_spec: EnvSpec, data: Data, *, width: int = 32, seed: int = 0) -> MaskablePPO:
    """Makes an untrained model, whose network standardises columns by what was seen in the dataset."""
    env = gym.make(env_spec)
    seen = data.observations.numpy().astype(np.float64)
    shape = SetwiseShape.of_layout(env.get_wrapper_attr("layout"), width=width, num_blocks=0, seen=seen)
    how: dict[str, Any] = {"policy_kwargs": {"shape": asdict(shape)}, "seed": seed, "device": "cpu"}
    return MaskablePPO(MaskableSetwisePolicy, env, n_steps=8, batch_size=8, **how)


def learn(model: MaskablePPO, data: Data, *, updates: int, learning_rate: float, temperature: float | None) -> None:
    """Fits the model to a dataset by updates of ``BATCH`` decisions each; the learning rate falls to zero.

    The temperature is the advantage, in standard deviations, that multiplies the weight of a decision by e; ``None``
    for cloning, where all weigh the same.
    """
    policy: Any = model.policy
    optimiser = torch.optim.Adam(policy.parameters(), lr=learning_rate)
    for update in range(updates):
        optimiser.param_groups[0]["lr"] = learning_rate * (1 - update / updates)
        rows = torch.randint(len(data.actions), (BATCH,))
        observations, masks, actions, returns = (column[rows] for column in data)
        values, log_prob, _ = policy.evaluate_actions(observations, actions, action_masks=masks)
        values = values.flatten()
        weights = torch.ones(BATCH)
        if temperature is not None:
            advantages = (returns - values).detach()
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
            weights = torch.exp(advantages / temperature).clamp(max=LARGEST_WEIGHT)
        loss = functional.mse_loss(values, returns) - (weights * log_prob).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def compare(model: MaskablePPO, env_spec: EnvSpec, rules: Sequence[str], *, episodes: int, seed: int) -> str:
    """Plays the same episodes with the model and the rules; says how it does beside the best of them."""
    spec = find_environment(env_spec.id)
    column, kwargs = column_of(spec.metric), dict(env_spec.kwargs)
    ours = evaluate(spec, batched(model), episodes=episodes, seed=seed, kwargs=kwargs, label="offline", repeat=True)
    played = [
        evaluate(
            spec, rule, episodes=episodes, seed=seed, kwargs=find_player(rule, spec).arguments(kwargs), repeat=True
        )
        for rule in rules
        if spec.names(rule)
    ]
    if not played:
        mean = column.write(ours.values(spec.metric).mean())
        return f"{column.label}: {mean}, beside no rule, as none of {rules} is one"
    best = max(played, key=lambda result: merit(spec.metric, float(result.values(spec.metric).mean())))
    values, theirs = ours.values(spec.metric), best.values(spec.metric)
    difference = paired_difference(values, theirs)
    gains = sorted(merit(spec.metric, end) for end in (difference.low, difference.high))
    verdict = "better than" if gains[0] > 0 else "worse than" if gains[1] < 0 else "no significant difference from"
    text = (
        f"{column.label}: {column.write(values.mean())}, {best.policy} {column.write(theirs.mean())}, difference "
        f"{column.write(difference, signed=True)}: {verdict} the rule that made the data"
    )
    return text if gains[0] > 0 else f"{text}\nwarning: play {best.policy}, this agent has not learned to beat it"


def main(arguments: Sequence[str] | None = None) -> None:
    """Learns, compares and writes the model; without arguments, by those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", help="folder that flowsched collect wrote")
    parser.add_argument("--algorithm", choices=ALGORITHMS, default="awr", help="%(default)s")
    parser.add_argument("--out", help="model to write (.zip)")
    parser.add_argument("--updates", type=int, default=2000, help="%(default)s")
    parser.add_argument("--learning-rate", type=float, default=3e-3, help="%(default)s")
    parser.add_argument("--gamma", type=float, default=0.9, help="discount (%(default)s)")
    parser.add_argument("--temperature", type=float, default=1.0, help="of AWR (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="%(default)s")
    parser.add_argument("--episodes", type=int, default=20, help="episodes that it is compared in (%(default)s)")
    parser.add_argument("--evaluation-seed", type=int, default=EVALUATION_SEED, help="%(default)s")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        check_integer("--updates", options.updates, at_least=1)
        check_integer("--seed", options.seed, at_least=0, below=2**32)
        for name in ("learning_rate", "temperature"):
            check_number(f"--{name.replace('_', '-')}", getattr(options, name), above=0)
        if check_number("--gamma", options.gamma, at_least=0) > 1:
            raise ConfigError(f"--gamma is {options.gamma}: it must be at most 1")
        torch.manual_seed(options.seed)
        data, env_spec, rules = read_dataset(options.dataset, gamma=options.gamma)
        model = make_model(env_spec, data, seed=options.seed)
        temperature = None if options.algorithm == "cloning" else options.temperature
        learn(model, data, updates=options.updates, learning_rate=options.learning_rate, temperature=temperature)
        print(compare(model, env_spec, rules, episodes=options.episodes, seed=options.evaluation_seed))
        if options.out:
            origin = {"environment": env_spec.id, "kwargs": dict(env_spec.kwargs), "seed": options.seed}
            save_model(model, options.out, origin=origin)
    except (FlowSchedError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
