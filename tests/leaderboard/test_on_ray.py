"""Plays a leaderboard on a cluster of Ray that loses a node: the result files are those of one machine."""

import json
import sys
from pathlib import Path

import pytest

from tests.processes import run

SUITE = {
    "schema": "flowsched-suite/1",
    "name": "tiny-v1",
    "seeds": {"training": [0, 9], "validation": [10, 11], "test": [20, 21]},
    "settings": {
        "artemis": {
            "environment": "flowsched/Artemis-v0",
            "kwargs": {"workload": {"base": "gather-a1", "bursts": 5}, "k": 3, "f": 5},
            "metric": "deadline_hit_ratio",
        }
    },
}
LOSING = """
import os
import signal
import sys

from ray.cluster_utils import Cluster

from flowsched_gym.cli import main
from flowsched_gym.leaderboard import on_ray

played = on_ray._played


def losing(suite, setting, entrant, how):
    if entrant.label == "edf" and not os.path.exists("lost"):
        open("lost", "w").close()
        parent = os.getppid()
        assert "raylet" in open(f"/proc/{parent}/comm").read()
        os.kill(parent, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return played(suite, setting, entrant, how)


# The head computes nothing, as Ray ends without it.
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
for _ in range(2):
    cluster.add_node(num_cpus=1)
on_ray._played = losing
sys.exit(main([*sys.argv[1:], "--launcher", "ray", "--ray-address", cluster.address]))
"""
"""Plays on two nodes; the one that gets ``edf`` first is killed."""
PRIVATE = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}


def results_of(folder: Path) -> dict[str, object]:
    """Reads what result files hold, but for when and by which command it was made."""
    found = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    return {name: content["runs"] for name, content in found.items()}


@pytest.mark.exhaustive  # four processes of Ray
def test_a_leaderboard_on_a_cluster_that_loses_a_node_is_that_of_one_machine(tmp_path) -> None:
    (tmp_path / "tiny-v1.json").write_text(json.dumps(SUITE), encoding="utf-8")
    words = ("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "edf", "--policy", "fifo", "--policy", "sjf")
    command = "import sys; from flowsched_gym.cli import main; sys.exit(main(sys.argv[1:]))"

    run(sys.executable, "-c", command, *words, "--out", "one", folder=tmp_path)
    run(sys.executable, "-c", LOSING, *words, "--out", "many", folder=tmp_path, **PRIVATE)

    assert (tmp_path / "lost").exists()
    assert results_of(tmp_path / "many") == results_of(tmp_path / "one")
    assert len(results_of(tmp_path / "one")) == 3
