"""Evaluates a policy on an environment over many episodes, each with a seed of its own.

Episode e begins with ``reset(seed=seed + e)``, or with the seed that is given for it, so that every policy evaluated
with the same seeds sees the same flows.

Episodes are played side by side in a native vector environment where the policy allows it: one that promises to be pure
(`flowsched_gym.envs.policies.Policy`), such as heuristics that compare columns, and models wrapped by
`flowsched_gym.integrations.sb3.batched`. Every other one, which may draw or remember, is played in a single
environment, one episode after the other. So is any policy that is asked to draw (``deterministic=False``), any
environment with a render mode, any whose system has no native vector environment, an episode that is alone or huge, and
little work as long as the vector environment would have to be compiled first. A result does not show how many episodes
were played at once, and by which engine.
"""

import itertools
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Final

import gymnasium

from flowsched_gym.core.arrays import is_sequence
from flowsched_gym.core.checks import check_integer
from flowsched_gym.core.errors import ConfigError, FlowSchedWarning, InvalidAction
from flowsched_gym.core.files import Progress
from flowsched_gym.envs import FlowSchedVectorEnv
from flowsched_gym.envs.policies import Policy, is_pure
from flowsched_gym.evaluation.engines import (
    has_machine_code,
    has_vector,
    make_environment,
    make_vector,
    with_faster_engine,
)
from flowsched_gym.evaluation.results import EvaluationResult, Provenance, Run, check_label
from flowsched_gym.evaluation.rollout import EpisodeResult, rollout, rollout_vector
from flowsched_gym.fluid import Records
from flowsched_gym.players import find_player
from flowsched_gym.registration import find_environment
from flowsched_gym.systems import EnvironmentSpec
from flowsched_gym.topology import is_own_network, read_network
from flowsched_gym.workload import FixedWorkload, with_workload_read

OnRecords = Callable[[int, Records], None]
"""Called with the number of a finished episode, from 0, and the records of its flows."""

MOST_EPISODES: Final = 1_000_000
"""Episodes of an evaluation at most: their metrics take 2 GB."""
MAX_ENVS: Final = 256
"""Episodes played at once; more would not be faster."""
MAX_FLOWS: Final = 500_000
"""Flows of all episodes played at once: about a kilobyte each."""
LITTLE_WORK: Final = 50_000
"""Flows that are played sooner one episode after the other than rules are compiled, by models too."""


class SameEpisodesWarning(FlowSchedWarning):
    """Episodes that cannot differ were asked for: one is played."""

    def __init__(self, policy: str, episodes: int) -> None:
        super().__init__(
            f"the flows are given and {policy} draws nothing, so that all {episodes} episodes would be the same: "
            "one is played, and there is no interval"
        )


