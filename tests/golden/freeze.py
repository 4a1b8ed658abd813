"""Freezes episodes of an environment: ``python -m tests.golden.freeze flowsched/Artemis-v0``.

A frozen episode is what users' results rest on. When the behaviour of an id changes on purpose, the id gets a new
version, and the new id is frozen; a file that exists is only written over with ``--overwrite``, for an id that was
never released.
"""

import argparse
import hashlib
import json
import math
import sys
from pathlib import Path
from typing import Any, Final

import gymnasium as gym

import flowsched_gym

FOLDER: Final = Path(__file__).resolve().parent

CASES: Final[dict[str, list[dict[str, Any]]]] = {
    "flowsched/Artemis-v0": [
        {},
        {"workload": "gather-heavy", "k": 3, "f": 4, "bursts": 5, "transport": "tcp"}
        | {"reward": "lagged", "defer": "to-back"},
        {"workload": "gather-multi", "k": 2, "f": 3, "bursts": 6, "observation": "paper", "defer": "wait"},
        {"workload": "artemis-thesis", "bursts": 15, "transport": "tcp-lossy-2018a", "defer": "wait"},
    ],
    "flowsched/MERPOrder-v0": [
        {"flows": 70, "load": 0.9},
        {"topology": "tree9", "flows": 70, "load": 0.95, "f": 5, "reward": "max_slowdown", "link_delay_us": 10.0},
        {"workload": "poisson-web-search", "flows": 70, "f": 4, "reward": "slowdown", "link_gbps": 10.0},
        {"topology": "tree9", "workload": "poisson-tree-small", "flows": 70, "f": 2, "reward": "fct"},
    ],
    "flowsched/MERPRoute-v0": [
        {"flows": 110, "load": 0.7},
        {"workload": "poisson-fat-tree-failures", "flows": 80, "rerouting": "memr", "link_delay_us": 10.0},
        {"flows": 60, "failures": 2, "discipline": "ps", "rerouting": "conga", "reward": "both"},
        {"flows": 60, "arity": 6, "failures": 8, "discipline": "srpt", "reward": "fct", "link_gbps": 10.0},
    ],
    "flowsched/AuTOThresholds-v0": [
        {"flows": 400, "period_flows": 10, "hosts": 8},
        {"workload": "auto-clusters", "flows": 300, "hosts": 8, "clusters": 4, "queues": 3}
        | {"period_flows": None, "period_ms": 5.0, "reward": "log_slowdown"},
        {"workload": "auto-data-mining", "topology": "one-link", "within": "fifo", "flows": 300, "period_flows": 6}
        | {"queues": 8, "observation": "paper", "m_s": 12, "reward": "fct_ratio"}
        | {"initial_thresholds": [2e3, 1e4, 5e4, 2e5, 1e6, 5e6, 2e7]},
    ],
    "flowsched/QCluster-v0": [
        {"flows": 150, "load": 0.9, "period_us": 500.0},
        {"flows": 100, "goal": "fq", "reward": "jain", "transport": "dctcp", "window": 70, "buffer": 60, "mark_at": 20}
        | {"workload": "qcluster-changing", "period_us": 10_000.0, "messages": "time"},
        {"flows": 150, "workload": "qcluster-deadlines", "goal": "deadline", "reward": "deadlines", "queues": 6}
        | {"period_us": 300.0, "load": 0.9},
        {"flows": 80, "goal": "srpt", "action": "rule", "reward": "fct", "disorder": "las", "buckets": 32}
        | {"gap_us": 500.0},
    ],
    "flowsched/TAFETasks-v0": [
        {"tasks": 25, "load": 0.9},
        {"workload": "tafe-alibaba", "tasks": 8, "information": "full", "barrier": "task", "cpus": [1.5]},
        {"workload": "tafe-short", "tasks": 25, "topology": "big-switch", "f": 6, "typical_kb": 20.0}
        | {"tail_weight": 1.0, "link_delay_us": 10.0},
    ],
    "flowsched/TAFEThresholds-v0": [
        {"tasks": 60, "load": 0.9, "period_flows": 5},
        {"workload": "tafe-alibaba", "tasks": 20, "within": "shortest", "barrier": "task", "cpus": [1.5], "queues": 4}
        | {"period_flows": None, "period_ms": 20.0, "reward": "tct"},
        {"workload": "tafe-web-search", "tasks": 20, "within": "remaining", "demotion": "arrived", "period_flows": 2}
        | {"topology": "big-switch", "initial_thresholds": [1e5, 1e6], "link_delay_us": 10.0},
    ],
    "flowsched/AuTOLongFlows-v0": [
        {"hosts": 4, "flows": 60, "thresholds": [1e5, 1e6], "period_ms": 20.0, "n_l": 4, "m_l": 2},
        {"workload": "auto-clusters", "hosts": 8, "flows": 300, "thresholds": [1e4, 1e5, 5e5, 2e6], "paths": 2}
        | {"scope": "network", "period_ms": 5.0, "n_l": 4, "m_l": 3}
        | {"observation": "paper", "reward": "throughput_ratio"},
        {"workload": "auto-data-mining", "hosts": 6, "flows": 200, "load": 0.9, "thresholds": [2e5]}
        | {"observation": "paper", "layout": "recorded", "reward": "slowdown_growth"},
        {"hosts": 4, "flows": 60, "thresholds": [1e5, 1e6], "scope": "network", "n_l": 3, "m_l": 0}
        | {"reward": "progress"},
    ],
}
"""Arguments of the episodes of each id."""

