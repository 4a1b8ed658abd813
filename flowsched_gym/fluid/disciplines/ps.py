"""Shares links equally."""

from flowsched_gym.fluid.disciplines.base import BaseDiscipline, Rules


class Ps(BaseDiscipline):
    """Processor sharing; on a network, max-min fairness."""

    rules = Rules(record=type(None))
    num_priorities = 1
    shares_equally = True
