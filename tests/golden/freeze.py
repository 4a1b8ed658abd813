"""Freezes episodes of an environment, ``python -m tests.golden.freeze flowsched/Artemis-v0``, or the ``numbers``.

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
from flowsched_gym.core.files import write_packed
from flowsched_gym.core.packed import is_file, packed_file, unpacked
from tests.environments import CASES
from tests.golden.numbers import FILE as NUMBERS
from tests.golden.numbers import numbers

FOLDER: Final = NUMBERS.parent
"""Packed into one file, in which each id and the numbers have their own."""

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
    """Plays an episode, by default with scattered actions; returns what is frozen of it, as JSON keeps it exactly."""
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
    """Writes a document into the packed folder."""
    before = unpacked(FOLDER) if packed_file(FOLDER).is_file() else {}
    write_packed({**before, path.name: json.dumps(document, indent=1).encode()}, FOLDER)


def main() -> int:
    """Writes the file of an id, or of the numbers; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.freeze", description="Freezes episodes of an id.")
    parser.add_argument("name", choices=[*sorted(CASES), "numbers"], help="id of an environment, or numbers")
    parser.add_argument("--overwrite", action="store_true", help="write over what is frozen, if it is unreleased")
    options = parser.parse_args()
    path = NUMBERS if options.name == "numbers" else file_of(options.name)
    if is_file(path) and not options.overwrite:
        sys.stderr.write(
            f"{path.name} exists: what was released stays as it is. Give the environment a new version, or use "
            "--overwrite for an id that was never released.\n"
        )
        return 2
    if path == NUMBERS:
        write(path, numbers())
        return 0
    cases = CASES[options.name].frozen
    episodes = [play(options.name, arguments, seed=number) for number, arguments in enumerate(cases)]
    write(path, {"id": options.name, "package_version": flowsched_gym.__version__, "episodes": episodes})
    sys.stdout.write(f"Froze {len(episodes)} episodes of {options.name} in {path.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
