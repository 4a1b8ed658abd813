"""What tests know of TAFE's environments."""

from typing import Final

from tests.cases import Cases, mixed

CASES: Final = {
    "flowsched/TAFETasks-v0": Cases(
        short={"workload": "tafe-alibaba", "tasks": 5, "f": 4, "information": "full"},
        choices={"link_delay_us": (0.0, 250.0)},
        ties=(
            {"link_gbps": 8e-9, "f": 3, "barrier": "flow"},
            {"link_gbps": 8e-9, "f": 4, "barrier": "task", "topology": "big-switch", "link_delay_us": 5e5}
            | {"information": "full", "cpus": [0.5], "tail_weight": 2.0},
        ),
        frozen=[
            {"tasks": 25, "load": 0.9},
            {"workload": "tafe-alibaba", "tasks": 8, "information": "full", "barrier": "task", "cpus": [1.5]},
            {"workload": "tafe-short", "tasks": 25, "topology": "big-switch", "f": 6, "typical_kb": 20.0}
            | {"tail_weight": 1.0, "link_delay_us": 10.0},
        ],
        pictures={
            "default": {"tasks": 40},
            "jobs": {"workload": "tafe-alibaba", "tasks": 30, "topology": "big-switch", "f": 30, "information": "full"},
            "crowd": {"workload": mixed(200, 9), "f": 64},
            "slow link": {"workload": mixed(200, 9), "link_gbps": 1e-5},
        },
        varied=(
            {"workload": "tafe-short", "load": 0.9, "typical_kb": 20.0, "information": "attained"},
            {"topology": "big-switch", "cpus": [0.25], "link_delay_us": 500.0, "barrier": "task"},
            {"workload": {"name": "tafe-log", "pattern": "dag", "cpu_work": True}, "f": 1},
        ),
        longer={"tasks": 12},
    ),
    "flowsched/TAFEThresholds-v0": Cases(
        short={"workload": "tafe-alibaba", "tasks": 10, "period_flows": 1},
        choices={"within": ("serial", "remaining")},
        ties=(
            {"link_gbps": 8e-3, "period_flows": 2, "barrier": "flow", "within": "shortest"},
            {"link_gbps": 8e-3, "period_flows": None, "period_ms": 1e3, "barrier": "task", "topology": "big-switch"}
            | {"within": "fair", "initial_thresholds": [1e6, 2e6], "link_delay_us": 5e5},
        ),
        frozen=[
            {"tasks": 60, "load": 0.9, "period_flows": 5},
            {"workload": "tafe-alibaba", "tasks": 20, "within": "shortest", "barrier": "task", "cpus": [1.5]}
            | {"queues": 4, "period_flows": None, "period_ms": 20.0, "reward": "tct"},
            {"workload": "tafe-web-search", "tasks": 20, "within": "remaining", "demotion": "arrived"}
            | {"period_flows": 2, "topology": "big-switch", "initial_thresholds": [1e5, 1e6], "link_delay_us": 10.0},
        ],
        pictures={
            "default": {"tasks": 60},
            "jobs": {"workload": "tafe-alibaba", "tasks": 30, "topology": "big-switch", "queues": 8, "period_flows": 3},
            "crowd": {"workload": mixed(200, 9), "period_flows": 1},
            "slow link": {"workload": mixed(200, 9), "link_gbps": 1e-5, "period_flows": 3, "queues": 2},
        },
    ),
}
