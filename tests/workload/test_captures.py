"""Holds flows that are made of packet captures to small files, written here byte by byte, in pcap and pcapng."""

import gzip
import random
import socket
import struct
from pathlib import Path

import pytest

from flowsched_gym.core.errors import FlowFileError, FlowSchedError
from flowsched_gym.workload.imported import Imported, import_flows

pytest.importorskip("dpkt", reason="dpkt is not installed: pip install 'flowsched-gym[pcap]'")

A, B, C = "10.0.0.1", "10.0.0.2", "2001:db8::1"
ETHERNET = bytes(12)
TIME = 1_790_000_000


def transport(payload: int, protocol: int = 6, captured: int | None = None) -> bytes:
    """Lays out TCP or UDP with headers that say so much payload, of which fewer bytes may have been captured."""
    head = struct.pack("!HHIIBBHHH", 80, 5000, 1, 1, 5 << 4, 0x18, 100, 0, 0)
    if protocol == 17:
        head = struct.pack("!HHHH", 80, 5000, 8 + payload, 0)
    return head + bytes(payload if captured is None else captured)


def ip(
    source: str, destination: str, data: bytes, protocol: int = 6, length: int | None = None, part: int = 0
) -> bytes:
    """Lays out IPv4, or IPv6 where the source is such an address."""
    length = len(data) if length is None else length
    if ":" in source:
        addresses = [socket.inet_pton(socket.AF_INET6, each) for each in (source, destination)]
        return struct.pack("!IHBB", 6 << 28, length, protocol, 64) + b"".join(addresses) + data
    head = struct.pack("!BBHHHBBH", 0x45, 0, length and 20 + length, 0, part, 64, protocol, 0)
    return head + socket.inet_aton(source) + socket.inet_aton(destination) + data


def packet(payload: int = 500, source: str = A, destination: str = B) -> bytes:
    return ip(source, destination, transport(payload))


def frame(data: bytes, kind: int = 0x0800) -> bytes:
    return ETHERNET + struct.pack("!H", kind) + data


def pcap(*packets: tuple[float, bytes], link: int = 1, order: str = "<", magic: int = 0xA1B2C3D4) -> bytes:
    content = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 65535, link)
    parts = 10**9 if magic == 0xA1B23C4D else 10**6
    for time, data in packets:
        content += struct.pack(order + "IIII", int(time), round(time % 1 * parts), len(data), len(data)) + data
    return content


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def section(order: str = "<") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(link: int = 1, order: str = "<", **options: bytes) -> bytes:
    numbers = {"name": 2, "ipv6": 5, "resolution": 9, "offset": 14}
    content = struct.pack(order + "HHI", link, 0, 0)
    for name, value in options.items():
        content += struct.pack(order + "HH", numbers[name], len(value)) + value + bytes(-len(value) % 4)
    return block(1, content, order)


def enhanced(ticks: int, data: bytes, number: int = 0, order: str = "<") -> bytes:
    high, low = divmod(ticks, 2**32)
    return block(6, struct.pack(order + "IIIII", number, high, low, len(data), len(data)) + data, order)


def imported(tmp_path: Path, content: bytes) -> Imported:
    file = tmp_path / "packets"
    file.write_bytes(content)
    return import_flows(file, format="pcap")


def rows(flows: Imported) -> list[tuple]:
    columns = flows.workload.source, flows.workload.destination, flows.workload.size, flows.workload.arrival_time
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_packets_of_a_direction_are_a_flow_until_it_is_silent(tmp_path: Path) -> None:
    packets = (
        (100.0, frame(packet(0))),
        (100.25, frame(ip(B, A, transport(500, 17), 17))),
        (100.5, frame(ip(A, B, transport(1460, captured=20), length=1480))),
        (101.0, frame(packet(40))),
        (117.5, frame(packet(7))),
        (118.0, frame(bytes(28), 0x0806)),
    )
    flows = imported(tmp_path, pcap(*packets))
    assert rows(flows) == [(0, 1, 1500.0, 0.0), (1, 0, 500.0, 0.25), (0, 1, 7.0, 17.5)]
    assert flows.left_out == {"packets of ARP": 1}
    # The same in any order: a flow begins with its earliest packet.
    assert rows(imported(tmp_path, pcap(*packets[::-1]))) == rows(flows)


def test_byte_orders_nanoseconds_and_compression_change_nothing(tmp_path: Path) -> None:
    packets = ((TIME + 0.25, frame(packet())), (TIME + 0.75, frame(packet(600, B, A))))
    for order in "<>":
        for magic in (0xA1B2C3D4, 0xA1B23C4D):
            content = pcap(*packets, order=order, magic=magic)
            for each in (content, gzip.compress(content)):
                assert rows(imported(tmp_path, each)) == [(0, 1, 500.0, 0.0), (1, 0, 600.0, 0.5)]


