"""What tests know of Artemis's environment."""

from typing import Final

from flowsched_gym.workload import make_workload
from tests.cases import Cases, gather

SCATTER: Final = make_workload("scatter-a1", num_bursts=5, num_senders=30, num_destinations=2)

CASES: Final = {
    "flowsched/Artemis-v0": Cases(
        short={"workload": "gather-heavy", "k": 3, "f": 4, "bursts": 6},
        choices={"destinations": (1, 3)},
        ties=(
            {"link_gbps": 8e-9, "link_delay_us": 0.0, "k": 1, "f": 3},
            {"link_gbps": 8e-9, "link_delay_us": 5e5, "k": 2, "f": 2, "defer": "to-back", "reward": "lagged"},
            {"link_gbps": 8e-9, "link_delay_us": 5e5, "k": 1, "f": 3, "defer": "wait"},
            {"link_gbps": 2.4e-4, "link_delay_us": 5e5, "k": 2, "f": 3, "transport": "tcp", "defer": "wait"},
        ),
        frozen=[
            {"workload": "gather-a1", "k": 10, "f": 5},
            {"workload": "gather-heavy", "k": 3, "f": 4, "bursts": 5, "transport": "tcp"}
            | {"reward": "lagged", "defer": "to-back"},
            {"workload": "gather-multi", "k": 2, "f": 3, "bursts": 6, "observation": "paper", "defer": "wait"},
            {
                "workload": "artemis-thesis",
                "k": 10,
                "f": 5,
                "bursts": 15,
                "transport": "tcp-lossy-2018a",
                "defer": "wait",
            },
        ],
        pictures={
            "default": {},
            "tcp": {"workload": "gather-heavy", "transport": "tcp", "k": 10, "f": 5},
            "crowd": {"workload": gather(), "k": 64, "f": 64},
            "crowd that waits": {"workload": gather(), "k": 20, "f": 30, "defer": "wait"},
            "crowd sent back": {"workload": gather(first_host=700), "k": 5, "f": 12, "defer": "to-back"},
            "many destinations": {"workload": gather(first_host=900, num_destinations=90), "k": 2, "f": 3},
            "no deadlines": {"workload": "poisson-web-search", "k": 5, "f": 5},
        },
        varied=(
            {"burst_rate": 35.0},
            {"load": 0.9, "link_gbps": 10.0},
            {"destinations": 5, "bursts": 3},
            {"k": 1, "f": 1},
            {"k": 40, "f": 12},
            {"link_delay_us": 0.0},
            {"link_delay_us": 20_000.0, "transport": "tcp"},
            {"workload": make_workload("gather-heavy", request_jitter=0.01, num_bursts=5), "bursts": None, "k": 2},
            {"workload": SCATTER, "bursts": None, "k": 2},
        ),
        longer={"bursts": 12},
    ),
}
