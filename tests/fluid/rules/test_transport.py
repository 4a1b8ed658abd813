"""Holds the figures of transports to their ranges, and their arithmetic to hand-worked values."""

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.fluid import Transport
from flowsched_gym.fluid.rules.transport.progress import next_event_time
from flowsched_gym.fluid.rules.transport.senders import isolated_times, next_window, wire_volume


def test_a_figure_out_of_its_range_is_refused_by_name() -> None:
    for figures, message in (
        ({"segment": -1.0}, r"transport segment is -1\.0: it must be >= 0"),
        ({"header": float("nan")}, "transport header is nan: it must be >= 0"),
        ({"handshake_round_trips": -0.5}, r"transport handshake_round_trips is -0\.5: it must be >= 0"),
        ({"slow_start_growth": 0.9}, r"transport slow_start_growth is 0\.9: it must be >= 1"),
        ({"initial_window": 10.0}, "transport initial_window counts segments: it needs segment > 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            Transport(**figures)


def test_each_begun_segment_costs_one_header() -> None:
    size = np.array([1.0, 100.0, 101.0, 200.0, 250.5])
    volume = np.empty(5)
    wire_volume(size, 100.0, 10.0, volume)
    assert volume.tolist() == [11.0, 110.0, 121.0, 220.0, 280.5]
    wire_volume(size, 0.0, 10.0, volume)
    assert volume.tolist() == size.tolist()


def test_a_window_grows_to_the_exit_of_slow_start_and_then_slowly() -> None:
    windows = [10.0]
    while len(windows) < 5:
        windows.append(next_window(windows[-1], 19.0, 1.5, 1.1))
    assert windows == pytest.approx([10.0, 15.0, 19.0, 20.9, 22.99])


def test_time_alone_counts_the_pauses_of_each_round_and_none_after_the_pipe_is_full() -> None:
    # Round trip 10 s at 1 B/s: windows 2, 4, 8 are too short to fill it, 16 is not.
    volume = np.array([1.0, 2.0, 3.0, 6.5, 14.5, 40.0])
    times = np.empty(6)
    isolated_times(volume, np.ones(6), np.full(6, 10.0), 2.0, 16.0, 2.0, 1.0, times)
    assert times.tolist() == [1.0, 2.0, 10.0 + 1.0, 20.0 + 0.5, 30.0 + 0.5, 30.0 + 26.0]


@pytest.mark.parametrize("now", [0.0, 5e-324, 1e-310, 1e-300, 1.0, 1e9])
def test_the_next_event_is_later_than_now_however_little_is_left(now: float) -> None:
    row = np.zeros(1, dtype=np.int64)
    left = np.array([5e-324])
    time = next_event_time(now, row, 1, np.zeros(1), left, np.array([1e9]), np.array([np.inf]), np.inf)
    assert now < time <= max(now * (1 + 1e-15), 1e-300)
