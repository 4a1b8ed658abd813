"""What tests know of QCluster's environment."""

from typing import Final

from tests.cases import Cases, to_one

CASES: Final = {
    "flowsched/QCluster-v0": Cases(
        short={"workload": "qcluster-w2", "flows": 150, "period_us": 2.0, "min_rto_us": 20.0},
        choices={"buffer": (4,), "mark_at": (2,)},
        ties=(
            {"link_gbps": 8e-9, "delay_us": 0.0, "period_us": 4.3e7, "gap_us": 1e8},
            {"link_gbps": 2.4e-5, "delay_us": 5e5, "period_us": 1e6, "window": 2, "goal": "fq", "messages": "time"},
            {"link_gbps": 2.4e-5, "delay_us": 5e5, "period_us": 6e6, "buffer": 2, "mark_at": 1}
            | {"transport": "dctcp", "min_rto_us": 1e6},
        ),
        frozen=[
            {"flows": 150, "load": 0.9, "period_us": 500.0},
            {"flows": 100, "goal": "fq", "reward": "jain", "transport": "dctcp", "window": 70, "buffer": 60}
            | {"mark_at": 20}
            | {"workload": "qcluster-changing", "period_us": 10_000.0, "messages": "time"},
            {"flows": 150, "workload": "qcluster-deadlines", "goal": "deadline", "reward": "deadlines", "queues": 6}
            | {"period_us": 300.0, "load": 0.9},
            {"flows": 80, "goal": "srpt", "action": "rule", "reward": "fct", "disorder": "las", "buckets": 32}
            | {"gap_us": 500.0},
        ],
        pictures={
            "default": {"flows": 300, "period_us": 1_000.0},
            "losses": {"flows": 100, "load": 0.95, "buffer": 20, "mark_at": 5, "transport": "dctcp"}
            | {"period_us": 500.0},
            "deadlines": {"workload": "qcluster-deadlines", "flows": 200, "goal": "deadline", "action": "rule"},
            "two queues": {"flows": 50, "queues": 2, "link_gbps": 1e-3, "period_us": 1e6},
            "own messages": {"workload": to_one(2e7), "goal": "srpt", "link_gbps": 1.0, "period_us": 1_000.0},
        },
        slower={"period_us": 4_000.0, "flows": 10},
    ),
}
