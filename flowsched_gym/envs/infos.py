"""Gathers the infos of many environments in Gymnasium's form: for each key an array, and under ``_key`` who has it."""

import functools
import weakref
from abc import abstractmethod
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, IntArray
from flowsched_gym.envs.episode import EndedEpisode
from flowsched_gym.envs.vector_episodes import VectorEpisodes
from flowsched_gym.flows.decisions import Results

Infos = dict[str, Any]


class LazyInfos(dict[str, Any]):
    """A dict some of whose values, the deferred ones, are made when they are first read: what nobody reads is free."""

    __slots__ = ("_deferred",)

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        deferred: Mapping[str, Callable[[], Any]] | None = None,
        /,
        **more: Any,
    ) -> None:
        """Takes keywords as dict does: Gymnasium's wrappers make infos of the type of those they have."""
        super().__init__(values or {}, **more)
        self._deferred = dict(deferred or {})
        for key in self._deferred:
            super().__setitem__(key, None)

    def __getitem__(self, key: str) -> Any:
        maker = self._deferred.get(key)
        if maker is not None:
            self[key] = maker()
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._deferred.pop(key, None)
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        super().__delitem__(key)
        self._deferred.pop(key, None)

    def __iter__(self) -> Iterator[str]:
        """Iterates over the keys. That it is not dict's own lets ``dict(infos)`` and ``{**infos}`` ask for values."""
        return super().__iter__()

    def get(self, key: str, default: Any = None) -> Any:
        """Returns a value or a default."""
        return self[key] if key in self else default  # noqa: SIM401  # this is get

    def pop(self, key: str, *default: Any) -> Any:
        """Takes a value out."""
        if key in self._deferred:
            _ = self[key]
        return super().pop(key, *default)

    def popitem(self) -> tuple[str, Any]:
        """Takes the last value out."""
        self._make_all()
        return super().popitem()

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Returns a value, and sets it before if it is missing."""
        return self[key] if key in self else super().setdefault(key, default)

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]  # dict's own view class cannot be named
        """Views keys and values, all made."""
        self._make_all()
        return super().items()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]  # as above
        """Views the values, all made."""
        self._make_all()
        return super().values()

    def copy(self) -> dict[str, Any]:
        """Returns a plain dict with all values made."""
        self._make_all()
        return dict(super().items())

    def update(self, *others: Any, **more: Any) -> None:
        """Sets values as dict does."""
        for key, value in dict(*others, **more).items():
            self[key] = value

    def __or__(self, other: dict[str, Any]) -> dict[str, Any]:  # type: ignore[override]  # keys are strings
        return self.copy() | other

    def __ior__(self, other: Any) -> Self:  # type: ignore[misc,override]  # as above
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        self._make_all()
        return super().__eq__(other.copy() if isinstance(other, LazyInfos) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __repr__(self) -> str:
        self._make_all()
        return super().__repr__()

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return dict, (self.copy(),)

    __copy__ = copy

    def clear(self) -> None:
        """Forgets everything."""
        self._deferred.clear()
        super().clear()

    def _make_all(self) -> None:
        for key in tuple(self._deferred):
            _ = self[key]


def merge_infos(infos: Mapping[int, Mapping[str, Any]], num_envs: int) -> dict[str, Any]:
    """Merges infos of some environments, by their numbers, as Gymnasium's vector environments do; all are numbers."""
    merged: dict[str, Any] = {}
    for number, info in infos.items():
        for key, value in info.items():
            if key not in merged:
                merged[key] = np.zeros(num_envs, dtype=type(value))
                merged[f"_{key}"] = np.zeros(num_envs, dtype=np.bool_)
            merged[key][number] = value
            merged[f"_{key}"][number] = True
    return merged


def with_tuples(tuples: npt.NDArray[Any], numbers: IntArray, value: tuple[()] | None) -> npt.NDArray[Any]:
    """Copies an array of tuples, with another value for some environments."""
    changed = tuples.copy()
    for number in numbers.tolist():
        changed[number] = value
    return changed


def lists_of_flows(rows: IntArray, counts: IntArray, flow_ids: Sequence[IntArray | None] | None) -> npt.NDArray[Any]:
    """Makes, for each environment, the tuple of the ids of flows that finished, from their rows, one after the other.

    ``counts`` is how many finished in each, (num_envs,), and ``flow_ids`` the ids by row; ``None`` where ids are rows.
    """
    tuples = with_tuples(np.empty(len(counts), dtype=object), np.arange(len(counts)), ())
    listed, end = rows.tolist(), 0
    for number in np.flatnonzero(counts).tolist():
        begin, end = end, end + int(counts[number])
        ids = None if flow_ids is None else flow_ids[number]
        tuples[number] = tuple(listed[begin:end] if ids is None else ids[listed[begin:end]].tolist())
    return tuples


