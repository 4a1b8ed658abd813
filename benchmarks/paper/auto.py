"""Runs the experiments of AuTO, section 6, in this model: ``python -m benchmarks.paper.auto``, part of ``make paper``.

Here are Figures 9 to 12, which compare schedulers on given traffic; ``auto_schemes.py`` has the thresholds of Figures
13 to 15, ``auto_long_flows.py`` Figure 16, ``auto_delay.py`` Figure 17 (alone: ``--delays``). Each study gives the same
flows to all schemes and keeps one value for each seed. All goes to ``data/auto.json``; tables and figures
(``auto_tables.py``) are made from there.
"""

import argparse
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

import flowsched_gym
from benchmarks.paper import auto_agents, auto_delay, auto_long_flows
from benchmarks.paper.auto_schemes import (
    SEARCHED,
    Scheme,
    clusters_of,
    learned,
    replayed,
    searched_thresholds,
    searched_workload,
    told_of_changes,
)
from benchmarks.paper.merp import SEEDS, Runs, rounded
from flowsched_gym.cli.output import ProgressBar
from flowsched_gym.core.files import read_json
from flowsched_gym.core.units import BYTES_PER_KILOBYTE, BYTES_PER_MEGABYTE
from flowsched_gym.evaluation import write_json
from flowsched_gym.fluid import Records
from flowsched_gym.queueing import optimal_thresholds, pias_thresholds
from flowsched_gym.workload import (
    ClusterWorkload,
    Distribution,
    PoissonWorkload,
    Traffic,
    load_cdf,
    make_workload,
    offered_traffic,
)

RESULTS: Final = Path(__file__).resolve().parent / "data" / "auto.json"
MODELS: Final = Path(__file__).resolve().parents[1] / "models" / "paper"
COMMAND: Final = "python -m benchmarks.paper.auto"
FLOWS: Final = 20_000
LOAD: Final = 0.8
"""Load for which the paper computes thresholds, unless it says otherwise (section 6)."""
QUEUES: Final = 4
SIZES: Final = {"web search": "web_search", "data mining": "data_mining"}
GROUPS: Final = {
    "small": (0.0, 100 * BYTES_PER_KILOBYTE),
    "medium": (100 * BYTES_PER_KILOBYTE, 10 * BYTES_PER_MEGABYTE),
    "large": (10 * BYTES_PER_MEGABYTE, np.inf),
}
"""Sizes in B, above and up to, by which Figures 14 and 15 group flows; the text that we have prints no limits."""
BURSTS: Final = {"bursts": (20 * BYTES_PER_KILOBYTE - 1, 20 * BYTES_PER_KILOBYTE)}
"""The size of the flows of the workload ``auto-incast`` that come in bursts, likewise."""
PHASES: Final = 8
"""Phases of the changing traffic: the paper's eight hours."""
PHASE_LENGTHS: Final = (2.0, 10.0)
"""Their lengths in s: that of the workload ``auto-changing``, and a longer one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Schemes on traffic of one kind, by the names of the tables.

    Attributes:
        groups: Groups of sizes whose metrics are kept as well.
        models: Name of the workload for which trained agents are looked up; ``None`` for none.
        phase: Length in s of the phases by whose arrivals metrics are kept as well; ``None`` for none.
    """

    workload: PoissonWorkload | ClusterWorkload
    schemes: Mapping[str, Scheme]
    groups: Mapping[str, tuple[float, float]] = field(default_factory=lambda: GROUPS)
    models: str | None = None
    phase: float | None = None


def main() -> None:
    """Runs all studies, or times decisions alone, and writes what they gave."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Runs the experiments of AuTO, section 6.")
    parser.add_argument(
        "--agents", type=Path, metavar="FOLDER", help="gather trainings (`auto_agents`) alone, likewise"
    )
    parser.add_argument("--delays", action="store_true", help="time decisions (Figure 17) alone, and keep the rest")
    options = parser.parse_args()
    if options.agents:
        kept = read_json(RESULTS)
        write_json({**kept, "agents": auto_agents.gather(options.agents, kept["agents"])}, RESULTS)
    elif options.delays:
        write_json({**read_json(RESULTS), "delays": auto_delay.measure()}, RESULTS)
    else:
        with ProgressBar("AuTO's experiments") as bar:
            write_json({**measure(progress=bar), "agents": read_json(RESULTS)["agents"]}, RESULTS)
    print(f"written to {RESULTS}")


def measure(
    *,
    num_flows: int = FLOWS,
    seeds: Sequence[int] = SEEDS,
    models: Path = MODELS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Runs all experiments; returns the content of the result file. Runs of changing traffic have their own length."""
    parts = studies(num_flows)
    total = len(parts) + len(SIZES) + len(auto_long_flows.THRESHOLDS) + 1
    done = 0
    found: dict[str, Runs] = {"figures 9 to 12": {}, "thresholds": {}, "long flows": {}}
    searched, imbalance = {}, {}

    def tell() -> None:
        nonlocal done
        done += 1
        progress(done, total)

    for name, size in SIZES.items():
        searched[name] = searched_thresholds(size, num_flows)
        schemes = {each: replayed("mlfq", thresholds=limits) for each, limits in searched[name].items()}
        study = Study(workload=searched_workload(size, num_flows), schemes=schemes)
        found["thresholds"][name] = run_study(study, seeds, models)
        tell()
    for name, study in parts.items():
        described = study if study.phase is None else with_searched(study, searched)
        found["figures 9 to 12"][name] = run_study(described, seeds, models)
        tell()
    for name, limits in auto_long_flows.THRESHOLDS.items():
        found["long flows"][name], imbalance[name] = auto_long_flows.run(limits, num_flows, seeds, models)
        tell()
    delays = auto_delay.measure()
    tell()
    return {
        "command": COMMAND,
        "package_version": flowsched_gym.__version__,
        "seeds": list(seeds),
        "num_flows": num_flows,
        "studies": found,
        "searched": searched,
        "imbalance": imbalance,
        "delays": delays,
    }


