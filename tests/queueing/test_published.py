"""Holds the published thresholds to what they were published as."""

import math
import re

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.queueing import multilevel_fct, published_thresholds
from flowsched_gym.queueing.thresholds import PUBLISHED
from flowsched_gym.workload import CDF_NAMES

SETS = [(workload, load) for workload, sets in PUBLISHED.items() for load in sets]

each_set = pytest.mark.parametrize(("workload", "load"), SETS)


def test_pias_counts_packets_of_1460_bytes_and_homa_bytes() -> None:
    assert published_thresholds("web_search", 0.8)[0] == 909 * 1460
    assert published_thresholds("data_mining", 0.5)[-1] == 22272 * 1460
    assert published_thresholds("w1", 0.5).tolist() == [207, 268, 287, 306, 318, 329, 336]


@each_set
def test_each_set_serves_its_own_distribution(workload: str, load: float) -> None:
    thresholds = published_thresholds(workload, load)
    distribution = f"{workload}_ns2" if f"{workload}_ns2" in CDF_NAMES else workload
    assert thresholds.shape == (7,)
    assert (np.diff(thresholds) > 0).all()
    assert np.isfinite(multilevel_fct("qlas", distribution, load, thresholds).overall)


@pytest.mark.parametrize(
    ("workload", "load", "message"),
    [
        ("web-search", 0.8, "workload is 'web-search': it must be one of web_search, data_mining, w1"),
        (None, 0.8, "workload is None"),
        ("web_search", 0.85, "load is 0.85: thresholds for web_search were published at 0.5, 0.6, 0.7, 0.8, 0.9"),
        ("w1", 0.6, "load is 0.6: thresholds for w1 were published at 0.5, 0.8"),
        ("w1", math.nan, "load is nan"),
        ("w1", -0.5, "load is -0.5"),
        ("w1", [0.5], "load is [0.5]"),
    ],
)
def test_what_was_not_published_is_refused(workload: str, load: float, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        published_thresholds(workload, load)
