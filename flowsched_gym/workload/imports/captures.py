"""Reads the files of packet captures, pcap and pcapng, and makes flows of their packets.

Each direction of two addresses and ports is a flow, a new one after 15 s of silence. In pcapng, each packet has the
link type and the clock of its own interface, in its own section.
"""

import struct
from collections.abc import Iterator
from decimal import Decimal
from io import BufferedIOBase
from pathlib import Path
from typing import Final, NamedTuple

from flowsched_gym.core.errors import FlowFileError
from flowsched_gym.workload.imports.layers import Flow, Layers
from flowsched_gym.workload.imports.records import SECONDS_END, Record, Told, opened

SILENCE: Final = 15
"""Seconds without a packet after which one of the same addresses and ports begins a new flow, as nfpcapd has it."""
PCAP: Final = {  # byte order, and how many parts of a second a time counts
    b"\xd4\xc3\xb2\xa1": ("<", 10**6),
    b"\xa1\xb2\xc3\xd4": (">", 10**6),
    b"\x4d\x3c\xb2\xa1": ("<", 10**9),
    b"\xa1\xb2\x3c\x4d": (">", 10**9),
}
PCAPNG: Final = b"\x0a\x0d\x0d\x0a"
BYTE_ORDERS: Final = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
MOST_CAPTURED: Final = 2**18
"""Bytes of a packet that are captured at most, as libpcap has it."""
LINK_BITS: Final = 0xFFFF
"""Those of a link type; the others tell of checksums."""
INTERFACE, OBSOLETE_PACKET, SIMPLE_PACKET, PACKET = 1, 2, 3, 6
"""Blocks of pcapng that are read, or told of."""
RESOLUTION, OFFSET = 9, 14
"""Options of an interface: if_tsresol, if_tsoffset."""
NO_TIME: Final = "simple packet blocks, which have no time"


class Packet(NamedTuple):
    """A packet as it was captured: Unix time in s, what was captured of it, link type, and its length on the wire."""

    time: Decimal
    data: bytes
    link: int
    length: int


Interface = tuple[int, int, int]
"""What times of an interface count from, in s, the parts of a second that they count, and its link type."""


def read_pcap(path: Path, told: Told) -> Iterator[Record]:
    """Yields the flows of a capture."""
    layers = Layers()
    seen: list[tuple[Decimal, Flow, int, str]] = []
    with opened(path) as file:
        magic = file.read(len(PCAPNG))
        if magic in PCAP:
            packets = _pcap_packets(file, *PCAP[magic], path, told)
        elif magic == PCAPNG:
            packets = _pcapng_packets(file, path, told)
        else:
            raise FlowFileError(f"{path} is no packet capture: it begins with the bytes {magic.hex(' ') or 'none'}")
        for number, packet in enumerate(packets, start=1):
            if not 0 <= packet.time < SECONDS_END:
                allowed = "seconds since 1970, from 0 to 1e11"
                raise FlowFileError(f"{path}, packet {number} has the time {packet.time:.6g}: it must be {allowed}")
            found = layers.flow_of(*packet[1:])
            if isinstance(found, str):
                told.left_out[found] += 1
            else:
                seen.append((packet.time, *found, f"packet {number}"))
    seen.sort(key=lambda each: each[0])
    records: dict[Flow, tuple[Record, Decimal]] = {}
    for time, flow, size, place in seen:
        record, last = records.get(flow, (None, time))
        if record is None or time - last > SILENCE:
            if record is not None:
                yield record
            record = Record(time, flow.source, flow.destination, Decimal(0), place)
        records[flow] = record._replace(size=record.size + size), time
    yield from (record for record, _ in records.values())


