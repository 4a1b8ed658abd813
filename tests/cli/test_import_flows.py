"""Holds ``flowsched import-flows`` and ``export`` to what the page on own traffic shows, and to what reads files."""

import json
import re
from dataclasses import replace as with_values
from pathlib import Path

import numpy as np
import pytest

from flowsched_gym import replay
from flowsched_gym.topology import make_topology
from flowsched_gym.workload import make_workload, read_cdf, read_flows, write_flows
from tests.repository import ROOT


def test_the_page_shows_what_the_command_prints_and_its_files_are_read(flowsched, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "own-traffic.md").read_text(encoding="utf-8")
    records, printed = re.findall(r"```text\n(.*?)```", page, re.DOTALL)[:2]
    Path("records.csv").write_text(records)
    command = re.search(r"```console\n(.*?)```", page, re.DOTALL)[1]
    words = command.split()[1:]
    assert flowsched(*words).out == printed
    flows = read_flows("flows.csv")
    assert flows.num_flows == 6
    sizes = read_cdf("sizes.csv")
    assert sizes.points[0] == (11000.0, 1 / 6)
    assert sizes.points[-1] == (float(flows.size.max()), 1.0)
    facts = json.loads(flowsched(*words, "--json", "--hosts", 2).out)
    assert (facts["num_hosts"], facts["num_flows"]) == (2, 3)
    assert facts["left_out"] == {"without bytes": 1, "from a host to itself": 3}
    assert flowsched(*words, "--hosts", 1).status == 2