NUM_DECISIONS: Final = 120
"""An episode is frozen up to its end or to this many decisions."""

SHOWN_EVERY: Final = 20
"""Observations are hashed; every twentieth is kept in full, so that a difference can be read."""

METRICS: Final = ("num_finished", "makespan", "mean_fct", "max_slowdown", "deadline_hit_ratio")
"""Metrics that are frozen where the flows define them; others may join them without a new version."""


def file_of(env_id: str) -> Path:
    return FOLDER / f"{env_id.removeprefix('flowsched/')}.json"


def command(env_id: str) -> str:
    return f"python -m tests.golden.freeze {env_id}"


def scattered_actions(space: gym.Space[Any]) -> list[Any]:
    """Returns actions that look random and come from no library: a linear congruential generator."""
    state = 1

    def scattered(end: int) -> int:
        nonlocal state
        state = (1_103_515_245 * state + 12_345) % 2**31
        return (state >> 16) % end

    if isinstance(space, gym.spaces.Discrete):
        return [scattered(int(space.n)) for _ in range(NUM_DECISIONS)]
    if isinstance(space, gym.spaces.MultiDiscrete):
        return [[scattered(int(count)) for count in space.nvec] for _ in range(NUM_DECISIONS)]
    assert isinstance(space, gym.spaces.Box)
    assert (space.low == -1).all()
    assert (space.high == 1).all()
    # Of few digits, so that JSON keeps them short.
    return [[scattered(65) / 32 - 1 for _ in space.low] for _ in range(NUM_DECISIONS)]


def play(env_id: str, arguments: dict[str, Any], *, seed: int, actions: list[Any] | None = None) -> dict[str, Any]:
    """Plays an episode and returns all that is frozen of it, in values that JSON keeps exactly.

    Args:
        env_id: Id of the environment.
        arguments: Its arguments.
        seed: Seed of the reset.
        actions: Actions to take; by default scattered ones.
    """
    env = gym.make(env_id, **arguments).unwrapped
    space: Any = env.action_space
    observation, info = env.reset(seed=seed)
    digest = hashlib.sha256(observation.tobytes())
    episode: dict[str, Any] = {
        "arguments": arguments,
        "seed": seed,
        **({"num_actions": int(space.n)} if isinstance(space, gym.spaces.Discrete) else {"action_space": str(space)}),
        "columns": list(env.layout.column_names),  # type: ignore[attr-defined]
        "bounds": [float(env.observation_space.low.min()), float(env.observation_space.high.max())],  # type: ignore[attr-defined]
        "start": {"time": info["time"], "observation": observation.tolist()},
        "steps": [],
    }
    for number, action in enumerate(scattered_actions(space) if actions is None else actions, start=1):
        observation, reward, terminated, truncated, info = env.step(action)
        digest.update(observation.tobytes())
        step = {
            "action": action,
            "reward": float(reward),
            "time": float(info["time"]),
            "finished": list(info["finished"]),
        }
        if "action_mask" in info:
            step["mask"] = "".join("01"[int(allowed)] for allowed in info["action_mask"])
        if number % SHOWN_EVERY == 0:
            step["observation"] = observation.tolist()
        episode["steps"].append(step)
        if terminated or truncated:
            metrics = {name: float(info["episode_metrics"][name]) for name in METRICS}
            episode["metrics"] = {name: value for name, value in metrics.items() if not math.isnan(value)}
            break
    episode["observations_sha256"] = digest.hexdigest()
    return episode


def write(path: Path, document: dict[str, Any]) -> None:
    """Writes a document with one line for each entry of an episode and for each of its steps."""

    def lines(values: list[str], indent: str) -> str:
        return (",\n" + indent).join(values)

    episodes = []
    for episode in document["episodes"]:
        entries = {key: json.dumps(value) for key, value in episode.items()}
        entries["steps"] = f"[\n   {lines([json.dumps(step) for step in episode['steps']], '   ')}\n  ]"
        episodes.append("{\n  " + lines([f'"{key}": {text}' for key, text in entries.items()], "  ") + "\n }")
    head = [f'"{key}": {json.dumps(value)}' for key, value in document.items() if key != "episodes"]
    text = "{\n" + lines([*head, f'"episodes": [\n {lines(episodes, " ")}\n]'], "") + "\n}\n"
    assert json.loads(text) == document
    draft = path.with_suffix(".tmp")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def main() -> int:
    """Writes the file of an id; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.freeze", description="Freezes episodes of an id.")
    parser.add_argument("env_id", choices=sorted(CASES))
    parser.add_argument("--overwrite", action="store_true", help="write over the episodes of an id that is unreleased")
    options = parser.parse_args()
    path = file_of(options.env_id)
    if path.exists() and not options.overwrite:
        sys.stderr.write(
            f"{path.name} exists: episodes of a released id stay as they are. Give the environment a new version, "
            "or use --overwrite for an id that was never released.\n"
        )
        return 2
    episodes = [play(options.env_id, arguments, seed=number) for number, arguments in enumerate(CASES[options.env_id])]
    document = {"id": options.env_id, "package_version": flowsched_gym.__version__, "episodes": episodes}
    write(path, document)
    sys.stdout.write(f"Froze {len(episodes)} episodes of {options.env_id} in {path.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
