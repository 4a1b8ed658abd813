"""Holds the speed benchmark to what it says it does, at small amounts."""

import gymnasium

from benchmarks.speed.run import alternating, cases, measure, play
from flowsched_gym.leaderboard import speed_table


def test_a_play_takes_exactly_the_steps_asked_for_through_the_ends_of_episodes():
    steps, seconds = play(gymnasium.make("CartPole-v1"), alternating(), 300)
    assert steps == 300
    assert seconds > 0


def test_every_case_runs_and_stands_in_the_table():
    work = cases(100)
    rates = measure(work, repetitions=1)
    assert list(rates) == list(work)
    assert all(0 < rate["min"] <= rate["median"] <= rate["max"] for rate in rates.values())
    table = speed_table({"rates": rates})
    assert table.rows[0][-1] == "1.00"
    assert [row[0] for row in table.rows] == list(work)