def test_an_import_writes_all_its_files_or_none(flowsched, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    records = "firstSeen,srcAddr,dstAddr,bytes\n1790000000000,10.0.0.1,10.0.0.2,1000\n"
    words = ("import-flows", "records.csv", "--format", "nfdump", "--out", "flows.csv", "--sizes", "sizes.csv")
    Path("flows.csv").write_text("before")
    for wrong in ("nan,10.0.0.1,10.0.0.2,1000\n", "0,10.0.0.1,10.0.0.2,1000\n", "1790000000,10.0.0.1,10.0.0.2,-\n"):
        Path("records.csv").write_text(records + wrong)
        result = flowsched(*words)
        assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
        assert "line 3" in result.err
    Path("records.csv").write_text(records)
    assert "two files are needed" in flowsched(*words[:-1], "./flows.csv").err
    assert "the file that is read: another one is needed" in flowsched(*words[:-1], "records.csv").err

    def full_disk(*_) -> None:
        raise OSError(28, "No space left on device", "sizes.csv")

    with monkeypatch.context() as patched:
        patched.setattr("flowsched_gym.cli.flow_commands.write_sizes", full_disk)
        assert flowsched(*words).status == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["flows.csv", "records.csv"]
    assert Path("flows.csv").read_text() == "before"
    result = flowsched(*words)
    assert "guessed: times of 12 to 14 digits are milliseconds since 1970\n" in result.out
    assert read_flows("flows.csv").num_flows == 1


def test_a_result_can_be_checked_in_hpcc_and_comes_back(flowsched, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("racks.txt").write_text("4 1 3\n0\n0 1 10Gbps 1us 0\n0 2 10Gbps 1us 0\n0 3 10Gbps 1us 0\n")
    Path("flow.txt").write_text("2\n1 3 3 100 1000000 2\n2 3 3 100 1000000 2.1\n")
    sizes = ("--sizes", "sizes.csv")
    result = flowsched("import-flows", "flow.txt", "--out", "flows.csv", "--topology", "racks.txt", *sizes)
    assert result.out.startswith("flows.csv: 2 flows, 2 MB, arriving from 2 s to 2.1 s\nhosts: 0 1, 1 2, 2 3\n")
    assert result.out.endswith("sizes.csv: the sizes of the flows, of which 10 arrive per s\n")
    assert read_cdf("sizes.csv").points == ((1e6, 0.0), (1e6, 1.0))
    assert "import flows with --topology and this file" in result.err
    words = (
        "export",
        "flows.csv",
        "--format",
        "hpcc",
        "--out",
        "f.txt",
        "--topology",
        "racks.txt",
        "--topology-out",
        "t.txt",
    )
    assert flowsched(*words).out == "f.txt: 2 flows between 3 hosts\nt.txt: 3 hosts; host i is node i\n"
    assert Path("f.txt").read_text() == "2\n0 2 3 100 1000000 2.0\n1 2 3 100 1000000 2.1\n"
    assert Path("t.txt").read_text() == "4 1 3\n3\n0 3 10Gbps 1000ns 0\n1 3 10Gbps 1000ns 0\n2 3 10Gbps 1000ns 0\n"
    assert flowsched("import-flows", "f.txt", "--out", "again.csv").status == 0
    assert Path("again.csv").read_text() == Path("flows.csv").read_text()
    replays = [
        flowsched("replay", flows, "--discipline", "srpt", "--topology", network, "--json").out
        for flows, network in (("flows.csv", "racks.txt"), ("again.csv", "t.txt"))
    ]
    assert replays[0] == replays[1]
    assert flowsched("export", "flows.csv", "--format", "htsim", "--out", "f.cm", "--hosts", 8).status == 0
    assert Path("f.cm").read_text().splitlines()[::2] == ["Nodes 8", "0->2 id 1 start 2000000000000 size 1000000"]


def test_an_export_writes_both_files_or_none(flowsched, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("export", "poisson-tree", "--format", "hpcc", "--out", "f.txt", "--topology")
    for more, message in (
        (("one-link", "--topology-out", "t.txt"), "topology one-link has no hosts of its own"),
        (("tree9", "--topology-out", "./f.txt"), "two files are needed"),
        (("tree9",), "--topology and --topology-out belong together"),
        (("multi-plane", "--topology-out", "t.topo", "--format", "htsim"), "topology multi-plane is none of htsim's"),
    ):
        result = flowsched(*words, *more)
        assert (result.status, result.out) == (2, "")
        assert message in result.err
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("format", "flow_file", "network_file"), [("hpcc", "f.txt", "t.txt"), ("htsim", "f.cm", "t.topo")]
)
@pytest.mark.parametrize("name", ["fat-tree", "leaf-spine"])
def test_flows_paths_and_network_come_back_equal(
    format: str, flow_file: str, network_file: str, name: str, flowsched, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    flows = make_workload("poisson-fat-tree", num_flows=50).draw(1)
    flows = with_values(flows, size=np.ceil(flows.size))
    write_flows(flows, "flows.csv")
    names = ("--topology", name, "--topology-out", network_file, "--hosts", 32)
    assert flowsched("export", "flows.csv", "--format", format, "--out", flow_file, *names).status == 0
    assert flowsched("import-flows", flow_file, "--out", "again.csv").status == 0
    assert flowsched("import-network", network_file, "--out", "again.yaml").status == 0
    again, given = read_flows("again.csv"), make_topology(name, num_hosts=32, delay=1e-6)
    for column in ("source", "destination", "size", "arrival_time"):
        assert np.array_equal(getattr(again, column), getattr(flows, column))
    read = make_topology("again.yaml", num_hosts=32)
    assert np.array_equal(read.pair_start, given.pair_start)
    assert np.array_equal(read.path_start, given.path_start)
    links = np.unique(np.stack([read.path_links, given.path_links]), axis=1)
    assert len(links.T) == given.num_links == read.num_links
    assert np.array_equal(read.capacity[links[0]], given.capacity[links[1]])
    assert np.array_equal(read.delay[links[0]], given.delay[links[1]])
    # Sums of shares are added in the order of the links, which differs.
    fct = [replay(each, discipline="srpt", topology=network).fct for each, network in ((flows, given), (again, read))]
    assert fct[0] == pytest.approx(fct[1])


def test_a_network_is_imported_with_what_was_guessed_and_ignored(flowsched, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.net").write_text("4 1 3\n0\n0 1 10Gbps 1us 0.1\n0 2 10Gbps 1us 0\n0 3 40Gbps 1us 0\n")
    words = ("import-network", "t.net", "--out", "t.yaml")
    assert "must end in .graphml, .txt, .topo, .json" in flowsched(*words).err
    result = flowsched(*words, "--format", "hpcc")
    assert (result.status, result.err) == (0, "")
    assert result.out.splitlines() == [
        "t.yaml: 3 hosts, 1 switch, 6 links (each direction counted) of 10 to 40 Gbps, 6 shortest paths of at most 2 "
        "links",
        "hosts: 0 1, 1 2, 2 3",
        "ignored: error rates of 1 link: links here lose nothing",
        "hosts have other numbers than their nodes: import flows with --topology and this file",
    ]
    assert flowsched("network", "t.yaml").out.splitlines()[0] == result.out.splitlines()[0]
    facts = json.loads(flowsched(*words, "--format", "hpcc", "--json").out)
    assert (facts["paths"], facts["host_names"], facts["without"]) == (6, ["1", "2", "3"], {"capacity": 0, "delay": 0})


def test_a_graph_is_imported_with_hosts_beside_its_nodes_or_refused_whole(flowsched, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    ends = '<node id="a"/><node id="b"/><edge source="a" target="b"/><edge source="b" target="a"/>'
    text = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">{}</graph></graphml>'
    Path("g.graphml").write_text(text.format(ends))
    words = ("import-network", "g.graphml", "--out", "g.yaml")
    out = flowsched(*words, "--hosts", "beside", "--undirected").out
    assert "2 hosts, 2 switches, 6 links (each direction counted), 2 shortest paths of at most 3 links\n" in out
    assert "without a capacity: 3 of 3 cables, which get the usual one of each command\n" in out
    assert "guessed: each node is a switch with one host" in out
    Path("g.yaml").unlink()
    for content, message, more in (
        (ends, "no node is a host", ()),
        (ends, "hosts is 'above': it must be one of beside", ("--hosts", "above")),
        (
            f'{ends}<node id="c"/>'.replace('target="a"', 'target="c"'),
            "no path leads from host b to host a",
            ("--hosts", "beside"),
        ),
        (f'{ends}<node id="c"/>', "of a graph in parts keep one, such as", ("--hosts", "beside")),
    ):
        Path("g.graphml").write_text(text.format(content))
        result = flowsched(*words, *more)
        assert (result.status, result.out, result.err.count("\n")) == (2, "", 1)
        assert message in result.err
        assert not Path("g.yaml").exists()
    Path("g.graphml").write_text(text.format(ends))
    assert "extension of a network file is '.txt'" in flowsched(*words[:-1], "g.txt", "--hosts", "beside").err
