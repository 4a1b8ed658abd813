"""Misspells every kind of name once: each message suggests the one that was meant."""

import gymnasium as gym
import pytest

from flowsched_gym import replay
from flowsched_gym.baselines.configuration.schema_checks import check_member
from flowsched_gym.cli import main
from flowsched_gym.core.errors import ConfigError, UnknownArgumentError, listed, similar
from flowsched_gym.evaluation import evaluate, make_environment
from flowsched_gym.workload import make_workload
from tests.simulate import make_flows

FLOWS = make_flows([0.0, 1.0], [3.0, 4.0])
ARTEMIS = "flowsched/Artemis-v0"


def test_the_most_similar_name_is_suggested_where_there_is_one() -> None:
    meant = {"edff": "edf", "EDF": "edf", "least_slack": "least-slack", "zzz": None, 3: None, ("edf",): None}
    for name, found in meant.items():
        expected = "" if found is None else f" (did you mean {found!r}?)"
        assert similar(name, ["fifo", "edf", "least-slack"]) == expected
        assert listed(name, ["fifo", "edf", "least-slack"]) == f"fifo, edf, least-slack{expected}"
    assert listed("edf", []) == "none"


def test_every_kind_of_name_is_suggested() -> None:
    for call, meant in (
        (lambda: replay(FLOWS, discipline="srp"), "srpt"),
        (lambda: replay(FLOWS, discipline="ps", topology="fattree"), "fat-tree"),
        (lambda: replay(FLOWS, discipline="ps", parameters={"routing": "ecpm"}), "ecmp"),
        (lambda: replay(FLOWS, discipline="ps", parameters={"dealy": 1.0}), "delay"),
        (lambda: replay(FLOWS, discipline="mlfq", parameters={"thresholdd": [1.0]}), "thresholds"),
        (lambda: replay(FLOWS, discipline="mlfq", parameters={"thresholds": [1.0], "within": "fifi"}), "fifo"),
        (lambda: gym.make(ARTEMIS, burst_rat=3.0), "burst_rate"),
        (lambda: gym.make_vec(ARTEMIS, num_envs=1, burst_rat=3.0), "burst_rate"),
        (lambda: gym.make(ARTEMIS, workload="gather-hevy"), "gather-heavy"),
        (lambda: gym.make("flowsched/MERPRoute-v0", rerouting="congo"), "conga"),
        (lambda: make_environment("flowsched/Artemix-v0", {}), ARTEMIS),
        (lambda: evaluate(ARTEMIS, "eddf", episodes=1, seed=0), "edf"),
        (lambda: evaluate(ARTEMIS, "flowsched_gym.envs.policies:RandomSlt", episodes=1, seed=0), "RandomSlot"),
        (lambda: make_workload("gather-a1", brust_rate=3), "burst_rate"),
        (lambda: make_workload("poisson-tree", size="web-serch"), "web_search"),
        (lambda: make_workload("poisson-tree", size={"kind": "paretto"}), "pareto"),
        (lambda: check_member("logger.wandb_mode", "ofline", ("offline", "online")), "offline"),
    ):
        with pytest.raises(ConfigError) as error:
            call()
        assert str(error.value).count(f"(did you mean {meant!r}?)") == 1


def test_a_keyword_that_an_environment_lacks_is_a_type_error_too() -> None:
    with pytest.raises(
        UnknownArgumentError, match="ArtemisEnv has no argument 'num_tokens': it has workload, "
    ) as error:
        gym.make(ARTEMIS, num_tokens=3)
    assert isinstance(error.value, TypeError)


def test_the_command_that_was_meant_is_suggested(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluat", ARTEMIS]) == 2
    assert "(did you mean 'evaluate'?)" in capsys.readouterr().err
