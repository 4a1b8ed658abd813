"""What tests are told of each environment, the flows that several are shown with, and those solved exactly."""

from collections.abc import Container, Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from flowsched_gym.core.files import read_json
from flowsched_gym.workload import Workload
from tests.repository import ROOT
from tests.simulate import make_flows

Arguments = dict[str, Any]

FOLDER: Final = ROOT / "tests" / "data" / "exact"
TOLERANCE: Final = 1e-9
"""Relative. The exact solutions are rational; float64 keeps them to a few units in the sixteenth digit."""


def exact_cases(name: str) -> list[dict[str, Any]]:
    """Reads flow sets that were solved in rational arithmetic, by other programs."""
    cases: list[dict[str, Any]] = read_json(FOLDER / f"{name}.json")["cases"]
    return cases


class Cases(NamedTuple):
    """Arguments of an environment, by what tests need them for.

    Attributes:
        short: Make an episode of 40 to 100 decisions, which matter: masks, if there are any, show all kinds of actions.
            Nine hosts may send.
        choices: Values by argument that belong to all combinations besides the members of enums.
        ties: Under which flows of whole sizes and times do many things at once. Links have 1 B/s and whole delays; with
            windows, so many B/s that a flow takes as long as without, and several windows; with thresholds, 1 MB/s.
        frozen: Of the frozen episodes, in their order, as JSON; one at least ends within ``NUM_DECISIONS`` of
            ``tests/golden/freeze.py``.
        pictures: By name, under which there is much to show, or little, or numbers are long.
        rare_ties: As ``ties``, with what has to be compiled for them alone.
        varied: Others that native vectors must heed, beside ``short``.
        longer: Where no shorter episode has another future after two decisions.
        slower: Of episodes with decisions at a rhythm: the largest flows of measured traffic take 20 s on these links.
    """

    short: Arguments
    choices: dict[str, tuple[Any, ...]]
    ties: tuple[Arguments, ...]
    frozen: list[Arguments]
    pictures: dict[str, Arguments]
    rare_ties: tuple[Arguments, ...] = ()
    varied: tuple[Arguments, ...] = ()
    longer: Arguments = {}  # noqa: RUF012 - nobody writes to it
    slower: Arguments = {}  # noqa: RUF012 - nor to it


def few_of(values: Iterable[Any], few: Container[Any]) -> list[Any]:
    """Returns the values of a parameter, or of several, all but a few of them exhaustive."""
    rare = pytest.mark.exhaustive
    return [
        each if each in few else pytest.param(*each if isinstance(each, tuple) else [each], marks=rare)
        for each in values
    ]


def gather(num_flows: int = 300, *, first_host: int = 1, num_destinations: int = 1) -> Workload:
    """Returns flows with deadlines that all arrive at once, so that the queue is as long as can be."""
    rows = np.arange(num_flows)
    return make_flows(
        np.zeros(num_flows),
        np.where(rows % 3, 350e3, 2.5e6),
        span=np.where(rows % 7, 0.001 * rows + 0.002, np.inf),
        source=first_host + num_destinations + rows % 20,
        destination=first_host - 1 + rows % num_destinations,
    )


def mixed(num_flows: int, hosts: int) -> Workload:
    """Returns flows of very different sizes that all arrive at once."""
    rows = np.arange(num_flows)
    ends = rows % hosts, (rows + 1 + rows % (hosts - 2)) % hosts
    return make_flows(np.zeros(num_flows), 10.0 ** (3 + rows % 7), source=ends[0], destination=ends[1])


def to_one(size: float) -> Workload:
    """Returns flows of one size that all arrive at once, between the same two hosts."""
    return make_flows(np.zeros(40), np.full(40, size), source=np.zeros(40, dtype=int), destination=[1] * 40)
