"""Watches the progress display on a terminal and in a log file."""

import io

import numba
import pytest

from flowsched_gym.cli import progress as progress_module
from flowsched_gym.cli.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now[0])
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


def test_nothing_to_do_shows_nothing(clock: list[float]) -> None:
    stream = Terminal()
    with ProgressBar("reading", stream) as progress:
        clock[0] += 10
        progress(0, 0)

    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (Terminal(), "\rreading (compiling, for the first run only)"),
        (io.StringIO(), "reading: compiling, for the first run only\n"),
    ],
    ids=["terminal", "log file"],
)
def test_a_long_compilation_is_named_once(stream: io.StringIO, expected: str, clock: list[float]) -> None:
    with ProgressBar("reading", stream):
        numba.njit(lambda x: x + 1)(1)
        assert stream.getvalue() == "", "it has not taken two seconds yet"
        clock[0] += 3
        numba.njit(lambda x: x + 2)(1)
        assert stream.getvalue() == expected
    stream.truncate(0)
    numba.njit(lambda x: x + 3)(1)

    assert stream.getvalue() == "", "nobody listens after the end"


def test_compiled_code_that_is_there_is_not_called_compiling(clock: list[float]) -> None:
    function = numba.njit(lambda x: x + 1)
    function(1)
    stream = io.StringIO()
    with ProgressBar("reading", stream):
        clock[0] += 3
        function(1)

    assert stream.getvalue() == ""
