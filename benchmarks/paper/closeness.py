"""Measures how close the model is to exact solutions, queueing theory, the packet simulator and the thesis.

``make paper`` writes the figures to ``data/closeness.json`` and lays them out in the README of the project, between two
marks, as it does the environments and what a learned agent wins on the leaderboard; a test holds the README to them.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

import flowsched_gym
from benchmarks.paper.losses import CELL_ALLOWED, cell_points, losses_points
from benchmarks.paper.losses import POINTS_ALLOWED as LOSSY_POINTS_ALLOWED
from benchmarks.paper.ns3 import DATA, THESIS
from benchmarks.paper.run import compare_isolated, compare_policies
from benchmarks.paper.thesis import FIGURES as PLAYED
from benchmarks.registry_tables import with_part
from flowsched_gym.core.files import read_json, write_text
from flowsched_gym.core.packed import files_in
from flowsched_gym.evaluation import read_result, result_paths, write_json
from flowsched_gym.leaderboard import ComparisonRow, Table, compare, format_interval, load_suite
from flowsched_gym.topology import big_switch, one_link
from flowsched_gym.workload import Workload

ROOT: Final = Path(__file__).resolve().parents[2]
README: Final = ROOT / "README.md"
EXACT: Final = ROOT / "tests" / "data" / "exact"
FIGURES: Final = DATA / "closeness.json"
RESULTS: Final = ROOT / "benchmarks" / "results" / load_suite("standard").name
LEARNED_ON: Final = "artemis-heavy"
"""The setting of the leaderboard that the README shows."""
ALSO_POSTPONE: Final = f"{LEARNED_ON}-postpone"
"""The same traffic and episodes, where agents may also send a request to the back of the queue."""
SHOWN: Final = {
    "clairvoyant-bound": "what no scheduler can exceed, even one that knows the future",
    "cmaes-postpone": "**learned**: a few weights, evolved; may send a request to the back of the queue",
    "postpone-in-time": "requests with less than 3 transmissions left go to the back, of the others the most urgent",
    "search": "tries each choice on drawn futures before it takes one",
    "distilled": "**learned**: a network fitted to what search finds; grants one of the requests",
    "cmaes": "**learned**: a few weights, evolved; grants one of the requests",
    "in-time": "the most urgent of the requests that can still be in time, by five numbers that are tuned",
    "skip-late": "the oldest request that has 5 ms of slack, else the smallest",
    "feasible-first": "earliest deadline among those that can still be met",
    "sjf": "smallest flow first",
    "edf": "earliest deadline first",
}
THEORY: Final = {"ps": 5.000, "fifo": 5.000, "las": 5.000, "srpt": 2.353, "psjf": 2.659, "sjf": 2.882}
"""Mean flow completion time over mean service time, M/M/1 at load 0.8."""
LOAD: Final = 0.8
NUM_FLOWS: Final = 2_000_000
NUM_RUNS: Final = 4
ON_SWITCH: Final = {"maxmin": "ps", "srpt": "srpt", "psjf": "psjf", "fifo": "fifo", "edf": "edf", "merp_greedy": "merp"}


def main() -> None:
    """Measures, and writes the figures and the README."""
    write_json(measure(), FIGURES)
    write_text(readme(), README)
    print(f"written to {FIGURES} and {README}")


def measure() -> dict[str, Any]:
    """Measures the largest gaps."""
    policies, isolated = compare_policies(), compare_isolated()
    exact = exact_gaps()
    return {
        "exact": {
            "cases": len(exact),
            "disciplines": len({name for name, _ in exact}),
            "largest_relative_gap": max(gap for _, gap in exact),
        },
        "theory": {name: mean_over_service(name) for name in THEORY},
        "ns3": {
            "largest_points": max(abs(row.points) for row in policies),
            "largest_quartile_share": max(float(np.abs(row.quartile_shares).max()) for row in policies),
            "largest_isolated_share": max(abs(row.share) for row in isolated),
            "policies": len(policies),
            "isolated": len(isolated),
        },
    }


def exact_gaps() -> list[tuple[str, float]]:
    """Finds for each exactly solved case its discipline and the largest relative difference of a finish time."""
    gaps = []
    for path in files_in(EXACT, ".json"):
        if not path.name.startswith("onelink_"):
            continue
        for case in read_json(path)["cases"]:
            discipline, _, within = case["discipline"].partition("_")
            queues = {"within": within} if within in ("ps", "fifo") else {}
            link = one_link(capacity=case["capacity"])
            gaps.append((discipline, gap_of(case, discipline, case["params"] | queues, link, case["finish"])))
    for case in read_json(EXACT / "net_bigswitch.json")["cases"]:
        switch = big_switch(num_hosts=case["hosts"], capacity=np.array(case["caps"]))
        gaps.extend((rule, gap_of(case, rule, {}, switch, case["finish"][name])) for name, rule in ON_SWITCH.items())
    return gaps


def gap_of(case: dict[str, Any], discipline: str, parameters: dict[str, Any], topology: Any, finish: Any) -> float:
    """Replays a case; returns the largest relative difference of a finish time."""
    count = len(case["size"])
    due = case.get("deadline") or [None] * count
    spans = [None if end is None else end - arrival for end, arrival in zip(due, case["arrival"], strict=True)]
    columns = {
        "flow_id": range(count),
        "source": case.get("src", [1] * count),
        "destination": case.get("dst", [0] * count),
        "size_bytes": case["size"],
        "arrival_s": case["arrival"],
        "deadline_s": spans,
    }
    flows = {name: list(values) for name, values in columns.items()}
    records = flowsched_gym.replay(flows, discipline=discipline, topology=topology, parameters=parameters)
    return float(np.max(np.abs(records.completion_time / np.array(finish) - 1)))


def mean_over_service(discipline: str) -> float:
    """Simulates a queue with Poisson arrivals and exponential sizes; returns mean FCT over mean service time."""
    means = []
    for run in range(NUM_RUNS):
        rng = np.random.default_rng(run)
        flows = Workload(
            flow_id=np.arange(NUM_FLOWS),
            source=np.ones(NUM_FLOWS, dtype=np.int64),
            destination=np.zeros(NUM_FLOWS, dtype=np.int64),
            size=rng.exponential(LOAD, NUM_FLOWS),
            arrival_time=np.cumsum(rng.exponential(1.0, NUM_FLOWS)),
        )
        records = flowsched_gym.replay(flows, discipline=discipline, capacity=1.0, engine="compiled")
        # Against the mean of the sizes drawn, which takes part of the noise out.
        means.append(float(records.fct.mean() / flows.size.mean()))
    return float(np.mean(means))


def readme() -> str:
    """Returns the README with its tables of results made anew."""
    text = README.read_text(encoding="utf-8")
    text = with_part(text, "learned", learned_table())
    return with_part(text, "closeness", closeness_table(read_json(FIGURES)))


def learned_rows() -> list[ComparisonRow]:
    """Reads the rows of the leaderboard that the README shows, best first."""
    read = [read_result(path) for name in (LEARNED_ON, ALSO_POSTPONE) for path in result_paths(RESULTS / name)]
    found = [(result, result.reference.setting) for result in read if result.reference]
    results = [result for result, setting in found if setting == LEARNED_ON]
    known = {result.policy for result in results}
    results += [
        replace(result, policy=f"{result.policy}-postpone") if result.learned else result
        for result, setting in found
        if setting == ALSO_POSTPONE and (result.learned or result.policy not in known)
    ]
    return [row for row in compare(results) if row.policy in SHOWN]


def learned_table() -> str:
    """Sets learned agents of the leaderboard beside rules with their actions and information, and the bound."""
    rows = tuple(
        (
            f"`{row.policy}`",
            f"{SHOWN[row.policy]}; {row.num_runs} trainings" if row.learned else SHOWN[row.policy],
            *row.ability.words,
            format_interval(row.estimate, scale=100.0),
            "" if row.reference is None else f"`{row.reference}`",
            format_interval(row.difference, scale=100.0, signed=True),
        )
        for row in learned_rows()
    )
    columns = (
        *("policy", "what it is", "actions", "information"),
        *("deadlines met, %", "best rule with both", "over it, points"),
    )
    return Table(columns=columns, rows=rows).markdown(numbers=False)


def closeness_table(figures: dict[str, Any]) -> str:
    """Lays the gaps out."""
    exact, ns3 = figures["exact"], figures["ns3"]
    thesis = read_json(THESIS)["gather-a1"]
    cells, lossy = cell_points(), losses_points()
    far = max(lossy, key=lambda name: abs(lossy[name]))
    others = max(abs(points) for name, points in lossy.items() if name != far)
    edf = float(np.mean(read_json(PLAYED)["variants"]["1"]["edf"]["runs"]["deadline_hit_ratio"]))
    gaps = {name: 100 * abs(figures["theory"][name] / mean - 1) for name, mean in THEORY.items()}
    worst = max(gaps, key=lambda name: gaps[name])
    rows = (
        (
            "exact rational solutions",
            f"finish times of {exact['cases']} flow sets, {exact['disciplines']} disciplines",
            f"{exact['largest_relative_gap']:.0e} relative",
            "1e-9",
        ),
        (
            "queueing theory (M/M/1, load 0.8)",
            f"mean FCT of {', '.join(name.upper() for name in THEORY)}; {NUM_RUNS} x {NUM_FLOWS:,} flows",
            f"{gaps[worst]:.2f} % ({worst.upper()})",
            "1 %",
        ),
        (
            "ns-3.37, TCP Cubic",
            f"share of deadlines met under {ns3['policies']} policies, same arrivals",
            f"{ns3['largest_points']:.1f} points",
            "3 points",
        ),
        (
            "ns-3.37, TCP Cubic",
            "quartiles of the FCT in the same runs",
            f"{100 * ns3['largest_quartile_share']:.1f} %",
            "10 %",
        ),
        (
            "ns-3.37, TCP Cubic",
            f"1 to 10 flows that start together, {ns3['isolated']} cases",
            f"{100 * ns3['largest_isolated_share']:.1f} %",
            "10 %",
        ),
        (
            "ns-3.37, TCP NewReno, packets lost",
            f"share of deadlines met, {len(cells)} settings, policies and numbers of tokens, same arrivals",
            f"{max(abs(points) for points in cells.values()):.1f} points",
            f"{CELL_ALLOWED:.0f} points",
        ),
        (
            "ns-3.37, TCP NewReno, packets lost",
            f"share of deadlines met, {len(lossy)} single runs before",
            f"{abs(lossy[far]):.1f} points ({far.split()[1].upper()}; the others {others:.1f})",
            f"{LOSSY_POINTS_ALLOWED:.0f} points",
        ),
        (
            "Artemis thesis",
            "deadlines met by EDF on its workload A, where its TCP lost packets",
            f"{100 * edf:.1f} % here, {100 * thesis['edf']['deadline_hit_ratio']:.1f} % there, one run",
            "",
        ),
    )
    return Table(columns=("compared with", "what", "largest gap", "allowed"), rows=rows).markdown(numbers=False)


if __name__ == "__main__":
    main()