@functools.cache
def studies(num_flows: int = FLOWS) -> dict[str, Study]:
    """Describes Figures 9 to 12."""
    found = {name: homogeneous(size, num_flows) for name, size in SIZES.items()}
    found["clusters"], found["incast"] = clusters(num_flows), incast(num_flows)
    for length in PHASE_LENGTHS:
        found[f"changing every {length:g} s"] = changing(length, num_flows)
    return found


def homogeneous(size: str, num_flows: int) -> Study:
    """Describes Figure 9: one distribution of sizes at load 0.8."""
    name = f"auto-{size.replace('_', '-')}"
    matched = best("qlas", size)
    return Study(
        workload=make_workload(name, num_flows=num_flows),  # type: ignore[arg-type]  # a PoissonWorkload
        schemes={
            "QLAS": replayed("mlfq", thresholds=best("qlas", "web_search")),
            "QSJF": replayed("qsjf", thresholds=best("qsjf", "web_search")),
            "QLAS, matched": replayed("mlfq", thresholds=matched),
            "QSJF, matched": replayed("qsjf", thresholds=best("qsjf", size)),
            "QLAS, matched, FIFO inside": replayed("mlfq", thresholds=matched, within="fifo"),
            "PIAS, matched": replayed("mlfq", thresholds=pias_thresholds(size, LOAD, QUEUES).tolist()),
            "PS": replayed("ps"),
            "SRPT": replayed("srpt"),
        },
        models=name,
    )


def clusters(num_flows: int) -> Study:
    """Describes Figure 10: four clusters with traffic of their own, QLAS and QSJF with thresholds for each or all."""
    workload = make_workload("auto-clusters", num_flows=num_flows)
    assert isinstance(workload, ClusterWorkload)
    groups = clusters_of(workload)
    each = [best("qlas", one.size, one.load) for one in workload.traffic]
    pias = [pias_thresholds(one.size, one.load, QUEUES).tolist() for one in workload.traffic]
    by_size = [best("qsjf", one.size, one.load) for one in workload.traffic]
    mixed = best_for_mixture("qlas", workload)
    return Study(
        workload=workload,
        schemes={
            "QLAS for each cluster": replayed("mlfq", thresholds=each, groups=groups),
            "QLAS for the mixture": replayed("mlfq", thresholds=mixed),
            "QLAS for web search": replayed("mlfq", thresholds=best("qlas", "web_search")),
            "QSJF for each cluster": replayed("qsjf", thresholds=by_size, groups=groups),
            "QSJF for the mixture": replayed("qsjf", thresholds=best_for_mixture("qsjf", workload)),
            "QSJF for web search": replayed("qsjf", thresholds=best("qsjf", "web_search")),
            "PIAS for each cluster": replayed("mlfq", thresholds=pias, groups=groups),
            "PS": replayed("ps"),
            "SRPT": replayed("srpt"),
        },
        models="auto-clusters",
    )


def incast(num_flows: int) -> Study:
    """Describes the incast of section 6.1.1, whose flows are a group of their own (``bursts``)."""
    return Study(
        workload=make_workload("auto-incast", num_flows=num_flows),  # type: ignore[arg-type]  # a ClusterWorkload
        schemes={
            "QLAS": replayed("mlfq", thresholds=best("qlas", "web_search")),
            "QSJF": replayed("qsjf", thresholds=best("qsjf", "web_search")),
            "PS": replayed("ps"),
        },
        groups=BURSTS,
    )


FIXED: Final = (
    "QLAS for web search",
    "QLAS for data mining",
    "QLAS for the mixture",
    "PIAS for the mixture",
    "searched for web search",
    "searched for data mining",
)
"""Settings that stay while traffic changes and know no sizes; loads make no difference to QLAS's thresholds."""
TOLD: Final = "QLAS, told of each change"
TOLD_MIXTURE: Final = "QLAS for the mixture, told of each change"
SEARCHED_TOLD: Final = "searched, told of each change"


