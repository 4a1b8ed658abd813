"""Shares what tests of flow files need."""

import pytest

from flowsched_gym.workload import flow_csv


@pytest.fixture(params=["fast", "line by line"])
def either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "line by line":
        monkeypatch.setattr(flow_csv, "_parse_fast", lambda *_: None)
