"""The flows that the packet simulator had, and one episode of them here: what the comparisons with it share."""

import csv
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.packed import read_bytes
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, SECONDS_PER_MILLISECOND
from flowsched_gym.evaluation import make_environment, rollout
from flowsched_gym.players import make_policy
from flowsched_gym.workload import Workload

ARTEMIS: Final = "flowsched/Artemis-v0"
DATA: Final = Path(__file__).resolve().parent / "data"
THESIS: Final = DATA / "artemis_thesis.json"
"""Figures of the Artemis thesis."""
NUM_SOURCES: Final = 10
LARGE: Final = (350 * BYTES_PER_KILOBYTE, 40 * SECONDS_PER_MILLISECOND)
SMALL: Final = (250 * BYTES_PER_KILOBYTE, 50 * SECONDS_PER_MILLISECOND)
"""Size in B and time allowed in s of each kind of flow."""


def read_bursts(file_name: str, setting: str | None = None) -> list[tuple[float, str]]:
    """Reads bursts, of one setting where the file has several, as arrival in s and letters, one for each source."""
    rows = csv.DictReader(read_bytes(DATA / file_name).decode().splitlines())
    return [(float(row["arrival_s"]), row["flows"]) for row in rows if setting is None or row["setting"] == setting]


def gather(bursts: list[tuple[float, str]]) -> Workload:
    """Builds the flows of bursts given as arrival and letters, one letter for each source."""
    kinds = [LARGE if letter == "L" else SMALL for _, letters in bursts for letter in letters]
    count = len(kinds)
    return Workload(
        flow_id=np.arange(count),
        source=np.arange(count) % NUM_SOURCES,
        destination=np.full(count, NUM_SOURCES),
        size=np.array([size for size, _ in kinds]),
        arrival_time=np.repeat([arrival for arrival, _ in bursts], NUM_SOURCES),
        deadline_span=np.array([span for _, span in kinds]),
    )


def start_together(printed: dict[str, Any]) -> tuple[Workload, npt.NDArray[np.bool_]]:
    """Builds flows that start together, as the packet simulator did; returns them, and which of them it tells of."""
    count, size = printed["flows"], float(printed["size"])
    num_large = (count + 1) // 2
    mixed = [LARGE[0]] * num_large + [SMALL[0]] * (count - num_large)
    sizes = np.array([size] * count if printed["kind"] == "same" or count == 1 else mixed)
    workload = Workload(
        flow_id=np.arange(count),
        source=np.arange(count),
        destination=np.full(count, count),
        size=sizes,
        arrival_time=np.zeros(count),
    )
    return workload, sizes == size


def play(workload: Workload, policy: str, **arguments: object) -> tuple[npt.NDArray[np.float64], float]:
    """Plays one episode; returns the flow completion times in s and the share of deadlines met."""
    env = make_environment(ARTEMIS, {"workload": workload, "k": 10, "f": 5, **arguments})
    episode = rollout(env, make_policy(policy, env, seed=0), seed=0)
    fct: npt.NDArray[np.float64] = env.unwrapped.records().fct  # type: ignore[attr-defined]
    return fct, episode.metrics["deadline_hit_ratio"]
