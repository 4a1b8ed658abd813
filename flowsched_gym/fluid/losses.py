"""Makes room for senders whose packets can be lost, and finds what their random numbers are hashed from."""

import numpy as np
import numpy.typing as npt

from flowsched_gym.flows.workload import Workload
from flowsched_gym.fluid.rules.transport.lossy.senders import PORT, SENDER, STEP, Senders, mixed
from flowsched_gym.fluid.transport import Transport


def new_senders(num_networks: int, num_rows: int, num_links: int, transport: Transport) -> Senders:
    """Makes room for networks with so many flows and links."""
    return Senders(
        flows=np.zeros(num_networks * num_rows, dtype=SENDER),
        ports=np.zeros(num_networks * num_links, dtype=PORT),
        steps=np.zeros(num_networks, dtype=STEP),
        salts=np.zeros(num_networks, dtype=np.uint64),
        figures=transport.loss_figures(),
        num_rows=num_rows,
        num_links=num_links,
    )


def flow_keys(flows: Workload, transport: Transport) -> npt.NDArray[np.uint64]:
    """Hashes each flow: it has the same luck whoever schedules it, wherever it runs, and whatever comes after it.

    Args:
        flows: The flows.
        transport: How they send, with losses.

    Returns:
        Keys, (num_flows,).
    """
    assert transport.losses is not None
    keys = mixed(np.full(len(flows.flow_id), transport.losses.seed + 1, dtype=np.uint64))
    for column in (flows.arrival_time, flows.size, flows.source, flows.destination, flows.flow_id):
        keys = mixed(keys + np.ascontiguousarray(column).view(np.uint64))
    found: npt.NDArray[np.uint64] = keys
    return found
