"""Holds ``flowsched import-flows`` and ``export`` to what the page on own traffic shows, and to what reads files."""

import json
import re
from pathlib import Path

from flowsched_gym.workload import read_cdf, read_flows
from tests.repository import ROOT


def test_the_page_shows_what_the_command_prints_and_its_files_are_read(flowsched, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "own-traffic.md").read_text(encoding="utf-8")
    Path("records.csv").write_text(re.search(r"```text\n(.*?)```", page, re.DOTALL)[1])
    command, printed = re.findall(r"```console\n(.*?)```", page, re.DOTALL)[:2]
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
    result = flowsched("import-flows", "flow.txt", "--out", "flows.csv", "--topology", "racks.txt")
    assert "times are those of the file; the first flow arrives at 2 s\nhosts: 0 1, 1 2, 2 3\n" in result.out
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
        (("tree9", "--topology-out", "t.txt", "--format", "htsim"), "only hpcc has"),
    ):
        result = flowsched(*words, *more)
        assert (result.status, result.out) == (2, "")
        assert message in result.err
        assert not list(tmp_path.iterdir())