def only(infos: Mapping[str, Any], who: BoolArray) -> Infos:
    """Restricts infos to some environments."""
    return {
        key: only(value, who) if isinstance(value, dict) else only_entries(value, who) for key, value in infos.items()
    }


def only_entries(column: npt.NDArray[Any], who: BoolArray) -> npt.NDArray[Any]:
    """Restricts entries to some environments, zero for the others."""
    along = who.reshape(who.shape + (1,) * (column.ndim - 1))
    return np.where(along, column, np.zeros(1, column.dtype))


class VectorInfos(VectorEpisodes):
    """Infos of what happened in each environment, made as far as a caller reads them."""

    _lists_finished: bool
    """Whether infos list the flows that finished."""

    def _infos_of_reset(self, outputs: Results, numbers: IntArray) -> Infos:
        who = np.zeros(self.num_envs, dtype=np.bool_)
        who[numbers] = True
        nobody = np.zeros(self.num_envs, dtype=np.bool_)
        infos = self._gather(outputs, who, nobody)
        if self._lists_finished:
            infos["finished"] = with_tuples(np.full(self.num_envs, None, dtype=object), numbers, ())
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
        deferred: dict[str, Callable[[], Any]] = {}
        if self._lists_finished:
            deferred["finished"] = self._finished_maker(outputs, finished)
        if measured is not None:
            for name, column in zip(self._template.final_infos, outputs.final.T, strict=True):
                infos[name], infos[f"_{name}"] = np.where(measured, column, 0), measured.copy()
            infos["_episode_metrics"] = measured.copy()
            deferred["episode_metrics"] = self._metrics_maker(np.flatnonzero(measured), outputs)
        return LazyInfos(infos, deferred)

    def _gather(self, outputs: Results, who: BoolArray, rewarded: BoolArray) -> Infos:
        """Builds the infos of ``who``, and the reward terms of ``rewarded``; the same array for both means everyone."""
        terms: Infos = {}
        infos: Infos = {"reward_terms": terms, "_reward_terms": who}
        if self._lists_finished:
            infos["_finished"] = who
        are_all = who is rewarded
        for name, column in self._columns(outputs).items():
            infos[name], infos[f"_{name}"] = column if are_all else only_entries(column, who), who
        if are_all or rewarded.any():
            for name, column in zip(self._template.terms, outputs.terms.T, strict=True):
                terms[name] = column.copy() if are_all else only_entries(column, rewarded)
                terms[f"_{name}"] = rewarded
        return infos

    def _finished_maker(self, outputs: Results, finished: IntArray) -> Callable[[], npt.NDArray[Any]]:
        counts = outputs.num_finished.copy()
        flow_ids = None
        if self._flow_ids:
            flow_ids = [self._flow_ids.get(network) for network in self._current.tolist()]
        return functools.partial(lists_of_flows, finished, counts, flow_ids)

    def _metrics_maker(self, numbers: IntArray, outputs: Results) -> Callable[[], Infos]:
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
        deferred: dict[str, Callable[[], Any]] = {}
        begun: dict[str, Callable[[], Any]] = {}
        if self._lists_finished:
            finished, others = functools.partial(infos.__getitem__, "finished"), np.flatnonzero(~who)
            deferred["finished"] = lambda: with_tuples(finished(), others, None)
            begun["finished"] = lambda: with_tuples(finished(), ended, ())
        if "episode_metrics" in infos:
            deferred["episode_metrics"] = functools.partial(infos.__getitem__, "episode_metrics")
        final = LazyInfos(only({key: infos[key] for key in infos if key not in deferred}, who), deferred)
        self._begin(ended)
        self._observe(ended, outputs)
        everyone = np.ones(self.num_envs, dtype=np.bool_)
        now = self._gather(outputs, everyone, ~who)
        now |= {"final_obs": final_obs, "_final_obs": who, "final_info": final, "_final_info": who.copy()}
        return LazyInfos(now, begun)

    def _columns(self, outputs: Results) -> dict[str, npt.NDArray[Any]]:
        """Returns the infos of every step, with a leading axis over environments."""
        columns: dict[str, npt.NDArray[Any]] = {"time": outputs.time}
        if self._template.num_actions:
            columns["action_mask"] = outputs.mask.astype(np.int8)
        return columns

    @abstractmethod
    def _observe(self, numbers: IntArray, outputs: Results) -> None:
        """Writes what environments show now, without having acted."""