def changing(length: float, num_flows: int) -> Study:
    """Describes Figures 11 and 12: each cluster takes other sizes or another load after so many seconds."""
    workload = make_workload("auto-changing", change_every=length, duration=PHASES * length)
    assert isinstance(workload, ClusterWorkload)
    if num_flows < FLOWS:
        workload = workload.with_num_flows(num_flows)
    mixture = mixture_of(workload)
    each = np.array([best("qlas", one.size, one.load) for one in workload.traffic])
    pias = pias_thresholds(mixture.size, mixture.load, QUEUES).tolist()
    return Study(
        workload=workload,
        schemes={
            "QLAS for web search": replayed("mlfq", thresholds=best("qlas", "web_search")),
            "QLAS for data mining": replayed("mlfq", thresholds=best("qlas", "data_mining")),
            "QLAS for the mixture": replayed("mlfq", thresholds=best_for_mixture("qlas", workload)),
            "PIAS for the mixture": replayed("mlfq", thresholds=pias),
            TOLD: told_of_changes(workload, lambda kinds: each[kinds]),
            TOLD_MIXTURE: told_of_changes(workload, lambda kinds: best_for_present_mixture(workload, kinds)),
            "QSJF for web search": replayed("qsjf", thresholds=best("qsjf", "web_search")),
            "QSJF for the mixture": replayed("qsjf", thresholds=best_for_mixture("qsjf", workload)),
            "PS": replayed("ps"),
            "SRPT": replayed("srpt"),
        },
        models="auto-changing",
        phase=length,
    )


def with_searched(study: Study, searched: Mapping[str, Mapping[str, list[float]]]) -> Study:
    """Adds thresholds that a search found, by name of the sizes, to changing traffic: each of them, and told."""
    workload, found = study.workload, {name: each[SEARCHED] for name, each in searched.items()}
    assert isinstance(workload, ClusterWorkload)
    by_size: dict[Distribution, list[float]] = {load_cdf(SIZES[name]): limits for name, limits in found.items()}
    each = np.array([by_size[one.size] for one in workload.traffic])
    told = told_of_changes(workload, lambda kinds: each[kinds])
    fixed = {f"searched for {name}": replayed("mlfq", thresholds=limits) for name, limits in found.items()}
    return replace(study, schemes={**study.schemes, **fixed, SEARCHED_TOLD: told})


def best(kind: str, size: Distribution | str, load: float = LOAD) -> list[float]:
    """Returns the best thresholds for a distribution of sizes, by default at the usual load, in B."""
    thresholds: list[float] = optimal_thresholds(kind, size, load, QUEUES).tolist()
    return thresholds


def best_for_mixture(kind: str, workload: ClusterWorkload) -> list[float]:
    """Returns the best thresholds for all traffic of clusters together, in B."""
    mixture = mixture_of(workload)
    return best(kind, mixture.size, mixture.load)


def best_for_present_mixture(workload: ClusterWorkload, kinds: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Returns the best thresholds for what clusters send at present, together; the same row for each."""
    present = replace(workload, traffic=tuple(workload.traffic[kind] for kind in kinds.tolist()), change_every=None)
    return np.tile(best_for_mixture("qlas", present), (len(kinds), 1))


def mixture_of(workload: ClusterWorkload) -> Traffic:
    """Mixes all traffic of clusters."""
    found = offered_traffic(workload, 1)
    assert found is not None
    return found[0]


def run_study(study: Study, seeds: Sequence[int], models: Path) -> dict[str, dict[str, list[float]]]:
    """Runs all schemes of a study, and the agents trained for it, on the same flows; returns metrics by seed."""
    schemes = dict(study.schemes) | ({} if study.models is None else learned(models, study.models))
    found: dict[str, dict[str, list[float]]] = {name: {} for name in schemes}
    for seed in seeds:
        flows = study.workload.draw(seed)
        for name, scheme in schemes.items():
            for metric, value in metrics_of(scheme(flows, seed), study.groups, study.phase).items():
                found[name].setdefault(metric, []).append(value)
    return found


def metrics_of(
    records: Records, groups: Mapping[str, tuple[float, float]] = GROUPS, phase: float | None = None
) -> dict[str, float]:
    """Returns means and 99th percentiles of FCT in s, of all flows, of groups of sizes, and of phases of arrival."""
    fct, size = records.fct, records.size
    found = {
        "mean_fct": fct.mean(),
        "p99_fct": np.percentile(fct, 99),
        "mean_slowdown": records.slowdown.mean(),
        "p99_slowdown": np.percentile(records.slowdown, 99),
    }
    members = {name: (size > above) & (size <= most) for name, (above, most) in groups.items()}
    if phase is not None:
        number = (records.arrival_time // phase).astype(np.int64)
        members |= {f"phase {k}": number == k for k in range(PHASES)}
    for name, chosen in members.items():
        found[f"mean_fct, {name}"] = fct[chosen].mean() if chosen.any() else np.nan
        found[f"p99_fct, {name}"] = np.percentile(fct[chosen], 99) if chosen.any() else np.nan
    return {metric: rounded(value) for metric, value in found.items()}


if __name__ == "__main__":
    main()
