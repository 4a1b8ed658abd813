"""Chooses when the clock of an episode starts, so that times far from 0 do not lose the digits that flows need."""

from flowsched_gym.core.arrays import FloatArray


def start_of_clock(arrival_time: FloatArray) -> float:
    """Returns the absolute time in s at which the clock of an episode with these arrivals starts.

    Around 1.7e9 s, the Unix time of today, neighbouring float64 are 0.24 us apart; counted from the first arrival they
    are as fine as the spacing of the flows needs. The clock starts at the first arrival where the last one is no later
    than twice that time: then every difference is exact (Sterbenz, Floating-Point Computation, 1974). Otherwise it
    starts at 0, since a later start would gain less than one bit.

    Args:
        arrival_time: Absolute arrival times in s, (num_flows,), >= 0.
    """
    if not len(arrival_time):
        return 0.0
    first = float(arrival_time.min())
    return first if float(arrival_time.max()) - first <= first else 0.0