def _pcap_packets(file: BufferedIOBase, order: str, units: int, path: Path, told: Told) -> Iterator[Packet]:
    head = file.read(20)
    if len(head) < 20:
        raise FlowFileError(f"{path} is no packet capture: it ends in its header, at byte {4 + len(head)}")
    link = struct.unpack(order + "HHiIII", head)[-1] & LINK_BITS
    position = 24
    while header := file.read(16):
        captured, data = 0, b""
        if len(header) == 16:
            seconds, parts, captured, length = struct.unpack(order + "IIII", header)
            for what, value, most in (
                (f"{captured} captured bytes", captured, MOST_CAPTURED),
                (f"the time {seconds} s and {parts} parts of a second", parts, units - 1),
            ):
                if value > most:
                    raise FlowFileError(
                        f"{path} is damaged at byte {position}: a packet of {what}: at most {most} are allowed"
                    )
            data = file.read(captured)
        if len(header) < 16 or len(data) < captured:
            _tell_of_cut("packet", position, position + len(header) + len(data), told)
            return
        yield Packet(seconds + Decimal(parts) / units, data, link, length)
        position += 16 + captured


def _pcapng_packets(file: BufferedIOBase, path: Path, told: Told) -> Iterator[Packet]:
    position, order, interfaces = 0, "", list[Interface]()
    head = PCAPNG + file.read(8)
    while head:
        try:
            if head.startswith(PCAPNG) and len(head) == 12:  # a section begins, with its own byte order
                if head[8:] not in BYTE_ORDERS:
                    raise ValueError(f"its byte order is {head[8:].hex()}: it must be 1a2b3c4d or 4d3c2b1a")
                order, interfaces = BYTE_ORDERS[head[8:]], []
            kind, length = struct.unpack_from(order + "II", head) if len(head) == 12 else (0, 12)
            body = head[8:] + file.read(max(length - 12, 0))
            if len(head) < 12 or len(body) < length - 8:
                _tell_of_cut("block", position, position + len(head[:8]) + len(body), told)
                return
            if body[-4:] != head[4:8]:
                raise ValueError(f"its length is {length}, and another one at its end")
            packet = _block(kind, body[:-4], order, interfaces)
        except (LookupError, ValueError, struct.error) as error:
            why = error if isinstance(error, ValueError) else "it is too short for what it must have"
            raise FlowFileError(f"{path} is damaged in the block at byte {position}: {why}") from None
        if isinstance(packet, str):
            told.left_out[packet] += 1
        elif packet is not None:
            yield packet
        position += length
        head = file.read(12)


def _block(kind: int, body: bytes, order: str, interfaces: list[Interface]) -> Packet | str | None:
    """Reads a block: adds an interface to those of the section, or returns a packet, or why it is left out."""
    if kind == INTERFACE:
        link, options = struct.unpack_from(order + "H", body)[0], body[8:]
        offset, units = 0, 10**6
        while len(options) >= 4:
            code, length = struct.unpack_from(order + "HH", options)
            value, options = options[4 : 4 + length], options[4 + (length + 3) // 4 * 4 :]
            if code == 0:
                break
            if code == RESOLUTION:
                digits = value[0] & 0x7F
                units = 1 << digits if value[0] & 0x80 else int("1" + digits * "0")
            elif code == OFFSET:
                (offset,) = struct.unpack(order + "q", value)
        interfaces.append((offset, units, link))
    elif kind == SIMPLE_PACKET:
        return NO_TIME
    elif kind in (PACKET, OBSOLETE_PACKET):
        of_interface = "I" if kind == PACKET else "Hxx"
        number, high, low, captured, length = struct.unpack_from(f"{order}{of_interface}IIII", body)
        data = body[20 : 20 + captured]
        if len(data) < captured:
            raise ValueError(f"a packet of {captured} captured bytes")
        if number >= len(interfaces):
            raise ValueError(f"there is no interface {number}")
        offset, units, link = interfaces[number]
        return Packet(offset + Decimal(high << 32 | low) / units, data, link, length)
    return None


def _tell_of_cut(what: str, begin: int, end: int, told: Told) -> None:
    told.left_out[f"{what} at byte {begin}, in which the file ends, at byte {end}"] += 1
