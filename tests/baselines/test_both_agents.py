"""Sets thresholds beside an agent of long flows, and trains both of AuTO's agents at once for a moment."""

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.baselines.applications.training_run import train_and_compare
from flowsched_gym.baselines.training.both_agents import LONG_FLOWS, ThresholdsBeside
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import read_json
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.integrations.models import read_model
from flowsched_gym.systems.auto.thresholds.config import SCALE, AuTOThresholdsConfig
from tests.baselines.small_training import compose_experiment


def small_env(choose, learn=None):
    config = AuTOThresholdsConfig(hosts=4, period_flows=50, link_gbps=3.0)
    return ThresholdsBeside(gym.make(LONG_FLOWS, hosts=4, flows=300), config, choose, learn)


def test_the_agent_beside_sets_thresholds_once_per_period_and_is_paid_for_the_flows_since() -> None:
    asked: list[np.ndarray] = []
    told: list[tuple] = []

    def choose(observation):
        asked.append(observation)
        return np.array([-0.5, 0.0, 0.5], dtype=np.float32) + np.float32(0.1 * len(asked))

    env, over = small_env(choose, lambda *transition: told.append(transition)), False
    env.reset(seed=0)
    set_now = attribute_of(env.unwrapped, "decision")().record.thresholds.copy()
    while not over:
        *_, over, _, _ = env.step(np.zeros(env.action_space.shape, dtype=np.int64))

    # It is asked before the next long flow is steered, so that some periods have more flows.
    assert 2 <= len(asked) <= 300 // 50
    assert len(told) == len(asked)
    assert set_now.tolist() == SCALE.thresholds_of(told[0][1].astype(np.float64)[None]).tolist()
    assert [ended for *_, ended in told] == [False] * (len(told) - 1) + [True]
    for number, (before, action, _, after, ended) in enumerate(told):
        assert np.array_equal(before, asked[number])
        assert action[0] == pytest.approx(-0.5 + 0.1 * (number + 1))
        assert ended or np.array_equal(after, asked[number + 1])
    # Minus the logarithm of a mean completion time over what the flows would take alone.
    assert all(-10 < reward < 0 for _, _, reward, _, _ in told)


def small(folder, *overrides):
    folder.mkdir()
    words = ("experiment=auto", "env.hosts=4", "workload.flows=200", "algorithm.period_flows=50", "policy.separate=[8]")
    config, content = compose_experiment(*words, "env.thresholds=[1e5,2e5,4e5]", "total_timesteps=128", *overrides)
    return train_and_compare(config, content, folder)


@pytest.mark.exhaustive
def test_both_agents_are_trained_kept_and_played_before_and_after(tmp_path) -> None:
    pairs = small(tmp_path / "run")["pairs"]

    alone = ("thresholds alone, before", "thresholds alone", "long flows alone, before", "long flows alone")
    assert list(pairs) == ["qlas", "pias", *alone, "both, before", "both"]
    assert all(len(values) == 2 and min(values) > 0 for values in pairs.values())
    assert pairs["qlas"] != pairs["pias"]
    for name, environment in (("model", "AuTOLongFlows"), ("thresholds", "AuTOThresholds")):
        assert (
            read_json(tmp_path / "run" / f"{name}.json")["environment"] == f"flowsched_gym:flowsched/{environment}-v0"
        )
        assert read_model(tmp_path / "run" / f"{name}.zip")["weights"]
    assert read_json(tmp_path / "run" / "thresholds.json")["kwargs"]["link_gbps"] == 3.0


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("algorithm.period_flows=900",), "the agent of thresholds has learned nothing"),
        (("resume=true",), "checkpoints of algorithm=auto lack the agent of thresholds"),
    ],
)
def test_trainings_of_both_that_cannot_be_are_refused(overrides, message, tmp_path) -> None:
    with pytest.raises(ConfigError, match=message):
        small(tmp_path / "run", *overrides)


def test_both_agents_play_with_long_flows_alone(tmp_path) -> None:
    config, content = compose_experiment("env=auto_thresholds", "algorithm=auto", "policy=auto_long")
    with pytest.raises(ConfigError, match="it steers the long flows of flowsched/AuTOLongFlows-v0"):
        train_and_compare(config, content, tmp_path)


@pytest.mark.parametrize("experiment", [pytest.param("auto_srla", marks=pytest.mark.exhaustive), "auto_lrla"])
def test_an_agent_alone_is_trained_in_the_setting_of_the_paper(experiment, tmp_path) -> None:
    config, content = compose_experiment(f"experiment={experiment}", "workload.flows=200", "total_timesteps=128")
    result = train_and_compare(config, content, tmp_path)

    model = read_model(tmp_path / "model.zip")
    widths = [tuple(value.shape) for name, value in model["weights"].items() if name.endswith("weight")]
    if experiment == "auto_srla":
        assert (result["kwargs"]["observation"], result["kwargs"]["reward"]) == ("paper", "fct_ratio")
        assert widths[:3] == [(600, 700), (600, 600), (3, 600)]
    else:
        assert (result["kwargs"]["observation"], result["kwargs"]["reward"]) == ("paper", "throughput_ratio")
        assert widths[:11] == [(300, 136), *[(300, 300)] * 9, (11 * (4 + 3 + 3), 300)]
