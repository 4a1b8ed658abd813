"""Watches the progress display on a terminal and in a log file."""

import io

import pytest

from flowsched_gym.cli import output as output_module
from flowsched_gym.cli.output import ProgressBar
from flowsched_gym.machine_code import messages as compiling


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(output_module.time, "monotonic", lambda: now[0])  # type: ignore[attr-defined]
    return now


def run(stream: io.StringIO, clock: list[float], seconds_per_step: float, steps: int = 20) -> str:
    with ProgressBar("reading", stream) as progress:
        for step in range(steps):
            clock[0] += seconds_per_step
            progress(step + 1, steps)
    return stream.getvalue()


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_a_task_of_less_than_two_seconds_shows_nothing(stream: io.StringIO, clock: list[float]) -> None:
    assert run(stream, clock, seconds_per_step=0.09) == ""


def test_a_long_task_draws_a_bar_in_place_and_wipes_it(clock: list[float]) -> None:
    shown = run(Terminal(), clock, seconds_per_step=1.0)

    frames = shown.split("\r")
    assert "\n" not in shown
    assert frames[1].startswith("reading [###---")
    assert "10%, 0:18 left" in frames[1]
    assert "95%, 0:01 left" in frames[-4]
    assert frames[-2].strip() == ""
    assert len(frames[-2]) >= len(frames[1])


def test_a_bar_is_not_drawn_more_than_ten_times_a_second(clock: list[float]) -> None:
    shown = run(Terminal(), clock, seconds_per_step=0.001, steps=4000)
    assert 15 <= shown.count("[") <= 21


def test_in_a_log_file_there_is_a_plain_line_every_ten_per_cent(clock: list[float]) -> None:
    shown = run(io.StringIO(), clock, seconds_per_step=0.5, steps=200)
    assert shown.splitlines() == ["reading: 2%", *(f"reading: {percent}%" for percent in range(10, 101, 10))]


def test_a_line_about_the_compiler_stands_above_the_bar(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(compiling.QUIET_VARIABLE)
    monkeypatch.setattr(compiling, "_writers", [lambda line: pytest.fail("it is printed elsewhere")])
    stream = Terminal()
    with ProgressBar("reading", stream) as progress:
        clock[0] += 3
        progress(1, 2)
        compiling._tell("compiling")
        clock[0] += 1
        progress(2, 2)

    frames = stream.getvalue().split("\r")
    assert frames[1].startswith("reading [####")
    assert frames[2].strip() == ""
    assert frames[3] == "compiling\n"
    assert frames[4].startswith("reading [####")
    assert len(compiling._writers) == 1, "it is the bar's no more"
