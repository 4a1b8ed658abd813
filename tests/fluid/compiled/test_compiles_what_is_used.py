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


@pytest.mark.parametrize(
    ("discipline", "parameters", "expected"),
    [
        ("fifo", "None", {"order_by", "share_links"}),
        ("mlfq", "{'thresholds': [1e5]}", {"level_by_attained", "share_incrementally"}),
    ],
)
def test_a_discipline_compiles_itself_and_its_way_to_share(discipline, parameters, expected, tmp_path: Path) -> None:
    program = REPLAY.format(discipline=discipline, parameters=parameters)
    names = run_python(program, NUMBA_CACHE_DIR=str(tmp_path), FLOWSCHED_QUIET="1").split()
    assert (DISCIPLINES | PATHS | SHARING).intersection(names) == expected
