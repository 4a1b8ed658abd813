"""Replays from an empty cache: of disciplines, ways to choose paths and ways to share links, one is compiled."""

from pathlib import Path

import pytest

from tests.processes import run_python

pytestmark = pytest.mark.exhaustive

REPLAY = """
import flowsched_gym
from numba.core import event

class Compiled(event.Listener):
    names = set()
    def on_start(self, signal):
        self.names.add(signal.data["dispatcher"].py_func.__name__)
    def on_end(self, signal):
        pass

event.register("numba:compile", Compiled())
hosts = {{"flow_id": [0, 1], "source": [0, 1], "destination": [2, 2]}}
flows = {{**hosts, "size_bytes": [1e5, 2e5], "arrival_s": [0.0, 0.001]}}
flowsched_gym.replay(flows, discipline={discipline!r}, topology="one-link", engine="compiled", parameters={parameters})
print(*sorted(Compiled.names))
"""

DISCIPLINES = {
    "order_by",
    "order_by_finite",
    "order_without_preemption",
    "level_by_attained",
    "serve_by_virtual_deadline",
    "weigh_queues",
}
PATHS = {"choose_least_congested", "choose_by_expansion", "_least_loaded"}
SHARING = {"share_links", "share_incrementally"}


def compiled(discipline: str, folder: Path, parameters: str = "None") -> set[str]:
    """Returns the names of what a replay compiles that is not the same for all."""
    program = REPLAY.format(discipline=discipline, parameters=parameters)
    names = run_python(program, NUMBA_CACHE_DIR=str(folder), FLOWSCHED_QUIET="1").split()
    return (DISCIPLINES | PATHS | SHARING).intersection(names)


def test_an_ordered_discipline_compiles_itself_and_the_sharing_in_an_order(tmp_path: Path) -> None:
    assert compiled("fifo", tmp_path) == {"order_by", "share_links"}


def test_feedback_queues_compile_themselves_and_incremental_sharing(tmp_path: Path) -> None:
    found = compiled("mlfq", tmp_path, "{'thresholds': [1e5]}")
    assert found == {"level_by_attained", "share_incrementally"}
