"""Holds flows that are made of records of nfdump and Zeek, and of packets, to small files in the published formats."""

import socket
import struct
from pathlib import Path

import pytest

from flowsched_gym.core.errors import ConfigError, FlowFileError
from flowsched_gym.workload.imported import import_flows

OLD = """\
ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,in,out
2026-09-01 10:00:00,2026-09-01 10:00:05,5.000,10.0.2.20,10.0.3.30,51514,1433,TCP,.AP.SF,0,0,10,1200,8,64000,0,0
2026-09-01 10:00:02,2026-09-01 10:00:05,3.000,10.0.3.30,10.0.2.9,1433,51514,TCP,.AP.SF,0,0,8,0,0,0,0,0
2026-09-01 09:59:59,2026-09-01 10:00:05,3.000,10.0.2.9,10.0.2.9,1433,51514,TCP,.AP.SF,0,0,8,77,0,0,0,0
Summary
flows,bytes,packets,avg_bps,avg_pps,avg_bpp
3,65277,18,0,0,0
"""
NEW = """\
firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,bpp,bps,flows
2026-10-07 04:24:43.017,0.238,TCP,fe80::1,22,203.0.113.66,33586,19,5387,1,1,1
2026-10-07 04:24:43.517,0.238,TCP,203.0.113.66,33586,fe80::1,22,22,4895,1,1,1
"""
# ruff: noqa: E501 - the text is as nfdump prints it
LONG = """\
Date first seen          Duration Proto      Src IP Addr:Port          Dst IP Addr:Port   Flags Tos  Packets    Bytes Flows
2005-08-30 06:59:52.338     0.001 UDP      36.249.80.226:3040  ->     92.98.219.116:1434  ......   0        1      404     1
2005-08-30 06:59:53.338    63.545 TCP     113.138.32.152:25    ->    36.249.80.226:3575  .AP.SF   0    2.7 M    1.2 M     1
2018-01-16 13:10:31.848     1.024 UDP   fe80::1..9a:bc53.5353  ->         ff02::fb.5353         2      951     1
Summary: total flows: 3, total bytes: 1201355, total packets: 3, avg bps: 1, avg pps: 0, avg bpp: 124
Time window: 2005-08-30 06:53:00 - 2005-08-30 07:56:29
"""
ZEEK = """\
#separator \\x09
#set_separator\t,
#empty_field\t(empty)
#unset_field\t-
#path\tconn
#fields\tts\tuid\tid.orig_h\tid.orig_p\tid.resp_h\tid.resp_p\tproto\tduration\torig_bytes\tresp_bytes
#types\ttime\tstring\taddr\tport\taddr\tport\tenum\tinterval\tcount\tcount
1258531221.486539\tPii6cU\t192.168.1.102\t68\t192.168.1.1\t67\tudp\t0.163820\t301\t300
1258531680.237254\tnkCxlv\t192.168.1.103\t137\t192.168.1.255\t137\tudp\t3.780125\t350\t0
1258531681.237254\tnkCxlw\t192.168.1.103\t137\t192.168.1.255\t137\ttcp\t-\t-\t-
#close\t2014-05-23-18-02-04
"""
ZEEK_JSON = """\
{"ts":1258531221.486539,"id.orig_h":"192.168.1.102","id.resp_h":"192.168.1.1","orig_bytes":301,"resp_bytes":300}
{"ts":"2009-11-18T08:08:00.237254Z","id.orig_h":"192.168.1.103","id.resp_h":"192.168.1.255","orig_bytes":350}
"""


def written(tmp_path: Path, content: str | bytes) -> Path:
    file = tmp_path / "records"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def rows(imported) -> list[tuple]:
    flows = imported.workload
    columns = flows.source, flows.destination, flows.size, flows.arrival_time
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_old_records_of_nfdump_have_two_ways_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    imported = import_flows(written(tmp_path, OLD), format="nfdump")
    # Addresses by number: 10.0.2.9, 10.0.2.20, 10.0.3.30; the first record left begins at 0 s.
    assert imported.addresses == ("10.0.2.9", "10.0.2.20", "10.0.3.30")
    assert rows(imported) == [(1, 2, 1200.0, 0.0), (2, 1, 64000.0, 0.0)]
    assert imported.left_out == {"without bytes": 1, "from a host to itself": 1}


def test_new_records_of_nfdump_and_its_text_are_read(tmp_path: Path) -> None:
    imported = import_flows(written(tmp_path, NEW), format="nfdump")
    assert rows(imported) == [(1, 0, 5387.0, 0.0), (0, 1, 4895.0, 0.5)]
    imported = import_flows(written(tmp_path, LONG), format="nfdump")
    assert imported.addresses[:3] == ("36.249.80.226", "92.98.219.116", "113.138.32.152")
    assert rows(imported)[:2] == [(0, 1, 404.0, 0.0), (2, 0, 1.2e6, 1.0)]
    assert (imported.addresses[3:], imported.workload.size[2]) == (("ff02::fb", "fe80::1..9a:bc53"), 951.0)


