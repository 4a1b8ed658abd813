"""Evaluates a policy on an environment over many episodes, each with a seed of its own.

Episode e begins with ``reset(seed=seed + e)``, so that every policy evaluated with the same seed sees the same flows.
"""

import time
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from flowsched_gym.core.errors import ConfigError, FlowSchedWarning, InvalidAction
from flowsched_gym.envs.policies import Policy, is_pure
from flowsched_gym.evaluation.player import OnRecords, Player, Progress
from flowsched_gym.evaluation.results import EvaluationResult, Provenance, Run
from flowsched_gym.evaluation.texts import check_label
from flowsched_gym.registration import is_named, load_target, make_policy, system_of
from flowsched_gym.workload import FixedWorkload, with_workload_read


class SameEpisodesWarning(FlowSchedWarning):
    """Episodes that cannot differ were asked for: one is played.

    Args:
        policy: Name of the policy.
        episodes: How many were asked for.
    """

    def __init__(self, policy: str, episodes: int) -> None:
        super().__init__(
            f"the flows are given and {policy} draws nothing, so that all {episodes} episodes would be the same: "
            "one is played, and there is no interval"
        )


def evaluate(
    env_id: str,
    policy: str | Policy,
    *,
    episodes: int,
    seed: int,
    kwargs: Mapping[str, Any] | None = None,
    label: str | None = None,
    deterministic: bool = True,
    command: str | None = None,
    progress: Progress | None = None,
    on_records: OnRecords | None = None,
    repeat: bool = False,
) -> EvaluationResult:
    """Plays episodes of an environment with a policy, side by side where the policy allows it (see `Player`).

    Episodes that cannot differ, those of given flows with a policy that neither draws nor remembers, are played once.

    Args:
        env_id: ``flowsched/<Name>-v0``, or that with ``flowsched_gym:`` before it.
        policy: Name of one of the system's policies, ``module:Class``, or an object with ``predict``.
        episodes: Number of episodes, >= 1; intervals need ``MIN_EPISODES``.
        seed: Seed of the first episode, an integer >= 0; the next ones count on from it. Also that of policies that
            draw.
        kwargs: Arguments of the environment.
        label: Name of the policy in the result. Default: its name, or its class.
        deterministic: Passed on to the policy: its most likely action instead of a draw.
        command: Command line to keep with the result.
        progress: Called before the first and after every episode.
        on_records: Called with each episode's number, from 0, and the records of its flows, in the order in which
            episodes end.
        repeat: Whether episodes that cannot differ are played all the same, to stand beside others that can.

    Warns:
        SameEpisodesWarning: One episode is played in place of several.

    Raises:
        ConfigError: An argument, a name or an argument of the environment is not allowed.
        InvalidAction: The policy chose something other than an action.
        SpaceMismatchError: The policy was made for other spaces.
    """
    begun = time.monotonic()
    episodes, seed = check_episodes(episodes, seed)
    kwargs = with_workload_read(kwargs or {})
    source = policy if isinstance(policy, str) else None
    player = Player(env_id, kwargs)
    try:
        if label is None:
            label = policy if isinstance(policy, str) else type(policy).__name__
        check_label("policy", label)
        if isinstance(policy, str):
            policy = resolve_policy(policy, player.env, seed=seed)
        if episodes > 1 and not repeat and deterministic and plays_the_same(policy, player.env):
            warnings.warn(SameEpisodesWarning(label, episodes), stacklevel=2)
            episodes = 1
        results = player.play(
            policy, episodes=episodes, seed=seed, deterministic=deterministic, progress=progress, on_records=on_records
        )
    except InvalidAction as error:
        raise InvalidAction(f"policy {label!r} {str(error).removeprefix('policy ')}") from None
    finally:
        player.close()
    return EvaluationResult(
        environment=system_of(env_id)[1].id,
        kwargs=kwargs,
        policy=label,
        source=source,
        runs=(Run(episodes=results),),
        made=Provenance.here(command=command, seconds=time.monotonic() - begun),
    )


def plays_the_same(policy: Policy, env: gymnasium.Env[Any, Any]) -> bool:
    """Returns whether all episodes are equal: the flows are given, and the policy neither draws nor remembers.

    Seeds decide nothing else: an episode is a function of its flows and the actions.
    """
    return is_pure(policy) and isinstance(env.get_wrapper_attr("source"), FixedWorkload)


def resolve_policy(name: str, env: gymnasium.Env[Any, Any], *, seed: int) -> Policy:
    """Makes a policy from its name.

    Args:
        name: Name of one of the system's policies, with options where it has some, or ``module:Class`` of a class
            with ``for_env``.
        env: The environment that it will act in.
        seed: Seed of policies that draw.

    Raises:
        ConfigError: There is no such policy, or it cannot act in this environment.
    """
    if ":" not in name or is_named(name):
        policy: Policy = make_policy(name, env, seed=seed)
        return policy
    target = load_target(name)
    if not hasattr(target, "for_env"):
        raise ConfigError(f"policy is {name!r}: the class needs a class method for_env(env, *, seed)")
    made: Policy = target.for_env(env, seed=seed)
    if not hasattr(made, "predict"):
        raise ConfigError(f"policy is {name!r}: what its for_env returns has no predict method")
    return made


def check_episodes(episodes: int, seed: int) -> tuple[int, int]:
    """Refuses numbers of episodes and seeds that cannot be, and makes Python's integers of NumPy's.

    Raises:
        ConfigError: ``episodes`` is not an integer >= 1, or ``seed`` not an integer >= 0.
    """
    for name, value, least in (("episodes", episodes, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ConfigError(f"{name} is {value!r}: it must be an integer >= {least}")
    return int(episodes), int(seed)
