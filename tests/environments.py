"""What tests know of each environment by its id: the one table that a new environment gets an entry in."""

from typing import Any, Final, NamedTuple

import numpy as np

from flowsched_gym.workload import Workload, make_workload
from tests.simulate import make_flows

Arguments = dict[str, Any]


class Cases(NamedTuple):
    """Arguments of an environment, by what tests need them for.

    Attributes:
        short: Make an episode short, and its decisions matter.
        choices: Values by argument that belong to all combinations besides the members of enums.
        ties: Under which flows of whole sizes and times do many things at once. Links have 1 B/s and whole delays; with
            windows, so many B/s that a flow takes as long as without, and several windows; with thresholds, 1 MB/s.
        frozen: Of the frozen episodes, in their order.
        pictures: By name, under which there is much to show, or little, or numbers are long.
        rare_ties: As ``ties``, with what has to be compiled for them alone.
        varied: Others that native vectors must heed, beside ``short``.
        longer: Where no shorter episode has another future after two decisions.
        slower: Of episodes with decisions at a rhythm: the largest flows of measured traffic take 20 s on these links.
    """

    short: Arguments
    choices: dict[str, tuple[Any, ...]]
    ties: tuple[Arguments, ...]
    frozen: list[Arguments]
    pictures: dict[str, Arguments]
    rare_ties: tuple[Arguments, ...] = ()
    varied: tuple[Arguments, ...] = ()
    longer: Arguments = {}  # noqa: RUF012 - nobody writes to it
    slower: Arguments = {}  # noqa: RUF012 - nor to it


def gather(num_flows: int = 300, *, first_host: int = 1, num_destinations: int = 1) -> Workload:
    """Returns flows with deadlines that all arrive at once, so that the queue is as long as can be."""
    rows = np.arange(num_flows)
    return make_flows(
        np.zeros(num_flows),
        np.where(rows % 3, 350e3, 2.5e6),
        span=np.where(rows % 7, 0.001 * rows + 0.002, np.inf),
        source=first_host + num_destinations + rows % 20,
        destination=first_host - 1 + rows % num_destinations,
    )


def mixed(num_flows: int, hosts: int) -> Workload:
    """Returns flows of very different sizes that all arrive at once."""
    rows = np.arange(num_flows)
    ends = rows % hosts, (rows + 1 + rows % (hosts - 2)) % hosts
    return make_flows(np.zeros(num_flows), 10.0 ** (3 + rows % 7), source=ends[0], destination=ends[1])


def to_one(size: float) -> Workload:
    """Returns flows of one size that all arrive at once, between the same two hosts."""
    return make_flows(np.zeros(40), np.full(40, size), source=np.zeros(40, dtype=int), destination=[1] * 40)


SCATTER: Final = make_workload("scatter-a1", num_bursts=5, num_senders=30, num_destinations=2)
FEW: Final = {"hosts": 8, "flows": 200, "thresholds": (1e4, 1e5)}

CASES: Final[dict[str, Cases]] = {
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
            {},
            {"workload": "gather-heavy", "k": 3, "f": 4, "bursts": 5, "transport": "tcp"}
            | {"reward": "lagged", "defer": "to-back"},
            {"workload": "gather-multi", "k": 2, "f": 3, "bursts": 6, "observation": "paper", "defer": "wait"},
            {"workload": "artemis-thesis", "bursts": 15, "transport": "tcp-lossy-2018a", "defer": "wait"},
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
            {"workload": "poisson-web-search"},
            {"workload": "gather-a1", "flows": None},
        ),
    ),
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
    "flowsched/QCluster-v0": Cases(
        short={"workload": "qcluster-w2", "flows": 150, "period_us": 2.0, "min_rto_us": 20.0},
        choices={"buffer": (4,), "mark_at": (2,)},
        ties=(
            {"link_gbps": 8e-9, "delay_us": 0.0, "period_us": 4.3e7, "gap_us": 1e8},
            {"link_gbps": 2.4e-5, "delay_us": 5e5, "period_us": 1e6, "window": 2, "goal": "fq", "messages": "time"},
            {"link_gbps": 2.4e-5, "delay_us": 5e5, "period_us": 1.5e6, "buffer": 2, "mark_at": 0}
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
