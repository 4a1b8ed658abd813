"""Makes room for senders whose packets can be lost, and finds what their random numbers are hashed from."""

import hashlib

import numpy as np

from flowsched_gym.model.records import RecordedFlows
from flowsched_gym.model.rules.transport.lossy.senders import PORT, SENDER, Senders
from flowsched_gym.model.transport import Transport

__all__ = ["episode_key", "new_senders"]


def new_senders(num_networks: int, num_rows: int, num_links: int, transport: Transport) -> Senders:
    """Makes room for networks with so many flows and links."""
    return Senders(
        flows=np.zeros(num_networks * num_rows, dtype=SENDER),
        ports=np.zeros(num_networks * num_links, dtype=PORT),
        keys=np.zeros(num_networks, dtype=np.uint64),
        figures=transport.loss_figures(),
        num_rows=num_rows,
        num_links=num_links,
    )


def episode_key(flows: RecordedFlows, transport: Transport) -> np.uint64:
    """Hashes the flows of an episode: the same flows lose the same packets whoever schedules them, wherever they run.

    Args:
        flows: The flows.
        transport: How they send, with losses.
    """
    assert transport.losses is not None
    content = hashlib.blake2b(digest_size=8, key=transport.losses.seed.to_bytes(8, "little"))
    for column in (flows.arrival_time, flows.size, flows.source, flows.destination):
        content.update(np.ascontiguousarray(column).astype(column.dtype.newbyteorder("<")).tobytes())
    return np.uint64(int.from_bytes(content.digest(), "little"))
