"""Holds the choice of curves to six, with all that a comparison is about."""

from flowsched_gym.leaderboard import curves_of


def test_learned_agents_and_a_plain_heuristic_have_curves_then_the_best_of_the_others() -> None:
    order = ["sjf", "lifo", "ppo", "ssdf", "lsdf", "random", "fifo", "a2c", "edf"]
    assert curves_of(order, ["a2c", "ppo"]) == ["sjf", "lifo", "ppo", "ssdf", "a2c", "edf"]
    agents = [f"ppo-{number}" for number in range(8)]
    assert curves_of([*agents, "edf", "sjf"], agents) == [*agents[:5], "edf"]
