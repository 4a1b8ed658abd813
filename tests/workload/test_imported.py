"""Holds flows that are made of records, and of the files of simulators, to small files in the published formats."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, FlowFileError
from flowsched_gym.workload import NO_TASK, Workload, coflow_sample, make_workload, read_coflows
from flowsched_gym.workload.exported import ExportWarning, write_cm, write_hpcc
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
2005-08-30 06:59:54.338     1.024 UDP     2001:db8::ff00:42:8329.5353  ->         ff02::fb.5353  ......   0        2      951     1
2005-08-30 06:59:55.338 1d 00:00:01.024 ICMP6   fe80::1.0  ->         ff02::1.134.0         ......   0        2      64     1
Summary: total flows: 4, total bytes: 1201419, total packets: 3, avg bps: 1, avg pps: 0, avg bpp: 124
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
ZEEK_HOSTS = ("192.168.1.1", "192.168.1.102", "192.168.1.103")
EXTENDED = """\
Date first seen          Duration  Proto      Src IP Addr:Port          Dst IP Addr:Port   Flags Tos  Packets    Bytes      pps      bps    Bpp Flows
2026-09-21 12:13:20.250  00:00:00.100 TCP          10.9.0.1:5001  ->         10.9.0.2:80    ...AP.SF   0       10    12000     100   960000   1200     1
2026-09-21 12:13:20.750  00:00:00.100 ICMP         10.9.0.3:0     ->         10.9.0.2:8.0   ...AP.SF   0       10    1.2 M     100   1.9 M   1200     1
"""
BOTH_WAYS = """\
Date first seen          Duration Proto      Src IP Addr:Port          Dst IP Addr:Port  Out Pkt   In Pkt Out Byte  In Byte Flows
2026-09-21 12:13:20.250     0.100 TCP          10.9.0.1:5001  <->        10.9.0.2:80         50       10    70000      500     2
2026-09-21 12:13:20.750     0.100 TCP          10.9.0.3:5001  <->        10.9.0.2:80          0       10        0      300     1
"""
OWN_TEXT = """\
   Bytes First seen raw      Src IP Addr     Dst IP Addr Dst Pt
   2.5 G 1789992801.250         10.9.0.1        10.9.0.2     80
"""
OWN_CSV = "outBytes,dstAddr,srcAddr,inBytes,firstSeen\n70000,10.9.0.2,10.9.0.1,500,1790000000.5\n"
FAST = """\
cnt,af,firstSeen,lastSeen,proto,srcAddr,srcPort,dstAddr,dstPort,srcAS,dstAS,input,output,flags,srcTos,packets,bytes
1,2,1790000000250,1790000000350,6,10.9.0.1,5001,10.9.0.2,80,0,0,1,2,...AP.SF,0,10,12000
2,2,1790000000750,1790000001250,6,10.9.0.3,5002,10.9.0.2,80,0,0,1,2,...AP.SF,0,10,22000
"""
ZEEK_MS = """\
{"ts":1790000000250.0,"id.orig_h":"10.9.0.1","id.resp_h":"10.9.0.2","orig_bytes":300,"resp_bytes":12000}
{"ts":1790000000750.0,"id.orig_h":"10.9.0.3","id.resp_h":"10.9.0.2","orig_bytes":300,"resp_bytes":12000}
"""
ZEEK_JSON = """\
{"ts":1258531221.486539,"id.orig_h":"192.168.1.102","id.resp_h":"192.168.1.1","orig_bytes":301,"resp_bytes":300}
{"ts":"2009-11-18T08:08:00.237254Z","id.orig_h":"192.168.1.103","id.resp_h":"192.168.1.255","orig_bytes":350}
"""
# As HPCC comes with it: nodes from 1 on, more lines than flows, and an explanation.
HPCC = """\
2
2 1 3 100 200000 2
3 1 4 100 5000 2.000000001
4 1 3 100 5000 2.5

