"""The walk through the code names files that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("docs/architecture.md", "docs/simpy.md", "CONTRIBUTING.md", "README.md")
FILE = re.compile(r"`((?:flowsched_gym|tests|docs|baselines|benchmarks|configs)/[\w./]+\.\w+)`")


def test_files_that_pages_name_exist() -> None:
    named = {page: FILE.findall((ROOT / page).read_text("utf-8")) for page in PAGES}

    assert len(named["docs/architecture.md"]) > 20
    assert [(page, name) for page, names in named.items() for name in names if not (ROOT / name).is_file()] == []


def test_the_toy_system_is_as_long_as_the_walk_says() -> None:
    lines = len((ROOT / "tests/systems/serial/serial.py").read_text("utf-8").splitlines())

    assert f"which is one in {lines} lines" in (ROOT / "docs/architecture.md").read_text("utf-8")
