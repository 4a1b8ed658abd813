"""Callbacks between two updates of a model: schedules, comparisons, checkpoints, a progress bar."""

import logging
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from flowsched_gym.baselines.configuration.algorithm_schemas import RolloutConfig
from flowsched_gym.baselines.configuration.hydra_schemas import CheckpointConfig, EvaluationConfig
from flowsched_gym.baselines.networks.mixture import EpsilonMixture
from flowsched_gym.baselines.training.checkpoints import Checkpoint, Memory, restore_generators, save_checkpoint
from flowsched_gym.baselines.training.progress import progress_bar
from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.errors import ConfigError, listed
from flowsched_gym.core.files import Ended, ended_by_signals
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation import EpisodeRunner, paired_ratio
from flowsched_gym.evaluation.rollout import rollout
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.flows.metrics import merit
from flowsched_gym.integrations.sb3 import batched
from flowsched_gym.players import make_policy
from flowsched_gym.registration import find_environment, heuristic_arguments

LOGGER: Final = logging.getLogger(__name__)
EVALUATION: Final = "evaluation/"


class TrainingInterrupted(Ended):
    """Training was interrupted and has left a checkpoint."""


class Interruption:
    """Handler of Ctrl-C, SIGTERM and SIGHUP: the first asks the training to stop, Ctrl-C once more stops it at once.

    Attributes:
        asked: Number of the signal that has asked; 0 for none.
    """

    def __init__(self) -> None:
        self.asked = 0

    def watched(self) -> AbstractContextManager[None]:
        """Handles the signals while training; only the main thread of a process can."""
        return ended_by_signals(self._take)

    def _take(self, number: int) -> None:
        if self.asked:
            raise Ended(number)
        self.asked = number
        LOGGER.info("%s: stopping after this update; Ctrl-C stops at once", signal.Signals(number).name)


class _BetweenUpdates(BaseCallback):
    """A callback that acts before each rollout alone."""

    def _on_step(self) -> bool:
        return True


class Schedules(_BetweenUpdates):
    """Schedules of the entropy bonus's weight and of the epsilon of a mixture."""

    def __init__(self, algorithm: RolloutConfig) -> None:
        super().__init__()
        self._algorithm = algorithm

    def _on_rollout_start(self) -> None:
        model, algorithm = self.model, self._algorithm
        assert isinstance(model, OnPolicyAlgorithm)
        done = 1.0 - model._current_progress_remaining
        model.ent_coef = algorithm.ent_coef + done * (algorithm.final_ent_coef - algorithm.ent_coef)
        self.logger.record("train/ent_coef", model.ent_coef)
        if isinstance(model.policy, EpsilonMixture):
            model.policy.set_progress(done)
            self.logger.record("train/epsilon", float(model.policy.epsilon))


class Curves(_BetweenUpdates):
    """Learning curves: a row every so many decisions, whatever the length of a rollout, and one for each comparison."""

    def __init__(self, interval: int) -> None:
        super().__init__()
        self._interval = interval
        self._last = 0

    def _on_training_start(self) -> None:
        self._last = self.num_timesteps

    def _on_rollout_start(self) -> None:
        compared = any(name.startswith(EVALUATION) for name in self.logger.name_to_value)
        if compared or self.num_timesteps // self._interval > self._last // self._interval:
            self.model.dump_logs()
        self._last = self.num_timesteps

    def _on_training_end(self) -> None:
        self.model.dump_logs()


