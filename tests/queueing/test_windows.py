"""Holds the window rules to exact traces, and their arguments to what is allowed."""

import re

import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.queueing import WindowKind, window_after_round
from tests.cases import TOLERANCE, exact_cases

TRACES = {
    "tafe": ("tafe", 0.0),
    "tafe_floor1": ("tafe", 1.0),
    "dctcp": ("dctcp", 0.0),
    "d2tcp": ("d2tcp", 0.0),
    "d2tcp_tafe_paper": ("d2tcp-literal", 0.0),
}
"""Kind and least window of each trace."""


@pytest.mark.parametrize("case", exact_cases("tafe_window"), ids=lambda case: case["id"])
def test_windows_follow_the_exact_traces(case: dict) -> None:
    for name, (kind, least) in TRACES.items():
        alpha, window = case["alpha0"], case["W0"]
        for marked, expected in zip(case["mark_fraction"], case["trace"][name], strict=True):
            alpha, window = window_after_round(
                kind,
                window=window,
                alpha=alpha,
                marked=marked,
                gain=case["g"],
                remaining=case["S_c"],
                largest=case["S_max"],
                imminence=case["d"],
                least=least,
            )
            assert (alpha, window) == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE), name


def test_one_round_by_hand() -> None:
    # Alpha becomes 0.5 * 0 + 0.5 * 0.5 = 1/4; with d = 1/2 its power is 1/2, and a quarter of the flow is left.
    expected = {"dctcp": 7.0, "d2tcp": 6.0, "d2tcp-literal": 4.0, "tafe": 7.5}
    assert set(expected) == set(WindowKind)
    for kind, window in expected.items():
        some = {"window": 8, "alpha": 0, "gain": 0.5, "remaining": 25, "largest": 100, "imminence": 0.5}
        assert window_after_round(kind, marked=0.5, **some) == pytest.approx((0.25, window), rel=1e-15)
        assert window_after_round(kind, marked=0, **some) == (0.0, 9.0)
        assert window_after_round(kind, marked=0.5, **some, least=7.25)[1] == max(window, 7.25)


def test_what_is_missing_or_not_allowed_is_refused_by_name_and_value() -> None:
    some = {"kind": "tafe", "window": 8, "alpha": 0, "marked": 0.5, "gain": 0.5, "remaining": 25, "largest": 100}
    for wrong, words in (
        ({"kind": "cubic"}, "kind is 'cubic': it must be one of"),
        ({"window": -1}, "window is -1: it must be a finite number >= 0"),
        ({"alpha": 1.5}, "alpha is 1.5: it must be at most 1"),
        ({"marked": float("nan")}, "marked is nan: it must be a finite number >= 0"),
        ({"gain": 0}, "gain is 0: it must be a finite number > 0"),
        ({"remaining": None}, "remaining is None: kind 'tafe' needs it"),
        ({"largest": 24}, "remaining is 25: it must be at most largest, 24"),
        ({"largest": 0}, "largest is 0: it must be a finite number > 0"),
        ({"kind": "d2tcp"}, "imminence is None: kind 'd2tcp' needs it"),
        ({"least": "1"}, "least is '1': it must be a finite number >= 0"),
    ):
        with pytest.raises(ConfigError, match=re.escape(words)):
            window_after_round(**(some | wrong))
