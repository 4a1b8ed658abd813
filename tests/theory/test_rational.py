"""Holds every discipline to the rational solver of this folder, on flow sets full of simultaneous events."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import flowsched_gym
from flowsched_gym.topology import Topology, big_switch, one_link
from flowsched_gym.workload import Workload
from tests.simulate import OF_TASKS, VARIANTS, Variant, parameters_for
from tests.strategies import NUM_HOSTS, simultaneous_flows
from tests.theory.rational import Flow, finish_times

ON_ONE_LINK = tuple(variant for variant in VARIANTS if variant.discipline not in OF_TASKS)
ON_A_SWITCH = tuple(variant for variant in ON_ONE_LINK if variant.discipline not in ("las", "sjf", "wfq", "merp"))
"""On many links the others are a matter of definition: the solver would only repeat the package's."""


def solve(workload: Workload, variant: Variant, topology: Topology) -> list[float]:
    """Finds the finish times of a workload in rational arithmetic."""
    assert workload.deadline_span is not None
    parameters = parameters_for(variant, workload)
    path = topology.path_of(workload.source, workload.destination)
    flows = [
        Flow(
            number=row,
            arrival=Fraction(workload.arrival_time[row]),
            size=Fraction(workload.size[row]),
            span=None if workload.deadline_span[row] == np.inf else Fraction(workload.deadline_span[row]),
            path=tuple(topology.path_links[slice(*topology.path_start[path[row] : path[row] + 2])].tolist()),
            queue=parameters.get("queue", [0] * workload.num_flows)[row],  # type: ignore[index]
        )
        for row in range(workload.num_flows)
    ]
    finish = finish_times(
        flows,
        [Fraction(value) for value in topology.capacity],
        variant.discipline,
        thresholds=[Fraction(value) for value in parameters.get("thresholds", [])],  # type: ignore[attr-defined]
        weights=[Fraction(value) for value in parameters.get("weights", [])],  # type: ignore[attr-defined]
        share=variant.within != "fifo",
    )
    return [float(time) for time in finish]


@pytest.mark.parametrize(
    ("topology", "variant"),
    [
        *((one_link(capacity=1.0), variant) for variant in ON_ONE_LINK),
        *((big_switch(num_hosts=NUM_HOSTS, capacity=1.0), variant) for variant in ON_A_SWITCH),
    ],
    ids=lambda value: str(value) if isinstance(value, Variant) else value.name,
)
@settings(max_examples=20)
@given(workload=simultaneous_flows())
def test_simultaneous_events_are_served_as_the_rules_say(
    topology: Topology, variant: Variant, workload: Workload
) -> None:
    records = flowsched_gym.replay(
        workload, discipline=variant.discipline, topology=topology, parameters=parameters_for(variant, workload)
    )
    assert records.completion_time.tolist() == pytest.approx(solve(workload, variant, topology), rel=1e-9, abs=0.0)