class Comparisons(_BetweenUpdates):
    """Comparisons of the policy with heuristics at intervals, on the same few episodes each time.

    Args:
        env_id: Id of the environment.
        kwargs: Its arguments.
        config: Heuristics, played once; episodes, interval and metric, which is logged with the ratios to theirs.
        report: Called at each comparison with the decisions made and the mean of the metric.
        keep: Called with the model and the mean where no comparison before was as good.
        best: The best mean before, of a training that is resumed.
        compiled: Whether episodes that are played one after the other are simulated by machine code.
        wrap: Wraps the environment in which the policy plays; ``None`` for nothing.

    Attributes:
        due_at: Decisions before the next comparison.
        last_summary: The last comparison in a few words.

    Raises:
        ConfigError: A heuristic or the metric does not exist.
    """

    def __init__(
        self,
        env_id: str,
        kwargs: dict[str, Any],
        config: EvaluationConfig,
        report: Callable[[int, float], None] | None = None,
        *,
        keep: Callable[[BaseAlgorithm, float], None] | None = None,
        best: float | None = None,
        compiled: bool = False,
        wrap: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__()
        self._config = config
        self._report = report
        self._keep = keep
        self._best = -np.inf if best is None else merit(config.metric, best)
        self.due_at = 0
        self.last_summary = ""
        self._wrapped = False
        spec = find_environment(env_id)
        runner = partial(EpisodeRunner, spec, compile_first=compiled)
        with closing(runner(heuristic_arguments(spec, kwargs))) as self._runner:
            seed = config.interim_seed
            policies = {name: make_policy(name, self._runner.env, seed=seed) for name in config.baselines}
            self._baselines = {name: self._play(policy) for name, policy in policies.items()}
        self._runner, self._wrapped = runner(kwargs), wrap is not None
        if wrap is not None:
            self._runner.env = wrap(self._runner.env)

    def _on_rollout_start(self) -> None:
        if self.num_timesteps >= self.due_at:
            self.due_at = (self.num_timesteps // self._config.interval + 1) * self._config.interval
            mean = self.compare()
            if self._report is not None:
                self._report(self.num_timesteps, mean)

    def _on_training_end(self) -> None:
        self.compare()  # the end of the curves, and of their summary

    def compare(self) -> float:
        """Compares and logs; returns the mean of the metric."""
        metric, values = self._config.metric, self._play(batched(self.model, margin=0.0))
        mean = float(np.mean(values))
        self.logger.record(f"{EVALUATION}{metric}", mean)
        parts = []
        for name, baseline in self._baselines.items():
            ratio = paired_ratio(values, baseline).mean
            self.logger.record(f"{EVALUATION}ratio_to_{name}", ratio)
            parts.append(f"{ratio:.3f} x {name}")
        column = column_of(metric)
        self.last_summary = f"{column.label} {column.write(mean)}"
        LOGGER.info(
            "step %s: %s%s", f"{self.num_timesteps:,}", self.last_summary, f" ({', '.join(parts)})" * bool(parts)
        )
        if self._keep is not None and merit(metric, mean) > self._best:
            self._best = merit(metric, mean)
            self._keep(self.model, mean)
        return mean

    def close(self) -> None:
        """Closes the environments."""
        self._runner.close()

    def _play(self, policy: Policy) -> FloatArray:
        """Returns the metric of every episode, (episodes,)."""
        config = self._config
        if self._wrapped:
            seeds = range(config.interim_seed, config.interim_seed + config.interim_episodes)
            played = tuple(rollout(self._runner.env, policy, seed=seed) for seed in seeds)
        else:
            played = self._runner.play(policy, episodes=config.interim_episodes, seed=config.interim_seed)
        metrics = played[0].metrics
        if config.metric not in metrics:
            raise ConfigError(
                f"evaluation.metric is {config.metric!r}: it must be one of {listed(config.metric, metrics)}"
            )
        return np.array([episode.metrics[config.metric] for episode in played])


class Checkpoints(_BetweenUpdates):
    """Checkpoints at intervals, and one when training is interrupted; with the time of the next comparison."""

    def __init__(
        self,
        folder: Path,
        config: CheckpointConfig,
        interruption: Interruption,
        comparisons: Comparisons,
        resumed: Checkpoint | None,
    ) -> None:
        super().__init__()
        self._folder = folder
        self._config = config
        self._interruption = interruption
        self._comparisons = comparisons
        self._resumed = resumed
        self._due_at = config.interval
        if resumed is not None:
            comparisons.due_at = resumed.memory.comparison_due_at
            self._due_at = resumed.memory.checkpoint_due_at

    def _on_rollout_start(self) -> None:
        """Saves when it is time; right after a resumption, puts everything in its place instead."""
        if self._resumed is not None:
            for name, value in self._resumed.memory.pending_log.items():
                self.logger.record(name, value)
            restore_generators(self._resumed, self.model)
            self._resumed = None
        elif self.num_timesteps >= self._due_at or (self._interruption.asked and self.num_timesteps > 0):
            self.save()
        if self._interruption.asked:
            raise TrainingInterrupted(self._interruption.asked)

    def save(self) -> None:
        """Saves the run."""
        self._due_at = (self.num_timesteps // self._config.interval + 1) * self._config.interval
        memory = Memory(
            comparison_due_at=self._comparisons.due_at,
            checkpoint_due_at=self._due_at,
            pending_log={name: float(value) for name, value in self.logger.name_to_value.items()},
        )
        path = save_checkpoint(self._folder, self.model, memory=memory, keep=self._config.keep)
        LOGGER.info("step %s: checkpoint %s", f"{self.num_timesteps:,}", path)


class ProgressBar(_BetweenUpdates):
    """A progress bar of the training: its decisions, those requested where they differ, and the last comparison."""

    def __init__(self, total: int, asked: int, comparisons: Comparisons, *, shown: bool) -> None:
        super().__init__()
        self._total = total
        self._asked = asked
        self._comparisons = comparisons
        self._shown = shown
        self._bar: Any = None

    def _on_training_start(self) -> None:
        self._bar = progress_bar(
            total=self._total,
            unit="decisions",
            shown=self._shown,
            initial=self.model.num_timesteps,
            unit_scale=True,
            say=LOGGER.info,
        )
        if self._asked != self._total:
            self._bar.set_description_str(f"{self._asked:,} requested", refresh=False)

    def _on_rollout_start(self) -> None:
        self._bar.set_postfix_str(self._comparisons.last_summary, refresh=False)
        self._bar.update(self.num_timesteps - self._bar.n)

    def _on_training_end(self) -> None:
        self.close()

    def close(self) -> None:
        """Closes the bar, at whatever end the training came to."""
        if self._bar is not None:
            self._bar.close()