First line: # of flows
"""
CONWEAVE = "2\n2 1 3 200000 2\n3 1 3 5000 2.000000001\n"
HTSIM = """\
# an incast
Nodes 4
Connections 2
Triggers 0

3->1 id 2 start 2000000001000 size 5000 prio 1
2->1 id 1 start 2000000000000 size 200000
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
    assert imported.addresses[3:] == ("2001:db8::ff00:42:8329", "fe80::1", "ff02::1", "ff02::fb")
    assert rows(imported)[2:] == [(3, 6, 951.0, 2.0), (4, 5, 64.0, 3.0)]


def test_columns_of_nfdump_are_found_by_their_names_wherever_they_are(tmp_path: Path) -> None:
    for content, expected in (
        (EXTENDED, [(0, 1, 12000.0, 0.0), (2, 1, 1.2e6, 0.5)]),
        (BOTH_WAYS, [(0, 1, 500.0, 0.0), (1, 0, 70000.0, 0.0), (2, 1, 300.0, 0.5)]),
        (OWN_TEXT, [(0, 1, 2.5e9, 0.0)]),
        (OWN_CSV, [(0, 1, 500.0, 0.0), (1, 0, 70000.0, 0.0)]),
        # Two outputs in one file, with other columns, and totals between them.
        (
            EXTENDED + "Summary: total flows: 2\n" + OWN_TEXT,
            [(0, 1, 12000.0, 0.0), (2, 1, 1.2e6, 0.5), (0, 1, 2.5e9, 1.0)],
        ),
    ):
        assert rows(import_flows(written(tmp_path, content), format="nfdump")) == expected


@pytest.mark.parametrize(("format", "content"), [("nfdump", FAST), ("zeek", ZEEK_MS)])
def test_milliseconds_are_read_as_such_and_said(format: str, content: str, tmp_path: Path) -> None:
    imported = import_flows(written(tmp_path, content), format=format)
    assert imported.begin == 1790000000.25
    assert imported.workload.arrival_time.max() == 0.5
    assert "times of 12 to 14 digits are milliseconds since 1970" in imported.guessed


def test_files_may_be_zipped_and_begin_with_a_byte_order_mark_and_connections_may_be_an_array(tmp_path: Path) -> None:
    array = json.dumps([json.loads(line) for line in ZEEK_JSON.splitlines()], indent=1)
    twice = ZEEK + ZEEK.replace("\\x09", "\\x7c").replace("\t", "|").replace("125853", "125854")
    for format, content, num_flows in (
        ("nfdump", gzip.compress(OLD.encode()), 2),
        ("nfdump", b"\xef\xbb\xbf" + OLD.replace("\n", "\r\n").encode(), 2),
        ("zeek", gzip.compress(ZEEK.encode()), 3),
        ("zeek", b"\xef\xbb\xbf" + ZEEK_JSON.encode(), 3),
        ("zeek", array, 3),
        ("zeek", twice, 6),
    ):
        assert import_flows(written(tmp_path, content), format=format).workload.num_flows == num_flows