class EpisodeRunner:
    """Environments in which policies play episodes, those of the engine that plays them soonest.

    ``env`` is the single one; ``compile_first`` is that of `with_faster_engine`.
    """

    def __init__(self, spec: EnvironmentSpec, kwargs: Mapping[str, Any], *, compile_first: bool = False) -> None:
        kwargs = with_faster_engine(spec, kwargs, compile_first=compile_first)
        self.env = make_environment(spec, kwargs)
        self._spec = spec
        self._kwargs = dict(kwargs)
        self._vector: FlowSchedVectorEnv | None = None

    def play(
        self,
        policy: Policy,
        *,
        episodes: int,
        seed: int | Sequence[int],
        deterministic: bool = True,
        progress: Progress | None = None,
        on_records: OnRecords | None = None,
    ) -> tuple[EpisodeResult, ...]:
        """Plays episodes, each from the reset with its seed to its end; the arguments are those of `evaluate`."""
        seeds = check_seeds(episodes, seed)
        count = itertools.count(1)

        def end(episode: int, records: Callable[[], Records]) -> None:
            if on_records is not None:
                on_records(episode, records())
            if progress is not None:
                progress(next(count), episodes)

        if progress is not None:
            progress(0, episodes)
        vector = self._vector_for(seeds) if deterministic and is_pure(policy) else None
        if vector is not None:
            played = rollout_vector(
                vector, policy, seeds=seeds, ended=lambda episode, row: end(episode, partial(vector.records, row))
            )
            return tuple(played)
        results = []
        for episode in range(episodes):
            results.append(rollout(self.env, policy, seed=seeds[episode], deterministic=deterministic))
            end(episode, self.env.get_wrapper_attr("records"))
        return tuple(results)

    def close(self) -> None:
        """Closes the environments."""
        self.env.close()
        if self._vector is not None:
            self._vector.close()

    def _vector_for(self, seeds: Sequence[int]) -> FlowSchedVectorEnv | None:
        """Returns a vector for some episodes, that of the last time if its size is right; None if there is no use."""
        given = self._kwargs
        other_engine = given.get("engine", "compiled") != "compiled"
        if not has_vector(self._spec) or given.get("render_mode") is not None or other_engine:
            return None
        self.env.reset(seed=seeds[0])
        num_flows = self.env.get_wrapper_attr("workload").num_flows
        if len(seeds) * num_flows <= LITTLE_WORK and not has_machine_code(self._spec, self._kwargs):
            return None
        most = max(1, min(MAX_ENVS, MAX_FLOWS // num_flows))
        # In rounds of equal size nobody waits for a last, small one.
        num_envs = math.ceil(len(seeds) / math.ceil(len(seeds) / most))
        if num_envs == 1:  # a vector of one is slower than the single environment
            return None
        if self._vector is None or self._vector.num_envs != num_envs:
            if self._vector is not None:
                self._vector.close()
            self._vector = make_vector(self._spec, self._kwargs, num_envs=num_envs)
        return self._vector


def evaluate(
    environment: str | EnvironmentSpec,
    policy: str | Policy,
    *,
    episodes: int,
    seed: int | Sequence[int],
    kwargs: Mapping[str, Any] | None = None,
    label: str | None = None,
    deterministic: bool = True,
    command: str | None = None,
    progress: Progress | None = None,
    on_records: OnRecords | None = None,
    repeat: bool = False,
) -> EvaluationResult:
    """Plays episodes of an environment with a policy, side by side where the policy allows it.

    Episodes that cannot differ (`plays_the_same`) are played once.

    Args:
        environment: ``flowsched/<Name>-v0``, or that with ``flowsched_gym:`` before it, or what the registry has of it.
        policy: A text by which `flowsched_gym.players.find_player` finds a policy, or an object with ``predict``.
        episodes: Number of episodes, >= 1; intervals need ``MIN_EPISODES``.
        seed: Seed of the first episode, an integer >= 0; the next ones count on from it. Or one for each episode. The
            first is also that of policies that draw.
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
    seeds = check_seeds(episodes, seed)
    kwargs = with_networks_read(with_workload_read(kwargs or {}))
    source = policy if isinstance(policy, str) else None
    spec = find_environment(environment)
    if label is None:
        label = policy if isinstance(policy, str) else type(policy).__name__
    check_label("policy", label)
    player = find_player(policy, spec, kwargs)
    kwargs = {**kwargs, **player.settings}
    with closing(EpisodeRunner(spec, kwargs)) as runner:
        policy = player.make(runner.env, seed=seeds[0])
        if len(seeds) > 1 and not repeat and deterministic and plays_the_same(policy, runner.env):
            warnings.warn(SameEpisodesWarning(label, len(seeds)), stacklevel=2)
            seeds = seeds[:1]
        try:
            results = runner.play(
                policy,
                episodes=len(seeds),
                seed=seeds,
                deterministic=deterministic,
                progress=progress,
                on_records=on_records,
            )
        except InvalidAction as error:
            raise InvalidAction(f"policy {label!r} {str(error).removeprefix('policy ')}") from None
    return EvaluationResult(
        environment=spec.id,
        kwargs=kwargs,
        policy=label,
        source=source,
        runs=(Run(episodes=results),),
        made=Provenance.here(command=command, seconds=time.monotonic() - begun),
    )


def with_networks_read(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments of an environment, with the content of a network file in its place: results keep that."""
    given = kwargs.get("topology")
    return {**kwargs, "topology": read_network(given).plain()} if is_own_network(given) else dict(kwargs)


def plays_the_same(policy: Policy, env: gymnasium.Env[Any, Any]) -> bool:
    """Returns whether all episodes are equal: the flows are given, and the policy neither draws nor remembers.

    Seeds decide nothing else: an episode is a function of its flows and the actions.
    """
    return is_pure(policy) and isinstance(env.get_wrapper_attr("source"), FixedWorkload)


def check_seeds(episodes: int, seed: int | Sequence[int]) -> Sequence[int]:
    """Returns the seed of each episode, of Python's integers; refuses numbers that cannot be, and other lengths."""
    check = partial(check_integer, below=math.inf)
    episodes = check_integer("episodes", episodes, at_least=1, below=MOST_EPISODES + 1)
    if not is_sequence(seed):
        first = check("seed", seed, at_least=0)
        return range(first, first + episodes)
    if len(seed) != episodes:
        raise ConfigError(f"seed has {len(seed)} entries: it must be an integer, or have one for each of {episodes}")
    return [check("seed", each, at_least=0) for each in seed]
