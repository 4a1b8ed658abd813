"""Bytes that each message has sent, counted without error, as a sender can."""

from typing import NamedTuple

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.machine_code.decorators import inlined_part
from flowsched_gym.packets.rules.table import PacketTable


class Messages(NamedTuple):
    """Bytes sent by key.

    Attributes:
        gap: Silence in s after which a new message begins, > 0; inf for never.
        count_after: Whether bytes sent include the packet that asks.
        sent: Bytes sent in the present message, (num_keys,) float64.
        last_seen: When the last packet arrived, in s, (num_keys,) float64; NaN before the first.
    """

    gap: float
    count_after: bool
    sent: FloatArray
    last_seen: FloatArray


def new_messages(num_keys: int, gap: float, *, count_after: bool) -> Messages:
    """Makes a record of messages that have sent nothing."""
    return Messages(gap, count_after, np.zeros(num_keys), np.full(num_keys, np.nan))


@inlined_part
def count_bytes(now: float, port: int, p: int, table: PacketTable, messages: Messages) -> tuple[float, float, bool]:
    """Counts a packet at the port of its sender, which tags it for those behind.

    Returns:
        Bytes sent before it, or with it; when the packet before it arrived; whether it begins a message.
    """
    key = table.key[table.flow[p]]
    last_seen = messages.last_seen[key]
    if 0 < table.num_senders <= port:
        return table.tag[p], last_seen, False
    new = not last_seen >= now - messages.gap
    before = 0.0 if new else messages.sent[key]
    after = before + (table.size[p] - table.header)
    messages.sent[key] = after
    messages.last_seen[key] = now
    weight = after if messages.count_after else before
    if table.num_senders > 0:
        table.tag[p] = weight
    return weight, last_seen, new