@pytest.mark.parametrize("content", [ZEEK, ZEEK_JSON])
def test_both_sides_of_a_connection_of_zeek_are_flows(content: str, tmp_path: Path) -> None:
    imported = import_flows(written(tmp_path, content), format="zeek")
    assert imported.addresses == ("192.168.1.1", "192.168.1.102", "192.168.1.103", "192.168.1.255")
    # To the microsecond: a Unix time in float64 would round.
    assert rows(imported) == [(1, 0, 301.0, 0.0), (0, 1, 300.0, 0.0), (2, 3, 350.0, 458.750715)]


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
        (
            "nfdump",
            LONG.replace("0        1      404", "404"),
            "line 2 is .* it must have the columns of the header: Date",
        ),
        ("nfdump", LONG.replace("Tos", "Ident"), "line 1: column 'Ident': nothing is known of it"),
        ("nfdump", LONG.replace("2001:db8::ff00:42:8329", "2001:db..42:8329"), "line 4.*is condensed.*nfdump -6"),
        (
            "nfdump",
            LONG.replace("36.249.80.226:3040", "36.249.80:3040"),
            "line 2.* must be an address and a port, as in",
        ),
        ("nfdump", LONG.replace("ff00:42:8329", "ff00:42:83290"), "line 4.* must be an address and a port, as in"),
        ("nfdump", EXTENDED.rpartition(" ")[0], "line 3 is .* it must have the columns of the header: Date"),
        (
            "nfdump",
            LONG.partition("\n")[0] + "\n2026-09-01 10:00:00.1 7 TCP 10.9.0.1:5 -> 10.9.0.2:80 0 0 30 4.6 G",
            "line 2 is",
        ),
        ("nfdump", EXTENDED.replace("12000", "nan"), "line 2, column Bytes is 'nan': it must be a number of bytes"),
        ("nfdump", NEW.replace("5387", ""), "line 2, column bytes is '': it must be a number of bytes"),
        ("nfdump", NEW.replace("5387", "1_0"), "line 2, column bytes is '1_0'"),
        ("nfdump", NEW.replace("5387", "1e999999999"), "line 2, column bytes is '1e999999999'.* below 2..64"),
        ("nfdump", NEW.replace("fe80::1", "-", 1), "line 2, column srcAddr is '-': it must be the address of a host"),
        ("nfdump", NEW.replace(",1\n", "\n", 1), "line 2: it has 11 values: the header has 12 columns"),
        ("nfdump", NEW.replace(",bpp", ",inBytes"), "line 1: columns bytes and inBytes: only one is allowed"),
        ("nfdump", FAST.replace("1790000000250", "NaN"), "line 2, column firstSeen is 'NaN': it must be a date"),
        ("nfdump", FAST.replace("1790000000250", "0"), "from 1970-01-01 00:00:00 .line 2. to 2026-09-21 .* 366 days"),
        ("nfdump", NEW.replace("2026-10-07 04:24:43.017", "1790000000000000"), "line 2.* or milliseconds .below 1e14"),
        ("nfdump", b"\xff\xfe" + NEW.encode("utf-16-le"), "line 1 has NUL characters, as UTF-16 text has"),
        ("nfdump", NEW.encode() + b"\xe9", "line 4: not UTF-8 text"),
        ("nfdump", gzip.compress(NEW.encode())[:-20], "this gzip file is cut or damaged"),
        ("nfdump", NEW.partition("\n")[0], "has no flow: of 0 records"),
        ("zeek", ZEEK.replace("\t301\t", "\t-3\t"), "line 8, column orig_bytes is '-3'"),
        ("zeek", ZEEK.replace("\t301\t", "\t\t"), "line 8, column orig_bytes is ''"),
        ("zeek", "1258531221.4\ta\tb", "line 1: no line #fields"),
        ("zeek", '{"ts": 1}', "line 1: no id.orig_h"),
        ("zeek", "{", "line 1: this is not JSON"),
        ("zeek", "[" * 100_000, "line 1: this JSON is nested too deeply"),
        ("zeek", ZEEK_JSON + "[1]", "line 3, record 1 is '1': it must be a record"),
        ("zeek", ZEEK_JSON.replace("301", "9" * 5000), "line 1, column orig_bytes is '9"),
        ("zeek", ZEEK.replace("\\x09", "\\x0"), r"line 1: the separator is .*: it must be written such as \\x09"),
        ("zeek", ZEEK.replace("#unset_field\t-", "#unset_field"), "line 4 is '#unset_field': it must have one value"),
        ("zeek", ZEEK.replace("orig_bytes", "bytes"), "line 6: it has 0 columns orig_bytes"),
    ],
)
def test_a_faulty_record_is_named_with_file_line_column_and_value(format, content, message, tmp_path: Path) -> None:
    with pytest.raises(FlowFileError, match=message) as caught:
        import_flows(written(tmp_path, content), format=format)
    assert str(tmp_path / "records") in str(caught.value)


