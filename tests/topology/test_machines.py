"""Holds the machine mix to Google's counts."""

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.topology import machine_mix


def test_machines_are_as_frequent_as_in_the_trace_and_more_hosts_leave_the_first_as_they_are() -> None:
    cpus = machine_mix(4000, seed=3)
    for share, machines in ((0.25, 126), (0.5, 11_648), (1.0, 795)):
        # Four standard deviations of a share of 6 % among 4,000 are 1.5 %.
        assert (cpus == share).mean() == pytest.approx(machines / 12_569, abs=0.015)
    assert np.isin(cpus, (0.25, 0.5, 1.0)).all()
    assert machine_mix(9, seed=3).tolist() == cpus[:9].tolist()
    assert machine_mix(4000, seed=4).tolist() != cpus.tolist()


def test_a_wrong_number_of_hosts_or_seed_is_refused() -> None:
    with pytest.raises(ConfigError, match="num_hosts is 0: it must be an integer from 1 to 4096"):
        machine_mix(0, seed=1)
    with pytest.raises(ConfigError, match="seed is -1"):
        machine_mix(3, seed=-1)
