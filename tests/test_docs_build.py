"""Builds the documentation."""

import sys

from tests.processes import run
from tests.repository import ROOT


def test_the_documentation_builds_without_a_warning(tmp_path) -> None:
    """Reads all pages, runs examples of those that are made from the code, and resolves every link.

    Pictures, episodes that compile much, notebooks (which have tests of their own) and HTML are left to ``make docs``.
    """
    settings = ("complete=0", "nb_execution_mode=off")
    command = [sys.executable, "-m", "sphinx", "-b", "dummy", "-W", "--keep-going", "-q", "-c", "docs"]
    command += [part for setting in settings for part in ("-D", setting)]

    run(*command, ".", str(tmp_path))

    assert (ROOT / "docs" / "catalogue" / "environments" / "artemis.md").is_file()
