"""Decisions about packets at a port and at their senders, for both engines.

Arguments of these names mean the same in all of these rules, and are described here alone:

- ``now``: time in s; ``port``: number of the port; ``p``: row of a packet in ``table``; ``table``: the packets.
- ``key``: number of the message, or of the connection, whose bytes are counted together.
- ``record``: the record of what a scheduler keeps, with one entry, or row, for each port.
- ``gap``: silence in s after which a new message, or flowlet, begins: strictly longer.
"""

__all__: list[str] = []
