"""Gathers the infos of many environments in Gymnasium's form: for each key an array, and under ``_key`` who has it."""

from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray
from flowsched_gym.envs.episode import EpisodeBatch
from flowsched_gym.flows.metrics import summary
from flowsched_gym.workload import Workload

Infos = dict[str, Any]


class LazyInfos(dict[str, Any]):
    """A dict some of whose values are made when they are first read: what nobody reads costs nothing.

    Args:
        values: Values that are there.
        deferred: Makers of the other values, by key.
    """

    __slots__ = ("_deferred",)

    def __init__(self, values: Mapping[str, Any], deferred: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__(values)
        for key in deferred:
            super().__setitem__(key, None)
        self._deferred = dict(deferred)

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
        """Pickles and copies as a plain dict."""
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
    """Merges infos of single environments as Gymnasium's vector environments do.

    Args:
        infos: Infos of some environments by number, all numbers in them.
        num_envs: Environments of the vector.
    """
    merged: dict[str, Any] = {}
    for number, info in infos.items():
        for key, value in info.items():
            if key not in merged:
                merged[key] = np.zeros(num_envs, dtype=type(value))
                merged[f"_{key}"] = np.zeros(num_envs, dtype=np.bool_)
            merged[key][number] = value
            merged[f"_{key}"][number] = True
    return merged


def empty_tuples(num_envs: int, numbers: IntArray) -> npt.NDArray[Any]:
    """Makes an array of empty tuples for some environments, and ``None`` for the others."""
    tuples = np.full(num_envs, None, dtype=object)
    for number in numbers.tolist():
        tuples[number] = ()
    return tuples


def lists_of_flows(rows: IntArray, counts: IntArray, flow_ids: Sequence[IntArray | None] | None) -> npt.NDArray[Any]:
    """Makes, for each environment, the tuple of the ids of flows that finished.

    Args:
        rows: Rows of the flows, those of the first environment first.
        counts: How many finished in each environment, (num_envs,).
        flow_ids: For each environment the ids by row, or ``None`` where ids are rows.
    """
    tuples = empty_tuples(len(counts), np.arange(len(counts)))
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


def only_tuples(tuples: npt.NDArray[Any], who: BoolArray) -> npt.NDArray[Any]:
    """Restricts tuples to some environments, ``None`` for the others."""
    kept = tuples.copy()
    kept[~who] = None
    return kept


def without_tuples(tuples: npt.NDArray[Any], who: BoolArray) -> npt.NDArray[Any]:
    """Empties the tuples of some environments."""
    kept = tuples.copy()
    for number in np.flatnonzero(who).tolist():
        kept[number] = ()
    return kept


class EndedEpisode:
    """The end of an episode, for as long as its metrics may be read."""

    __slots__ = ("__weakref__", "_draw", "_now", "_number", "_outcomes", "_simulation")

    def __init__(self, simulation: EpisodeBatch, number: int, draw: Callable[[], Workload], now: float | None) -> None:
        self._simulation = simulation
        self._number = number
        self._draw = draw
        self._now = now
        self._outcomes: tuple[FloatArray, FloatArray] | None = None

    def keep(self) -> tuple[FloatArray, FloatArray]:
        """Copies what the next episode in this network will write over, and returns it."""
        self._outcomes = self._outcomes or self._simulation.outcomes(self._number)
        return self._outcomes

    def metrics(self) -> dict[str, float]:
        """Measures the episode."""
        simulation = self._simulation
        records = simulation.complete_records(self._draw(), *self.keep())
        return summary(records, capacity=float(simulation.topology.capacity[0]), now=self._now).as_dict()
