"""Runs what is measured for a moment, and reads what the measurements print."""

from typing import Final

import gymnasium
import pytest

from benchmarks.leaderboard import speed_table
from benchmarks.speed import training
from benchmarks.speed.run import alternating, cases, measure, play

SMALL: Final = (
    *("workload.bursts=4", "algorithm.num_envs=8", "algorithm.batch_size=128", "total_timesteps=2048"),
    *("evaluation.episodes=2", "evaluation.interim_episodes=2", "evaluation.interval=512", "evaluation.bound=false"),
)
RUN: Final = training.Run(41.26, 30.04, 15.9, 106_496, 400_000, (1.05, 1.04, 1.06), (0.7,))


def test_a_play_takes_exactly_the_steps_asked_for_through_the_ends_of_episodes():
    steps, seconds = play(gymnasium.make("CartPole-v1"), alternating(), 300)
    assert steps == 300
    assert seconds > 0


@pytest.mark.exhaustive
def test_every_case_runs_and_stands_in_the_table():
    work = cases(100)
    rates = measure(work, repetitions=1)
    assert list(rates) == list(work)
    assert all(0 < rate["min"] <= rate["median"] <= rate["max"] for rate in rates.values())
    table = speed_table({"rates": rates})
    assert table.rows[0][-1] == "1.00"
    assert [row[0] for row in table.rows] == list(work)


def test_the_level_is_read_from_what_the_command_prints_and_each_training_has_a_row() -> None:
    line = "step 106,496: deadlines met, % 67.2 (1.292 x edf, 1.016 x feasible-first)\n"
    assert training.COMPARISON.search(line).groups() == ("106,496", "1.016")
    assert training.COMPARISON.search("step 106,496: checkpoint runs/fast/checkpoints/000000106496") is None

    runs = {"native": [RUN._asdict()], "dummy": [RUN._replace(wall_s=97.6, reached_s=None)._asdict()]}
    how = {"command": "a command", "machine": {"system": "Linux", "cores": 2}, "seeds": [3]}
    text = training.table(how | {"runs": runs})
    assert "Median of the whole command: 41.3 s on compiled and 97.6 s on SimPy" in text
    assert text.count("not reached") == 1


def test_agents_that_differ_are_no_comparison(monkeypatch) -> None:
    runs = {"native": RUN, "dummy": RUN._replace(values=(0.6,))}
    monkeypatch.setattr(training, "train", lambda engine, *_: runs[engine])
    with pytest.raises(RuntimeError, match=r"seed 0: the engines trained different agents, \(0.7,\) and \(0.6,\)"):
        training.measure([0])


@pytest.mark.exhaustive
def test_the_command_is_measured_on_both_engines_and_trains_the_same_agent(monkeypatch) -> None:
    monkeypatch.setattr(training, "TINY", ("total_timesteps=512",))

    runs = training.measure([1], SMALL)

    assert list(runs) == list(training.ENGINES)
    native, dummy = (runs[engine][0] for engine in training.ENGINES)
    assert native.values == dummy.values
    assert len(native.values) == 2
    for run in (native, dummy):
        assert run.decisions == 2048
        assert run.cpu_s > 0
        assert run.reached_s is None or 0 < run.reached_s < run.wall_s