def test_each_packet_of_pcapng_has_the_clock_and_link_type_of_its_own_interface(tmp_path: Path) -> None:
    raw = packet(600, B, A)
    ends = struct.pack("<HHII", 1, 0, *divmod((TIME + 1) * 10**6, 2**32)) + struct.pack("<II", len(raw), len(raw))
    content = (
        section()
        + interface(ipv6=bytes(17), name=b"\xe9t\xe9")
        + interface(101, resolution=b"\x09")
        + enhanced(TIME * 10**6, frame(packet()))
        + enhanced((TIME * 10 + 5) * 10**8, raw, number=1)
        + block(3, struct.pack("<I", 60) + bytes(60))
        + block(5, bytes(12))
        + section(">")
        + interface(101, ">", resolution=b"\x8a", offset=struct.pack(">q", TIME))
        + enhanced(2 * 1024, packet(700), order=">")
    )
    flows = imported(tmp_path, content)
    assert rows(flows) == [(0, 1, 1200.0, 0.0), (1, 0, 600.0, 0.5)]
    assert flows.left_out == {"simple packet blocks, which have no time": 1}
    # A packet block as it was before the enhanced one.
    content = section() + interface() + interface(101) + enhanced(TIME * 10**6, frame(packet()))
    assert rows(imported(tmp_path, content + block(2, ends + raw))) == [(0, 1, 500.0, 0.0), (1, 0, 600.0, 1.0)]


def test_tags_and_tunnels_are_followed_to_the_innermost_packet(tmp_path: Path) -> None:
    inner, vlan, mpls = packet(), b"\x00\x05\x08\x00", b"\x00\x00\x51\x40"
    pppoe = b"\x11\x00\x00\x01" + struct.pack("!H", len(inner) + 2) + b"\x00\x21"
    for link, data in (
        (1, frame(vlan + inner, 0x8100)),
        (1, frame(b"\x00\x06\x81\x00" + vlan + inner, 0x88A8)),
        (1, frame(mpls + inner, 0x8847)),
        (1, frame(pppoe + inner, 0x8864)),
        (1, frame(ip("1.1.1.1", "1.1.1.2", b"\x00\x00\x08\x00" + inner, 47))),
        (1, frame(ip("1.1.1.1", "1.1.1.2", b"\x00\x00\x88\x47" + mpls + inner, 47))),
        (1, frame(ip("1.1.1.1", "1.1.1.2", b"\x00\x00\x65\x58" + frame(vlan + inner, 0x8100), 47))),
        (1, frame(ip("1.1.1.1", "1.1.1.2", inner, 4))),
        (1, frame(ip("::1", "::2", inner, 4), 0x86DD)),
        (0, struct.pack("<I", 2) + inner),
        (108, struct.pack(">I", 2) + inner),
        (9, b"\xff\x03\x00\x21" + inner),
        (9, b"\x00\x21" + inner),
        (50, b"\x0f\x00\x08\x00" + inner),
        (51, pppoe + inner),
        (101, inner),
        (104, b"\x0f\x00\x08\x00" + inner),
        (113, bytes(14) + b"\x08\x00" + inner),
        (113, bytes(14) + b"\x81\x00" + vlan + inner),
        (219, mpls + inner),
        (276, b"\x08\x00" + bytes(18) + inner),
    ):
        flows = imported(tmp_path, pcap((TIME, data), link=link))
        assert (flows.addresses, rows(flows), flows.left_out) == ((A, B), [(0, 1, 500.0, 0.0)], {}), (link, data[:60])
    flows = imported(tmp_path, pcap((TIME, frame(ip("1.1.1.1", "1.1.1.2", packet(9, C, "2001:db8::2"), 41)))))
    assert (flows.addresses, rows(flows)) == ((C, "2001:db8::2"), [(0, 1, 9.0, 0.0)])


