"""Holds ``flowsched import-flows`` to what the page on own traffic shows, and its files to what reads them."""

import json
import re
from pathlib import Path

from flowsched_gym.workload import read_cdf, read_flows
from tests.repository import ROOT


def test_the_page_shows_what_the_command_prints_and_its_files_are_read(flowsched, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "own-traffic.md").read_text(encoding="utf-8")
    Path("records.csv").write_text(re.search(r"```csv\n(.*?)```", page, re.DOTALL)[1])
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