def test_flows_of_simulators_keep_their_hosts_and_times_and_what_is_ignored_is_told(tmp_path: Path) -> None:
    for format, content, ignored in (
        ("hpcc", HPCC, "ignored: priority groups (3, 4) and ports of destinations"),
        ("hpcc", CONWEAVE, "lines have 5 values: source, destination, priority group, bytes, start"),
        ("htsim", HTSIM, "ignored: id of connections; flows are numbered by their arrival"),
    ):
        for given in (format, None):
            imported = import_flows(written(tmp_path, content), format=given)
            assert rows(imported) == [(2, 1, 200000.0, 2.0), (3, 1, 5000.0, 2.000000001)]
            assert (imported.addresses, imported.begin) == (("0", "1", "2", "3"), None)
            assert ignored in imported.guessed
            assert (f"the format is {format}" in imported.guessed) == (given is None)
    left_out = {"after the 2 flows that line 1 announces": 2}
    assert import_flows(written(tmp_path, HPCC), format="hpcc").left_out == left_out


def test_hosts_of_a_network_are_found_by_their_names(tmp_path: Path) -> None:
    imported = import_flows(written(tmp_path, HPCC), format="hpcc", hosts=("1", "2", "3"))
    assert rows(imported) == [(1, 0, 200000.0, 2.0), (2, 0, 5000.0, 2.000000001)]
    imported = import_flows(written(tmp_path, ZEEK), format="zeek", hosts=["192.168.1.255", *ZEEK_HOSTS, "10.0.0.1"])
    assert [row[:2] for row in rows(imported)] == [(2, 1), (1, 2), (3, 0)]
    with pytest.raises(FlowFileError, match="records, line 3: host '3': it must be one of the network: 1, 2"):
        import_flows(written(tmp_path, HPCC), format="hpcc", hosts=("1", "2"))
    with pytest.raises(ConfigError, match="num_hosts is 3 and hosts are given"):
        import_flows(written(tmp_path, HPCC), format="hpcc", hosts=("1", "2"), num_hosts=3)


def test_coflows_are_imported_with_their_tasks(tmp_path: Path) -> None:
    expected = read_coflows(coflow_sample())
    for format in (None, "coflow"):
        found = import_flows(coflow_sample(), format=format).workload
        order = np.argsort(expected.arrival_time, kind="stable")
        for name in ("source", "destination", "size", "arrival_time", "task_id"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name)[order])
    # Without the first line, and with a reducer of 0 MB; each rack is one host.
    imported = import_flows(written(tmp_path, "7 1024 2 0 1 2 1:3 2:0\n8 0 1 2 1 0:1\n"), num_hosts=3)
    assert rows(imported) == [(2, 0, 2.0**20, 0.0), (0, 1, 1.5 * 2.0**20, 1.0)]
    assert imported.workload.task_id.tolist() == [8, 7]


@pytest.mark.parametrize(
    ("content", "format"),
    [(OLD, "nfdump"), (LONG, "nfdump"), (FAST, "nfdump"), (ZEEK, "zeek"), (ZEEK_MS, "zeek"), (HTSIM, "htsim")],
)
def test_a_format_is_recognised_by_how_a_file_begins(content: str, format: str, tmp_path: Path) -> None:
    for each in (content, gzip.compress(content.encode())):
        assert f"the format is {format}" in import_flows(written(tmp_path, each)).guessed
    with pytest.raises(FlowFileError, match="begins with 'a b', by which no format is recognised: it must be one of"):
        import_flows(written(tmp_path, "a b\n"))


