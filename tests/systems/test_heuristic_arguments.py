"""Lets heuristics meet an agent's episodes although the agent sees less than they need."""

from flowsched_gym.evaluation import make_environment, rollout
from flowsched_gym.registration import find_environment, heuristic_arguments, make_policy
from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import each_environment


@each_environment
def test_every_heuristic_can_be_made_under_the_arguments_for_heuristics(spec: EnvironmentSpec) -> None:
    for name in spec.heuristics:
        make_policy(name, make_environment(spec, heuristic_arguments(spec, {}, name)))


def test_heuristics_meet_the_episodes_of_an_agent_that_sees_less() -> None:
    agent = {"workload": "gather-heavy", "k": 3, "bursts": 5, "observation": "paper"}
    spec = find_environment("flowsched/Artemis-v0")
    arguments = heuristic_arguments(spec, agent)
    metrics = []
    for kwargs in (agent, arguments):
        env = make_environment(spec, kwargs)
        metrics.append(rollout(env, make_policy("lsdf", env), seed=3).metrics)

    assert arguments == agent | {"observation": "full"}
    assert heuristic_arguments(spec, agent, "search:base=paced") == arguments | {"defer": "wait"}
    assert metrics[0] == metrics[1]
