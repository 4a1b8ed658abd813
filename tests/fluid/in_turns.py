"""A discipline from outside the package, as CONTRIBUTING.md shows it."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.fluid import Discipline


class Turns(NamedTuple):
    """What is kept: how long a turn is in s; for each network, its number and when it ends."""

    length: float
    number: np.ndarray
    end: np.ndarray


class InTurns(Discipline):
    """Serves three groups of flows, by their sizes in whole B, in turns; the end of a flow ends the turn."""

    record_type = Turns
    kept_once = ("number", "end")

    def __init__(self, length: float) -> None:
        self.length = length

    def new_record(self, num_flows, network, num_networks):
        return Turns(self.length, np.zeros(num_networks, dtype=np.int64), np.zeros(num_networks))

    def begin_network(self, n, first_row, flows):
        self.record.number[n], self.record.end[n] = 0, 0.0

    @staticmethod
    def control(now, n, active, count, state, controls, network, record):
        if now >= record.end[n]:
            record.number[n] += 1
            record.end[n] = now + record.length
        for row in active[:count]:
            controls.priority[row] = (int(state.size[row]) + record.number[n]) % 3

    @staticmethod
    def review_time(now, n, active, count, state, controls, record):
        return record.end[n]

    @staticmethod
    def finished(n, row, state, controls, record):
        record.end[n] = 0.0
