"""Holds the speed benchmark to what it says it does, at small amounts."""

import gymnasium

from benchmarks.speed.run import alternating, cases, measure, play
from flowsched_gym.leaderboard import speed_table


def test_a_play_takes_exactly_the_steps_asked_for_through_the_ends_of_episodes():
    env = gymnasium.make("CartPole-v1")
    taken = []

    class Counted(gymnasium.Wrapper):
        def step(self, action):
            taken.append(action)
            return super().step(action)

    steps, seconds = play(Counted(env), alternating(), 300)
    assert steps == len(taken) == 300
    assert seconds > 0
    assert taken[:4] == [1, 0, 1, 0]


def test_every_case_runs_and_stands_in_the_table():
    work = cases(100)
    rates = measure(work, repetitions=1)
    assert list(rates) == list(work)
    assert all(0 < rate["min"] <= rate["median"] <= rate["max"] for rate in rates.values())
    table = speed_table({"rates": rates})
    assert table.rows[0][-1] == "1.00"
    assert [row[0] for row in table.rows] == list(work)
