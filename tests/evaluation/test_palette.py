"""Colours of figures, held to distances that colour-blind readers see too (Machado, Oliveira and Fernandes 2009)."""

from itertools import combinations
from typing import Final

import numpy as np
import pytest

from flowsched_gym.evaluation.figures import CURVES, HEURISTIC, LEARNED, LINES, styles
from flowsched_gym.evaluation.plots import FAINT, MET, MISSED, PLAIN

LEAST: Final = 10.0
"""CIEDE2000 between two lines that are told apart at a glance; 2.3 is the least that is seen at all, side by side."""
SIGHT: Final = {
    "full": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
"""What is seen of a colour, in linear RGB."""
XYZ: Final = np.array([[0.41246, 0.35758, 0.18044], [0.21267, 0.71515, 0.07218], [0.01933, 0.11919, 0.9503]])


def lab_of(colour: str, sight: str) -> np.ndarray:
    """Returns CIELAB of a colour as it is seen."""
    values = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    share = XYZ @ np.clip(np.array(SIGHT[sight]) @ linear, 0, 1) / XYZ.sum(axis=1)
    x, y, z = np.where(share > 216 / 24389, np.cbrt(share), (24389 / 27 * share + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def ciede2000(first: np.ndarray, second: np.ndarray) -> float:
    """Measures how different two colours look (Sharma, Wu and Dalal 2005)."""
    light, a, b = np.array([first, second]).T
    mean = np.hypot(a, b).mean() ** 7
    a = a * (1.5 - 0.5 * np.sqrt(mean / (mean + 25.0**7)))
    chroma, hue = np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360
    turn = (hue[1] - hue[0] + 180) % 360 - 180
    middle = np.radians(hue[0] + turn / 2)
    l_mean, c_mean = light.mean(), chroma.mean()
    waves = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    t = 1 + sum(size * np.cos(times * middle + np.radians(shift)) for size, times, shift in waves)
    bend = 60 * np.exp(-((((np.degrees(middle) - 275 + 180) % 360 - 180) / 25) ** 2))
    rotation = -2 * np.sqrt(c_mean**7 / (c_mean**7 + 25.0**7)) * np.sin(np.radians(bend))
    by_light = (light[1] - light[0]) / (1 + 0.015 * (l_mean - 50) ** 2 / np.sqrt(20 + (l_mean - 50) ** 2))
    by_chroma = (chroma[1] - chroma[0]) / (1 + 0.045 * c_mean)
    by_hue = 2 * np.sqrt(chroma.prod()) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * c_mean * t)
    return float(np.sqrt(by_light**2 + by_chroma**2 + by_hue**2 + rotation * by_chroma * by_hue))


def test_distances_are_those_of_the_published_pairs() -> None:
    for first, second, distance in (
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (58.0, 24.0, 15.0), 19.4535),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.694), (23.0331, 14.973, -42.5619), 2.0373),
    ):
        assert ciede2000(np.array(first), np.array(second)) == pytest.approx(distance, abs=5e-5)


@pytest.mark.parametrize("sight", SIGHT)
def test_no_two_colours_of_a_figure_look_alike(sight: str) -> None:
    for colours in ((*CURVES, LEARNED, FAINT), (MET, MISSED, PLAIN, FAINT)):
        seen = {colour: lab_of(colour, sight) for colour in colours}
        close = {pair: ciede2000(*(seen[each] for each in pair)) for pair in combinations(colours, 2)}
        assert min(close.values()) >= LEAST, min(close, key=close.__getitem__)


def test_a_seventh_curve_has_another_line() -> None:
    found = styles(7)
    assert len({(each["color"], each["linestyle"]) for each in found}) == 7
    assert [each["linestyle"] for each in found] == [LINES[0]] * 6 + [LINES[1]]
    assert HEURISTIC in CURVES
    assert LEARNED not in CURVES
