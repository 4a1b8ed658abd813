"""Holds ``flowsched import-flows`` to what the page on own traffic shows, and its files to what reads them."""

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
