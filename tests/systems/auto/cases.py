"""What tests know of AuTO's environments."""

from typing import Final

from tests.cases import Cases, mixed, to_one

FEW: Final = {"hosts": 8, "flows": 200, "thresholds": (1e4, 1e5)}

CASES: Final = {
    "flowsched/AuTOLongFlows-v0": Cases(
        short={"workload": "poisson-exponential", "flows": 60, "hosts": 4, "thresholds": (1e4, 3e4, 6e4)}
        | {"period_ms": 1.0, "n_l": 3, "link_gbps": 0.4},
        choices={"paths": (2,)},
        ties=(
            {"link_gbps": 8e-9, "link_delay_us": 0.0, "thresholds": (0.25,), "scope": "network", "period_ms": 500.0},
            {"link_gbps": 8e-9, "link_delay_us": 5e5, "thresholds": (0.5, 1.0), "hosts": 8, "period_ms": 4e3, "n_l": 2},
            {"link_gbps": 8e-9, "link_delay_us": 0.0, "thresholds": (0.5,), "hosts": 7, "period_ms": 3.5e3}
            | {"observation": "paper", "layout": "recorded", "reward": "slowdown_growth"},
        ),
        frozen=[
            {"hosts": 4, "flows": 60, "thresholds": [1e5, 1e6], "period_ms": 20.0, "n_l": 4, "m_l": 2},
            {"workload": "auto-clusters", "hosts": 8, "flows": 300, "thresholds": [1e4, 1e5, 5e5, 2e6], "paths": 2}
            | {"scope": "network", "period_ms": 5.0, "n_l": 4, "m_l": 3}
            | {"observation": "paper", "reward": "throughput_ratio"},
            {"workload": "auto-data-mining", "hosts": 6, "flows": 200, "load": 0.9, "thresholds": [2e5]}
            | {"observation": "paper", "layout": "recorded", "reward": "slowdown_growth"},
            {"hosts": 4, "flows": 60, "thresholds": [1e5, 1e6], "scope": "network", "n_l": 3, "m_l": 0}
            | {"reward": "progress"},
        ],
        pictures={
            "default": {"flows": 600},
            "few servers": FEW,
            "many slots": FEW | {"scope": "network", "n_l": 64},
            "one slot, one path": FEW | {"n_l": 1, "paths": 1},
            "many servers": {"hosts": 100, "flows": 500, "thresholds": (1e4,), "scope": "network"},
            "slow links": FEW | {"link_gbps": 1e-4, "period_ms": 1e5},
            "fast links": FEW | {"link_gbps": 400.0, "period_ms": 1e-2},
            "own flows": {"workload": to_one(1e9), "hosts": 2, "n_l": 30},
        },
        varied=(
            {"workload": "auto-clusters"},
            {"workload": "auto-changing", "scope": "network", "period_ms": 7.0},
            {"workload": "poisson-web-search", "paths": 1},
            {"paths": 5, "load": 0.95, "link_gbps": 10.0, "link_delay_us": 500.0},
            {"n_l": 1, "m_l": 0, "observation": "paper", "reward": "throughput_ratio"},
            {"layout": "recorded", "thresholds": (1e3,), "max_decisions": 40},
        ),
        slower={"period_ms": 20.0},
    ),
    "flowsched/AuTOThresholds-v0": Cases(
        short={"hosts": 20, "flows": 120, "period_flows": 2},
        choices={"clusters": (1, 2)},
        ties=(
            {"link_gbps": 8e-3, "link_delay_us": 0.0, "period_flows": 3, "hosts": 8, "clusters": 2},
            {"link_gbps": 8e-3, "link_delay_us": 5e5, "period_flows": 1, "reward": "fct_ratio"},
            {"link_gbps": 8e-3, "link_delay_us": 5e5, "period_flows": None, "period_ms": 1e3, "topology": "one-link"}
            | {"observation": "paper", "initial_thresholds": [1e6, 2e6, 3e6]},
        ),
        frozen=[
            {"flows": 400, "period_flows": 10, "hosts": 8},
            {"workload": "auto-clusters", "flows": 300, "hosts": 8, "clusters": 4, "queues": 3}
            | {"period_flows": None, "period_ms": 5.0, "reward": "log_slowdown"},
            {"workload": "auto-data-mining", "topology": "one-link", "within": "fifo", "flows": 300, "period_flows": 6}
            | {"queues": 8, "observation": "paper", "m_s": 12, "reward": "fct_ratio"}
            | {"initial_thresholds": [2e3, 1e4, 5e4, 2e5, 1e6, 5e6, 2e7]},
        ],
        pictures={
            "default": {"flows": 3_000, "period_flows": 10},
            "one link": {"topology": "one-link", "flows": 400, "load": 0.95, "period_flows": 2},
            "clusters": {"workload": "auto-clusters", "clusters": 4, "flows": 2_000, "period_flows": 10, "queues": 8},
            "many clusters": {"clusters": 32, "flows": 1_000, "period_flows": None, "period_ms": 0.3, "queues": 2},
            "crowd": {"workload": mixed(300, 9), "hosts": 9, "clusters": 3, "period_flows": 1},
            "slow crowd": {"workload": mixed(300, 9), "hosts": 9, "period_flows": 1, "link_gbps": 1e-5},
        },
        rare_ties=({"link_gbps": 8e-3, "link_delay_us": 5e5, "period_flows": 1, "within": "fifo"},),
    ),
}
