"""Builds the infos of many environments, in Gymnasium's form."""

import functools
import weakref
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.envs.infos import (
    EndedEpisode,
    Infos,
    LazyInfos,
    empty_tuples,
    lists_of_flows,
    merge_infos,
    only,
    only_entries,
    only_tuples,
    without_tuples,
)
from flowsched_gym.envs.vector_episodes import VectorEpisodes
from flowsched_gym.fluid.compiled.stepping import Results


class VectorInfos(VectorEpisodes):
    """Infos of what happened in each environment, made as far as a caller reads them."""

    def _infos_of_reset(self, outputs: Results, numbers: IntArray) -> Infos:
        """Builds the infos of environments that have begun an episode."""
        who = np.zeros(self.num_envs, dtype=np.bool_)
        who[numbers] = True
        nobody = np.zeros(self.num_envs, dtype=np.bool_)
        infos = self._gather(outputs, who, nobody)
        infos["finished"] = empty_tuples(self.num_envs, numbers)
        return infos

    def _infos_of_step(
        self, outputs: Results, finished: IntArray, resetting: IntArray | None, measured: BoolArray | None
    ) -> Infos:
        """Builds the infos of a step; ``measured`` tells whose episodes have ended by themselves, if any has."""
        everyone = np.ones(self.num_envs, dtype=np.bool_)
        rewarded = everyone
        if resetting is not None:
            rewarded = everyone.copy()
            rewarded[resetting] = False
        infos = self._gather(outputs, everyone, rewarded)
        deferred: dict[str, Callable[[], Any]] = {"finished": self._finished_maker(outputs, finished)}
        if measured is not None:
            for name, column in zip(self._template.final_infos, outputs.final.T, strict=True):
                infos[name], infos[f"_{name}"] = np.where(measured, column, 0), measured.copy()
            infos["_episode_metrics"] = measured.copy()
            deferred["episode_metrics"] = self._metrics_maker(np.flatnonzero(measured), outputs)
        return LazyInfos(infos, deferred)

    def _gather(self, outputs: Results, who: BoolArray, rewarded: BoolArray) -> Infos:
        """Builds the infos that all environments in ``who`` have, and the reward terms of those in ``rewarded``.

        Where both are the same array, they are all environments.
        """
        terms: Infos = {}
        infos: Infos = {"reward_terms": terms, "_reward_terms": who, "_finished": who}
        are_all = who is rewarded
        for name, column in self._columns(outputs).items():
            infos[name], infos[f"_{name}"] = column if are_all else only_entries(column, who), who
        if are_all or rewarded.any():
            for name, column in zip(self._template.terms, outputs.terms.T, strict=True):
                terms[name] = column.copy() if are_all else only_entries(column, rewarded)
                terms[f"_{name}"] = rewarded
        return infos

    def _finished_maker(self, outputs: Results, finished: IntArray) -> Callable[[], npt.NDArray[Any]]:
        """Returns what makes the lists of finished flows: for each environment a tuple of flow ids."""
        counts = outputs.num_finished.copy()
        flow_ids = None
        if self._flow_ids:
            flow_ids = [self._flow_ids.get(network) for network in self._current.tolist()]
        return functools.partial(lists_of_flows, finished, counts, flow_ids)

    def _metrics_maker(self, numbers: IntArray, outputs: Results) -> Callable[[], Infos]:
        """Returns what makes the metrics of episodes that have ended."""
        times, terminated = outputs.time, outputs.terminated
        episodes = {}
        for number in numbers.tolist():
            network, seed = int(self._current[number]), int(self._episode_seed[number])
            draw = functools.partial(self._source(number).draw, seed)
            now = None if terminated[number] else float(times[number])
            episodes[number] = EndedEpisode(self.simulation, network, draw, now)
            self._ended[network] = weakref.ref(episodes[number])

        def make() -> Infos:
            return merge_infos({number: episode.metrics() for number, episode in episodes.items()}, self.num_envs)

        return make

    def _reset_now(self, outputs: Results, infos: Infos, ended: IntArray) -> Infos:
        """Begins the next episodes of environments that have ended; what they had is kept as final."""
        who = np.zeros(self.num_envs, dtype=np.bool_)
        who[ended] = True
        final_obs = np.full(self.num_envs, None, dtype=object)
        last = outputs.observation
        for number in ended.tolist():
            final_obs[number] = last[number].copy()
        finished = functools.partial(infos.__getitem__, "finished")
        deferred: dict[str, Callable[[], Any]] = {"finished": lambda: only_tuples(finished(), who)}
        if "episode_metrics" in infos:
            deferred["episode_metrics"] = functools.partial(infos.__getitem__, "episode_metrics")
        final = LazyInfos(only({key: infos[key] for key in infos if key not in deferred}, who), deferred)
        self._begin(ended)
        self._observe(ended, outputs)
        everyone = np.ones(self.num_envs, dtype=np.bool_)
        now = self._gather(outputs, everyone, ~who)
        now |= {"final_obs": final_obs, "_final_obs": who, "final_info": final, "_final_info": who.copy()}
        return LazyInfos(now, {"finished": lambda: without_tuples(finished(), who)})

    def _columns(self, outputs: Results) -> dict[str, npt.NDArray[Any]]:
        """Returns the infos of every step, with a leading axis over environments."""
        return {"time": outputs.time}

    @abstractmethod
    def _observe(self, numbers: IntArray, outputs: Results) -> None:
        """Writes what environments show now, without having acted."""
