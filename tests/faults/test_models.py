"""Damages model files at random: by their bytes, by what their members hold, and sealed anew after that."""

import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from flowsched_gym.core.errors import ConfigError, FlowSchedError
from flowsched_gym.evaluation import make_environment
from flowsched_gym.integrations.archive import ARRAYS, CONTENT, SEAL
from flowsched_gym.integrations.sb3 import load_policy
from tests.faults.generator import damaged_bytes, damaged_json, share
from tests.payload import add_payload
from tests.repository import ROOT

MODEL = ROOT / "benchmarks" / "models" / "artemis-heavy" / "ppo" / "seed0.zip"
ARTEMIS = "flowsched/Artemis-v0"
ARGUMENTS = {"workload": "gather-heavy", "k": 3, "f": 10}
CHUNKS = 4


def write(path: Path, content: str, arrays: bytes, *, sealed: bool) -> None:
    """Writes an archive, sealed anew on request."""
    if sealed:
        tree = json.loads(content)
        if isinstance(tree, dict):
            tree.pop(SEAL, None)
            text = json.dumps(tree, sort_keys=True).encode()
            content = json.dumps(tree | {SEAL: hashlib.blake2b(text + arrays, digest_size=16).hexdigest()})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(CONTENT, content)
        archive.writestr(ARRAYS, arrays)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_damaged_model_is_refused_by_name_or_acts(chunk: int, tmp_path: Path) -> None:
    env = make_environment(ARTEMIS, ARGUMENTS)
    observation, _ = env.reset(seed=0)
    path = tmp_path / "model.zip"
    with zipfile.ZipFile(MODEL) as archive:
        content, arrays = archive.read(CONTENT).decode(), archive.read(ARRAYS)
    for number in share(200, 24)[chunk::CHUNKS]:
        match number % 4:
            case 0:
                path.write_bytes(damaged_bytes(MODEL.read_bytes(), number))
            case 1:
                write(path, damaged_json(content, number), arrays, sealed=False)
            case 2:
                write(path, damaged_json(content, number), arrays, sealed=True)
            case _:
                write(path, content, damaged_bytes(arrays, number), sealed=True)
        reason, policy = "", None
        try:
            policy = load_policy(path, env)
        except FlowSchedError as error:
            reason = str(error)
        if policy is None:
            assert str(path) in reason, number
            assert "\n" not in reason, number
        else:
            with torch.no_grad():
                action, _ = policy.predict(np.asarray(observation), deterministic=True)
            assert env.action_space.contains(action), number
        assert [each.name for each in tmp_path.iterdir()] == ["model.zip"], number


@pytest.mark.parametrize("number", share(20, 3))
def test_pickled_code_in_a_model_never_runs(number: int, tmp_path: Path) -> None:
    names = ("data", "policy.pth", "pytorch_variables.pth", CONTENT, ARRAYS, "../evil.pkl", "a/b", "\u202e.pkl")
    path, marker = tmp_path / "model.zip", tmp_path / "ran"
    path.write_bytes(MODEL.read_bytes())
    add_payload(path, names[number % len(names)], marker=marker)

    with pytest.raises(ConfigError, match=r"holds .*: allowed are"):
        load_policy(path, make_environment(ARTEMIS, ARGUMENTS), trust=True)

    assert not marker.exists()
