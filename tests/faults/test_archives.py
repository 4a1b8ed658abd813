"""Changes every field of model files, sealed anew: each file is refused by its name, or its agent acts.

``FLOWSCHED_FAULTS=full`` tries every value in every field.
"""

import copy
import io
import json
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import gymnasium as gym
import numpy as np
import pytest
from safetensors.numpy import load, save
from stable_baselines3 import PPO

from flowsched_gym.core.errors import ConfigError, FlowSchedError, SpaceMismatchError
from flowsched_gym.core.packed import read_bytes
from flowsched_gym.evaluation import make_environment
from flowsched_gym.evaluation.rollout import takes_masks
from flowsched_gym.integrations.archive import ARRAYS, CONTENT, SEAL
from flowsched_gym.integrations.models import load_policy, read_model
from tests.cases import few_of
from tests.faults.test_files import VALUES, damaged_bytes, places, share, write
from tests.repository import ROOT

MODELS: Final = ROOT / "benchmarks" / "models"
KINDS: Final = {
    "few weights": "artemis-heavy-a2-postpone/cmaes/seed0.zip",
    "weights beside a rule": "artemis-generalist/cmaes/seed0.zip",
    "constants": "qcluster-w4/static/seed0.zip",
    "set-wise": "artemis-heavy/ppo/seed0.zip",
    "distilled": "artemis-heavy/distilled/seed0.zip",
    "path-wise": "auto-long-flows/ppo/seed0.zip",
    "perceptrons": "paper/auto-changing/ppo.zip",
}
ORDERS: Final = (10**9, -3, 3, 7.5, -1e-300)
"""Values besides: lengths and counts that would take for ever, or do not fit."""
FEW: Final = 12


@cache
def environment_of(kind: str) -> gym.Env[Any, Any]:
    origin = read_model(MODELS / KINDS[kind])["origin"]
    return make_environment(origin["environment"].rpartition(":")[2], origin["kwargs"])


def parts_of(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(read_bytes(MODELS / KINDS[kind]))) as archive:
        tree = json.loads(archive.read(CONTENT))
        return {name: value for name, value in tree.items() if name != SEAL}, load(archive.read(ARRAYS))