@pytest.mark.parametrize("format", ["hpcc", "htsim"])
def test_what_is_exported_reads_back_equal(format: str, tmp_path: Path) -> None:
    drawn = make_workload("poisson-fat-tree", num_flows=300).draw(3)
    flows = Workload(
        flow_id=np.arange(300),
        source=drawn.source,
        destination=drawn.destination,
        size=np.ceil(drawn.size),
        arrival_time=drawn.arrival_time + 1 / 3,
    )
    write = {"hpcc": write_hpcc, "htsim": write_cm}[format]
    write(flows, tmp_path / "records")
    found = import_flows(tmp_path / "records", format=format).workload
    for expected, array in zip(flows.arrays, found.arrays, strict=True):
        np.testing.assert_array_equal(expected, array)
    with pytest.warns(ExportWarning, match="deadlines are left out; tasks are left out"):
        write(make_workload("gather-a1", num_bursts=1).draw(0), tmp_path / "records")
    assert (import_flows(tmp_path / "records").workload.task_id == NO_TASK).all()
    with pytest.warns(ExportWarning, match="sizes are rounded to whole bytes"):
        write(drawn, tmp_path / "records")


@pytest.mark.parametrize(
    ("format", "content", "message"),
    [
        ("hpcc", HPCC.replace("2\n", "many\n", 1), "line 1, number of flows: 'many': it must be a whole number from 1"),
        ("hpcc", HPCC.replace("2\n", "9\n", 1), "line 6: 5 values in 'First line: # of flows': it must be 6"),
        ("hpcc", CONWEAVE.replace("2\n", "9\n", 1), "ends after 2 flows: it must have 9, as line 1 announces"),
        ("hpcc", "", "ends after 0 flows"),
        ("hpcc", "1\n0 1 3 2.0 3.0 4\n", "line 2, port: '2.0': it must be a whole number"),
        ("hpcc", HPCC.replace("200000", "2e5"), "line 2, bytes: '2e5': it must be a whole number"),
        ("hpcc", HPCC.replace("000 2\n", "000 -2\n"), "line 2, start: '-2': it must be a finite time in s >= 0"),
        ("hpcc", HPCC.replace("000 2\n", "000 1e-99999999999999999999\n"), "line 2, start: '1e-9+': it must be"),
        (
            "hpcc",
            HPCC.replace("000 2\n", "000 2 7\n"),
            "line 2: 7 values in '2 1 3 100 200000 2 7': it must be 6: source",
        ),
        (
            "hpcc",
            HPCC.replace("3 1 4", "3"),
            "line 3: 4 values in .*: it must be 6: source, destination, priority group, port",
        ),
        ("htsim", HTSIM.replace("Nodes 4\n", ""), "line 5: no line Nodes N stands before it"),
        ("htsim", HTSIM.replace("Triggers 0", "Triggers 1"), "line 4, Triggers: '1': it must be 0, since flows"),
        ("htsim", HTSIM.replace("start 2000000000000", "trigger 1"), "line 7, name: 'trigger'.*triggers are not read"),
        ("htsim", HTSIM + "trigger id 1 oneshot\n", "line 8, first word: 'trigger': it must be Nodes N"),
        ("htsim", HTSIM.replace("3->1", "4->1"), "line 6, source: '4': it must be a whole number from 0 to 3"),
        (
            "htsim",
            HTSIM.replace("size 5000", "size 0"),
            "line 6, size: '0': it must be .* .0 sends without end in htsim",
        ),
        ("htsim", HTSIM.replace(" size 5000", ""), "line 6: no size: a connection must have start .ps. and size"),
        (None, "\n", "records is empty: it must have flows"),
        ("htsim", HTSIM.replace("Connections 2\n", ""), "Connections is missing and the file has 2"),
        ("htsim", HTSIM.replace("Connections 2", "Connections 3"), "Connections is 3 and the file has 2"),
        (
            "htsim",
            HTSIM.replace("prio 1", "prio 1 id 3"),
            "line 6, name: 'id': it must be id, start, size or prio, each",
        ),
    ],
)
def test_a_faulty_flow_of_a_simulator_is_named(format: str | None, content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FlowFileError, match=message) as caught:
        import_flows(written(tmp_path, content), format=format)
    assert str(tmp_path / "records") in str(caught.value)
