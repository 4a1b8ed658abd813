"""What tests know of MERP's environments."""

from typing import Final

from tests.cases import Cases, mixed

CASES: Final = {
    "flowsched/MERPOrder-v0": Cases(
        short={"load": 0.95, "flows": 60, "f": 3},
        choices={"link_delay_us": (0.0, 250.0)},
        ties=(
            {"link_gbps": 8e-9, "f": 3},
            {"link_gbps": 8e-9, "f": 2, "topology": "tree9"},
            {"link_gbps": 8e-9, "link_delay_us": 5e5, "f": 4, "topology": "tree9", "reward": "slowdown"},
        ),
        frozen=[
            {"flows": 70, "load": 0.9},
            {"topology": "tree9", "flows": 70, "load": 0.95, "f": 5, "reward": "max_slowdown", "link_delay_us": 10.0},
            {"workload": "poisson-web-search", "flows": 70, "f": 4, "reward": "slowdown", "link_gbps": 10.0},
            {"topology": "tree9", "workload": "poisson-tree-small", "flows": 70, "f": 2, "reward": "fct"},
        ],
        pictures={
            "default": {},
            "tree": {"topology": "tree9"},
            "crowd": {"workload": mixed(200, 9), "f": 64},
            "crowd on the tree": {"workload": mixed(200, 9), "topology": "tree9", "f": 18, "link_delay_us": 50.0},
            "slow link": {"workload": mixed(200, 9), "link_gbps": 1e-5},
        },
        varied=(
            {"topology": "tree9", "f": 1},
            {"topology": "tree9", "load": 0.5, "f": 40, "link_gbps": 10.0},
            {"link_delay_us": 20_000.0, "reward": "fct"},
            {"workload": "poisson-web-search"},
            {"workload": "gather-uniform", "flows": None, "load": None, "max_decisions": 60, "reward": "slowdown"},
        ),
    ),
    "flowsched/MERPRoute-v0": Cases(
        short={"flows": 60},
        choices={"failures": (0, 2)},
        ties=(
            {"link_gbps": 8e-9},
            {"link_gbps": 8e-9, "link_delay_us": 5e5, "reward": "slowdown"},
        ),
        frozen=[
            {"flows": 110, "load": 0.7},
            {"workload": "poisson-fat-tree-failures", "flows": 80, "rerouting": "memr", "link_delay_us": 10.0},
            {"flows": 60, "failures": 2, "discipline": "ps", "rerouting": "conga", "reward": "both"},
            {"flows": 60, "arity": 6, "failures": 8, "discipline": "srpt", "reward": "fct", "link_gbps": 10.0},
        ],
        pictures={
            "default": {"flows": 300},
            "failures": {"flows": 300, "failures": 3, "discipline": "ps", "rerouting": "memr-hop-by-hop"},
            "arity 8": {"flows": 500, "arity": 8, "failures": 15},
            "small flows": {"workload": "poisson-exponential", "flows": 20},
        },
        rare_ties=(
            {"link_gbps": 8e-9, "discipline": "ps", "rerouting": "memr", "reward": "fct"},
            {"link_gbps": 8e-9, "link_delay_us": 5e5, "discipline": "fifo", "rerouting": "conga"},
        ),
        varied=(
            {"load": 0.9},
            {"link_gbps": 10.0, "link_delay_us": 10.0},
            {"arity": 6, "failures": 8},
            {"slow_links": [[64, 0.1], [80, 0.25]], "observation": "forecast"},
            {"workload": "poisson-web-search"},
            {"workload": "gather-a1", "flows": None},
        ),
    ),
}