@pytest.mark.parametrize("content", [ZEEK, ZEEK_JSON])
def test_both_sides_of_a_connection_of_zeek_are_flows(content: str, tmp_path: Path) -> None:
    imported = import_flows(written(tmp_path, content), format="zeek")
    assert imported.addresses == ("192.168.1.1", "192.168.1.102", "192.168.1.103", "192.168.1.255")
    # To the microsecond: a Unix time in float64 would round.
    assert rows(imported) == [(1, 0, 301.0, 0.0), (0, 1, 300.0, 0.0), (2, 3, 350.0, 458.750715)]


def ethernet(source: str, destination: str, payload: int, *, captured: int | None = None, protocol: int = 6) -> bytes:
    """Lays out a frame whose headers say so much payload, of which fewer bytes may have been captured."""
    data = bytes(payload if captured is None else captured)
    transport = struct.pack("!HHIIBBHHH", 80, 5000, 1, 1, 5 << 4, 0x18, 100, 0, 0)
    if protocol == 17:
        transport = struct.pack("!HHHH", 80, 5000, 8 + payload, 0)
    length = 20 + len(transport) + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, length, 0, 0, 64, protocol, 0)
    addresses = socket.inet_aton(source) + socket.inet_aton(destination)
    return bytes(12) + b"\x08\x00" + head + addresses + transport + data


def capture(*packets: tuple[float, bytes]) -> bytes:
    """Writes a pcap file (microseconds, little-endian, Ethernet)."""
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for time, data in packets:
        seconds = int(time)
        microseconds = round((time - seconds) * 1e6)
        content += struct.pack("<IIII", seconds, microseconds, len(data), len(data)) + data
    return content


def test_packets_of_a_direction_are_a_flow_until_it_is_silent(tmp_path: Path) -> None:
    pytest.importorskip("dpkt", reason="dpkt is not installed: pip install 'flowsched-gym[pcap]'")
    a, b = "10.0.0.1", "10.0.0.2"
    packets = (
        (100.0, ethernet(a, b, 0)),
        (100.25, ethernet(b, a, 500, protocol=17)),
        (100.5, ethernet(a, b, 1460, captured=20)),
        (101.0, ethernet(a, b, 40)),
        (117.5, ethernet(a, b, 7)),
        (118.0, bytes(12) + b"\x08\x06" + bytes(28)),
    )
    imported = import_flows(written(tmp_path, capture(*packets)), format="pcap")
    assert rows(imported) == [(0, 1, 1500.0, 0.0), (1, 0, 500.0, 0.25), (0, 1, 7.0, 17.5)]
    assert imported.left_out == {"packets of neither TCP nor UDP, and fragments": 1}
    with pytest.raises(FlowFileError, match="is no packet capture"):
        import_flows(written(tmp_path, OLD), format="pcap")


def test_addresses_share_the_hosts_of_a_network_in_turns(tmp_path: Path) -> None:
    imported = import_flows(written(tmp_path, ZEEK), format="zeek", num_hosts=3)
    assert [row[:2] for row in rows(imported)] == [(1, 0), (0, 1), (2, 0)]
    with pytest.raises(ConfigError, match="num_hosts is 1: it must be an integer >= 2"):
        import_flows(tmp_path / "records", format="zeek", num_hosts=1)


@pytest.mark.parametrize(
    ("format", "content", "message"),
    [
        ("nfdump", OLD.replace("ibyt", "byts"), "line 1: no column bytes or inBytes or ibyt"),
        ("nfdump", OLD.replace("1200", "many"), "line 2, column ibyt is 'many': it must be a number of bytes >= 0"),
        ("nfdump", OLD.replace("2026-09-01 10:00:02,", "soon,"), "line 3, column ts is 'soon': it must be a date"),
        ("nfdump", "10.0.0.1 10.0.0.2", "line 1: it begins with '10.0.0.1 10.0.0.2': it must be the header"),
        ("nfdump", LONG.replace("->", "<->"), "line 2 is .* it must be one of nfdump -o long"),
        ("nfdump", NEW.partition("\n")[0], "has no flow: of 0 records"),
        ("zeek", ZEEK.replace("\t301\t", "\t-3\t"), "line 8, column orig_bytes is '-3'"),
        ("zeek", "1258531221.4\ta\tb", "line 1: no line #fields"),
        ("zeek", '{"ts": 1}', "line 1: no id.orig_h"),
        ("zeek", "{", "line 1: this is not JSON"),
    ],
)
def test_a_faulty_record_is_named_with_file_line_column_and_value(format, content, message, tmp_path: Path) -> None:
    with pytest.raises(FlowFileError, match=message) as caught:
        import_flows(written(tmp_path, content), format=format)
    assert str(tmp_path / "records") in str(caught.value)