def altered_trees(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Removes each field, doubles it in a list, and gives it each value."""
    for number in range(len(list(places(tree)))):
        for value in (*VALUES, *ORDERS):
            changed = copy.deepcopy(tree)
            holder, key = list(places(changed))[number]
            holder[key] = value
            yield changed
        for removed in (True, False):
            changed = copy.deepcopy(tree)
            holder, key = list(places(changed))[number]
            if removed:
                del holder[key]
            else:
                holder[key] = [holder[key], holder[key]]
            yield changed


def altered_arrays(arrays: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Changes numbers, types and shapes of each array, and leaves it out."""
    for name, array in arrays.items():
        for value in (np.nan, np.inf, -np.inf):
            spoilt = array.astype(np.float64).reshape(-1)
            spoilt[-1:] = value
            yield {**arrays, name: spoilt.reshape(array.shape)}
            yield {**arrays, name: spoilt.reshape(array.shape).astype(np.float32)}
        yield {**arrays, name: np.asarray(array.astype(np.float64) * 1e300)}
        yield {**arrays, name: array.astype(np.int8)}
        yield {**arrays, name: array.astype(np.float16)}
        yield {**arrays, name: array.reshape(-1)[:-1]}
        yield {**arrays, name: array[None]}
        yield {**arrays, name: array.reshape(-1)[:0]}
        yield {**arrays, name: np.zeros(70_000)}
        yield {each: value for each, value in arrays.items() if each != name}
        yield {**arrays, f"{name}'": array}


def sample(altered: Iterator[Any], kind: str) -> list[Any]:
    """Takes some of what is altered, others of each kind."""
    everything = list(altered)
    order = np.random.default_rng([7, list(KINDS).index(kind)]).permutation(len(everything))
    return [everything[number] for number in order[: len(share(len(everything), FEW))]]


def fault_of(path: Path, env: gym.Env[Any, Any], *, trust: bool = False) -> str | None:
    """Loads a model and lets it act; returns what was not as it must be."""
    observation, info = env.reset(seed=0)
    try:
        policy = load_policy(path, env, trust=trust)
    except FlowSchedError as error:
        return None if path.name in str(error) and str(error).isprintable() else f"unclear: {error}"
    except BaseException as error:  # noqa: BLE001 - any other error is what this test looks for
        return f"raw: {type(error).__name__}: {error}"
    try:
        masks = {"action_masks": info["action_mask"]} if "action_mask" in info and takes_masks(policy) else {}
        action = policy.predict(observation, deterministic=True, **masks)[0]
        return None if env.action_space.contains(np.asarray(action, env.action_space.dtype)) else f"chose {action}"
    except BaseException as error:  # noqa: BLE001 - the same
        return f"raw at play: {type(error).__name__}: {error}"


@pytest.mark.parametrize("kind", few_of(KINDS, ("few weights", "constants", "distilled")))
def test_a_sealed_file_with_any_field_altered_is_refused_by_name_or_acts(kind: str, tmp_path: Path) -> None:
    env, (tree, arrays), path, faults = environment_of(kind), parts_of(kind), tmp_path / "model.zip", []
    whole = json.dumps(tree)
    cases = [(json.dumps(each), save(arrays)) for each in sample(altered_trees(tree), kind)]
    cases += [(whole, save(each)) for each in sample(altered_arrays(arrays), kind)]
    for number, (content, data) in enumerate(cases):
        write(path, content, data, sealed=True)
        if (fault := fault_of(path, env)) is not None:
            faults.append(f"{number}: {fault}"[:300])
    assert not faults, "\n".join(faults)


def test_a_damaged_file_of_stable_baselines3_is_refused_by_name_or_acts(tmp_path: Path) -> None:
    env = make_environment("flowsched/Artemis-v0", {"bursts": 3, "k": 3, "f": 4})
    path, faults = tmp_path / "model.zip", []
    PPO("MlpPolicy", env, policy_kwargs={"net_arch": [4]}, device="cpu").save(path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    data = json.loads(members["data"])
    keys = [*data, *[f"policy_class {key}" for key in data["policy_class"]]]
    altered: list[dict[str, bytes]] = []
    for key in keys:
        for value in (None, 0, -1, "x", [], {}, {":serialized:": "AAAA"}, {":type:": "x", ":serialized:": "gASVAA=="}):
            altered.append({"data": json.dumps(data | {key: value}).encode()})
    altered += [{name: damaged_bytes(content, number)} for name, content in members.items() for number in range(40)]
    order = np.random.default_rng(8).permutation(len(altered))
    for number in order[: len(share(len(altered), FEW))]:
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in (members | altered[number]).items():
                archive.writestr(name, content)
        if (fault := fault_of(path, env, trust=True)) is not None:
            faults.append(f"{number}: {fault}"[:300])
    assert not faults, "\n".join(faults)


def changed(path: Path, kind: str, change: Any) -> Path:
    """Writes a file of a kind with something changed, sealed."""
    tree, arrays = parts_of(kind)
    change(tree, arrays)
    write(path, json.dumps(tree), save(arrays), sealed=True)
    return path


def spoil(_: Any, arrays: dict[str, Any]) -> None:
    arrays["weights.weights"][3] = np.nan


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("few weights", spoil, "weights, weights has infinite or undefined numbers"),
        ("few weights", lambda tree, _: tree["arguments"]["sizes"].update(num_columns=6), "'num_columns': 6"),
        ("few weights", lambda tree, _: tree["origin"].update(columns=5), "origin, columns is 5"),
        ("few weights", lambda tree, _: tree["arguments"].update(sizes=None), "cannot be rebuilt"),
        ("set-wise", lambda tree, _: tree["arguments"]["shape"].update(num_blocks=10**9), "num_blocks is 1000000000"),
        ("set-wise", lambda tree, _: tree["arguments"]["shape"].update(presence=2), "presence=2"),
        ("path-wise", lambda tree, _: tree["arguments"]["shape"].update(source=1), "source=1"),
        ("constants", lambda tree, _: tree["arguments"]["sizes"].update(high=3.0), "'high': 3.0"),
    ],
)
def test_what_does_not_fit_the_environment_or_the_weights_is_told(kind, change, message, tmp_path) -> None:
    path = changed(tmp_path / "model.zip", kind, change)
    with pytest.raises(ConfigError) as error:
        load_policy(path, environment_of(kind))
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_a_model_of_another_environment_names_the_right_one() -> None:
    for kind, env in (("constants", environment_of("few weights")), ("few weights", environment_of("constants"))):
        trained = read_model(MODELS / KINDS[kind])["origin"]["environment"].rpartition(":")[2]
        with pytest.raises(SpaceMismatchError, match=f"was trained for {trained}, not for {env.spec.id}"):
            load_policy(MODELS / KINDS[kind], env)