def test_what_is_left_out_of_a_capture_is_counted_by_its_name(tmp_path: Path) -> None:
    hop_by_hop = b"\x2c\x00\x01\x04" + bytes(4)
    for reason, data in (
        ("packets of ICMP", frame(ip(A, B, b"\x03\x00" + bytes(6) + packet(), 1))),
        ("packets of ESP", frame(ip(A, B, bytes(40), 50))),
        ("packets of ESP", frame(ip(C, "::2", bytes(40), 50), 0x86DD)),
        ("packets of AH", frame(ip(A, B, b"\x06\x04" + bytes(22) + transport(9), 51))),
        ("packets of IP protocol 0x5e, which is not read", frame(ip(A, B, bytes(40), 94))),
        ("packets of Ethernet type 0x88e5, which is not read", frame(bytes(40), 0x88E5)),
        ("packets of PPP protocol 0xc021, which is not read", frame(b"\x11\0\0\1\0\6\xc0\x21\1\1\0\4", 0x8864)),
        ("packets whose headers are cut or damaged", frame(packet())[:40]),
        ("fragments after the first, which have no ports", frame(ip(A, B, bytes(900), 17, part=185))),
        (
            "fragments after the first, which have no ports",
            frame(ip(C, "::2", b"\x11\0\5\xa0" + bytes(90), 44), 0x86DD),
        ),
        (
            "fragments after the first, which have no ports",
            frame(ip(C, "::2", hop_by_hop + b"\x11\0\5\xa0" + bytes(90), 0), 0x86DD),
        ),
    ):
        flows = imported(tmp_path, pcap((TIME, frame(packet())), (TIME, data)))
        assert (rows(flows), flows.left_out) == ([(0, 1, 500.0, 0.0)], {reason: 1})
    # The first fragment of a datagram has the length of all.
    first = frame(ip(A, B, transport(3000, 17, captured=1472), 17, part=0x2000))
    assert rows(imported(tmp_path, pcap((TIME, first)))) == [(0, 1, 3000.0, 0.0)]
    # Extension headers are no payload.
    extended = ip(C, "::2", b"\x06\x00\x01\x04" + bytes(4) + transport(70), 0)
    assert rows(imported(tmp_path, pcap((TIME, frame(extended, 0x86DD))))) == [(1, 0, 70.0, 0.0)]
    # A length of 0 was left to the network card.
    assert rows(imported(tmp_path, pcap((TIME, frame(ip(A, B, transport(64), length=0)))))) == [(0, 1, 64.0, 0.0)]
    with pytest.raises(FlowFileError, match=r"no flow.* 1 packets of link type 105 \(IEEE802_11\), which is not read"):
        imported(tmp_path, pcap((TIME, bytes(60)), link=105))


def test_of_a_file_that_is_cut_whole_packets_are_kept_and_its_end_is_told(tmp_path: Path) -> None:
    content = pcap((TIME, frame(packet())), (TIME + 1, frame(packet())))
    begin = (24 + len(content)) // 2
    for end in (begin + 7, begin + 16, len(content) - 1):
        flows = imported(tmp_path, content[:end])
        assert rows(flows) == [(0, 1, 500.0, 0.0)]
        assert flows.left_out == {f"packet at byte {begin}, in which the file ends, at byte {end}": 1}
    whole = section() + interface() + enhanced(TIME * 10**6, frame(packet()))
    for end in (1, 4, 8, 9, 12, 40, 200):
        flows = imported(tmp_path, whole + enhanced(TIME * 10**6, frame(packet()))[:end])
        assert flows.left_out == {f"block at byte {len(whole)}, in which the file ends, at byte {len(whole) + end}": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"ts,te", "is no packet capture: it begins with the bytes 74 73 2c 74"),
        (b"", "is no packet capture: it begins with the bytes none"),
        (pcap()[:20], "is no packet capture: it ends in its header, at byte 20"),
        (pcap(), "has no flow: of 0 records"),
        (pcap() + b"\xff" * 60, "is damaged at byte 24: a packet of 4294967295 captured bytes"),
        (
            pcap() + struct.pack("<IIII", TIME, 10**6, 0, 0),
            "at byte 24: a packet of the time 1790000000 s and 1000000 parts of a second: at most 999999 are allowed",
        ),
        (section() + enhanced(0, packet()), "is damaged in the block at byte 28: there is no interface 0"),
        (section() + b"\1\0\0\0\x0c\0\0\0\x0c\0\0\0", "in the block at byte 28: it is too short for what it must have"),
        (section()[:8] + b"\x11" * 4 + section()[12:], "at byte 0: its byte order is 11111111: it must be 1a2b3c4d or"),
        (
            section()[:-4] + b"\1\0\0\0",
            "is damaged in the block at byte 0: its length is 28, and another one at its end",
        ),
        (
            section() + interface(101, offset=struct.pack("<q", -1)) + enhanced(0, packet()),
            "packet 1 has the time -1: it must be seconds since 1970",
        ),
        (pcap((0.0, frame(packet())), (TIME, frame(packet()))), "1970-01-01 00:00:00 .packet 1. to 2026.* .packet 2."),
    ],
)
def test_a_capture_that_is_none_or_damaged_is_refused_with_the_place(
    content: bytes, message: str, tmp_path: Path
) -> None:
    with pytest.raises(FlowFileError, match=message):
        imported(tmp_path, content)


def test_captures_damaged_at_random_are_read_or_refused_with_their_name(tmp_path: Path) -> None:
    generator = random.Random(0)
    whole = pcap(
        (TIME, frame(b"\x00\x05\x08\x00" + packet(90), 0x8100)), (TIME + 1, frame(packet(90, C, "::2"), 0x86DD))
    )
    blocks = section() + interface(resolution=b"\x09") + enhanced(TIME * 10**9, frame(packet(90)))
    refused = []
    for _ in range(300):
        content = bytearray(generator.choice((whole, blocks)))
        for _ in range(generator.randint(1, 4)):
            content[generator.randrange(len(content))] = generator.choice((0, 255, generator.randrange(256)))
        try:
            imported(tmp_path, bytes(content[: generator.choice((None, generator.randrange(len(content))))]))
        except FlowSchedError as error:
            refused.append(str(error))
    assert refused
    assert all(each.startswith(str(tmp_path / "packets")) for each in refused)
