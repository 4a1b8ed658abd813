"""Lets heuristics meet an agent's episodes although the agent sees less than they need."""

import pytest

from flowsched_gym.evaluation import make_environment, rollout
from flowsched_gym.registration import SYSTEMS, heuristic_arguments, make_policy, policy_specs

IDS = [environment.id for system in SYSTEMS for environment in system.environments]


@pytest.mark.parametrize("env_id", IDS)
def test_every_heuristic_can_be_made_under_the_arguments_for_heuristics(env_id: str) -> None:
    for name in policy_specs(env_id):
        make_policy(name, make_environment(env_id, heuristic_arguments(env_id, {}, name)))


def test_heuristics_meet_the_episodes_of_an_agent_that_sees_less() -> None:
    agent = {"workload": "gather-heavy", "k": 3, "bursts": 5, "observation": "paper"}
    arguments = heuristic_arguments("flowsched/Artemis-v0", agent)
    metrics = []
    for kwargs in (agent, arguments):
        env = make_environment("flowsched/Artemis-v0", kwargs)
        metrics.append(rollout(env, make_policy("lsdf", env), seed=3).metrics)

    assert arguments == agent | {"observation": "full"}
    assert heuristic_arguments("flowsched/Artemis-v0", agent, "search:base=paced") == arguments | {"defer": "wait"}
    assert metrics[0] == metrics[1]
