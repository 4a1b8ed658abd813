"""Reads rows that the authors' agent of long flows saw, as they were recorded in their testbed."""

import io
from importlib import resources

import numpy as np
import numpy.typing as npt

from flowsched_gym.envs.columns import Layout
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, LongFlowsLayout, LongFlowsObservation
from flowsched_gym.systems.auto.long_flows.layouts import long_flows_layout


def recorded_states() -> npt.NDArray[np.float32]:
    """Returns ten observations of the authors' agent, (10, 143): ``data/README.md`` says where they are from.

    Their columns are those of ``recorded_layout``.
    """
    file = resources.files("flowsched_gym.systems.auto.long_flows").joinpath("data", "recorded_states.csv")
    return np.loadtxt(io.StringIO(file.read_text(encoding="utf-8")), delimiter=",", dtype=np.float32)


def recorded_layout() -> Layout:
    """Returns the layout of the environment with ``observation="paper"`` and ``layout="recorded"``."""
    config = AuTOLongFlowsConfig(observation=LongFlowsObservation.PAPER, layout=LongFlowsLayout.RECORDED)
    return long_flows_layout(config)
