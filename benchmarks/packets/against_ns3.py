"""Holds packets across networks against ns-3: ``python -m benchmarks.packets.against_ns3 FOLDER``.

``FOLDER`` has ns-3.37's runs: ``flows/`` and ``results/``. Prints the page that ``page`` makes of the figures;
``--write`` keeps them in ``against_ns3.json``, and writes page and picture. CPU times are those of one thread, after
compiling. ``--simpy`` measures SimPy's; ``--ns3`` runs ns-3, for its CPU times and for runs with flows of our own.
Without these options what was measured before stays.
"""

import argparse
import csv
import gzip
import resource
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import flowsched_gym
from benchmarks.packets.page import DOCUMENT, FIGURES, FROM_FLUID, document, draw
from benchmarks.speed.run import describe_machine
from flowsched_gym.core.arrays import BoolArray, FloatArray
from flowsched_gym.core.files import read_json, write_text
from flowsched_gym.core.units import gbps_to_capacity
from flowsched_gym.envs import setup_ports
from flowsched_gym.evaluation import write_json
from flowsched_gym.packets.parameters import NetworkParameters
from flowsched_gym.packets.schedulers import Fifo
from flowsched_gym.packets.state import PacketRecords
from flowsched_gym.topology import Topology, big_switch, leaf_spine
from flowsched_gym.workload import Workload, load_cdf

COMMAND: Final = "python -m benchmarks.packets.against_ns3 FOLDER --write"
FULL: Final = 1_502
"""Bytes of a full packet on the wire."""
PAYLOAD: Final = 1_460
HOSTS_PER_LEAF: Final = 4
NUM_HOSTS: Final = 16
FABRIC_LINKS: Final = (32, 16)
"""Links that begin or end at a host, and links between leaves and spines."""
CLASSES: Final[dict[str, tuple[float, float]]] = {
    "< 10 KB": (0, 1e4),
    "10-100 KB": (1e4, 1e5),
    "100 KB-1 MB": (1e5, 1e6),
    "> 1 MB": (1e6, np.inf),
}
RUNS: Final = (
    *("d11.ws30s1", "d11.ws50s1", "d11.ws70s1", "d11.dm50s1", "d21.dm30s2", "dg.Gdm50s1"),
    *("d11.fx50s1", "d50.fx50s1", "d11.is30s1", "d11.il50s1", "d21.il30s2", "dr.il50s1", "swd.il50s1"),
    *("c11.dm50s1", "c21.dm30s2", "swc.dm50s1", "c11.is30s1", "swc.is30s1", "c11.il50s1", "cr.il50s1"),
)
"""Settings and flow files: DCTCP with mixed sizes, with 20 KB or incast, then Cubic."""
LONE_RUNS: Final = (
    *("d11.x", "d11.i", "d21.x", "d21.i", "d50.x", "d50.i", "dg.x", "dg.i", "swd.i"),
    *("c11.x", "c11.i", "c21.x", "c21.i", "swc.i"),
)
LONE_SIZES: Final = np.array(
    [
        *(1, 500, 1_000, 1_460, 2_000, 2_920, 3_500, 5_000, 7_000, 10_000, 12_000, 14_600, 17_000, 20_000, 25_000),
        *(32_000, 40_000, 50_000, 65_000, 80_000, 100_000, 130_000, 170_000, 220_000, 256_000, 300_000, 400_000),
        *(550_000, 750_000, 1_000_000, 1_400_000, 2_000_000, 5_000_000, 10_000_000, 30_000_000),
    ],
    dtype=np.float64,
)
TIMED: Final = ("d11.dm50s1", "d11.fx50s1", "d11.is30s1", "c11.dm50s1", "c11.is30s1")
"""Runs that are repeated in ns-3, for its CPU times."""
HELD_OUT: Final = ("d11.ws40s8", "d21.dm40s8", "d11.is40s8", "c11.ws50s8", "c11.is40s8")
"""Runs with flows of our own, which no rule was chosen by."""
HELD_OUT_FLOWS: Final = {"ws": 400, "dm": 600, "is": 1_500}
LARGEST: Final = 1e7
"""Most bytes of a flow of these."""
INCAST: Final = (10, 32_000.0, 1e-5)
"""Senders of a burst, their bytes, and the time in s within which they begin."""
SPEED_RUN: Final = "d11.is30s1"
"""The run that SimPy plays too."""
REPETITIONS: Final = 3


class Setting(NamedTuple):
    """How a network of the runs is: rates of hosts' and core links in Gbps, delay of a link in s, K and buffers."""

    transport: str
    host: float
    core: float
    delay: float
    mark_at: tuple[int, int] | None
    buffer: tuple[int, int]
    min_rto: float = 0.01

    @property
    def is_switch(self) -> bool:
        """Whether one switch joins all hosts; its core links are none."""
        return self.core == 0

    @property
    def parameters(self) -> dict[str, Any]:
        """Those of ``replay_packets``."""

        def by_class(packets: tuple[int, int]) -> dict[str, int]:
            return {"host": FULL * packets[0], "core": FULL * packets[1]}

        return {
            **{"transport": self.transport, "header": FULL - PAYLOAD, "ack_bytes": 58, "initial_window": 10},
            **{"min_rto": self.min_rto, "handshake": True, "acks": "packets", "buffer": by_class(self.buffer)},
            "mark_at": None if self.mark_at is None else by_class(self.mark_at),
        }

    @property
    def topology(self) -> Topology:
        """The network."""
        if self.is_switch:
            return big_switch(num_hosts=NUM_HOSTS, capacity=gbps_to_capacity(self.host), delay=self.delay)
        capacity = np.repeat([gbps_to_capacity(rate) for rate in (self.host, self.core)], FABRIC_LINKS)
        return leaf_spine(num_leaves=4, num_spines=2, hosts_per_leaf=4, capacity=capacity, delay=self.delay)


SETTINGS: Final = {
    "d11": Setting("dctcp", 1, 2, 5e-6, (20, 40), (200, 400)),
    "dr": Setting("dctcp", 1, 2, 5e-6, (20, 40), (200, 400), 0.2),
    "d21": Setting("dctcp", 1, 1, 5e-6, (20, 20), (200, 200)),
    "d50": Setting("dctcp", 1, 2, 5e-5, (20, 40), (200, 400)),
    "dg": Setting("dctcp", 10, 20, 5e-6, (65, 130), (300, 600)),
    "c11": Setting("cubic", 1, 2, 5e-6, None, (100, 200)),
    "cr": Setting("cubic", 1, 2, 5e-6, None, (100, 200), 0.2),
    "c21": Setting("cubic", 1, 1, 5e-6, None, (100, 100)),
    "swd": Setting("dctcp", 1, 0, 5e-6, (20, 20), (200, 200)),
    "swc": Setting("cubic", 1, 0, 5e-6, None, (100, 100)),
}
LONE_OF: Final = {"dr": "d11", "cr": "c11"}
"""Settings whose lone flows are those of another one: they differ in timers alone."""


def main() -> None:
    """Measures, prints, and writes where asked."""
    parser = argparse.ArgumentParser(description="Holds packets against ns-3.")
    parser.add_argument("folder", type=Path, help="folder of ns-3's runs")
    parser.add_argument("--simpy", action="store_true", help="measure SimPy's speed too")
    parser.add_argument("--ns3", action="store_true", help="run ns-3 too, which must be installed")
    parser.add_argument("--write", action="store_true", help=f"keep {FIGURES.name}, the page and its picture")
    options = parser.parse_args()
    before = read_json(FIGURES) if FIGURES.exists() else {}
    runs = {name: compare(options.folder, name, *given(options.folder, name)) for name in RUNS}
    speed = before.get("speed", {}) | measure_speed(options.folder, with_simpy=options.simpy)
    held_out = before.get("held_out", {})
    if options.ns3:
        speed |= repeat(options.folder)
        held_out = {name: hold_out(options.folder, name) for name in HELD_OUT}
    figures: Any = {
        "command": COMMAND,
        "package_version": flowsched_gym.__version__,
        "runs": runs,
        "held_out": held_out,
        "lone": {name: compare_lone(options.folder, name) for name in LONE_RUNS},
        "speed": speed,
    }
    if options.write:
        write_json(rounded(figures), FIGURES)
        figures = read_json(FIGURES)
    text = document(figures, read_json(FROM_FLUID))
    print(text)
    if options.write:
        write_text(text, DOCUMENT)
        print(f"written to {FIGURES}, {DOCUMENT} and {draw(figures, DOCUMENT.parent)}")


def rounded(value: Any) -> Any:
    """Keeps six digits of each number."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def read_columns(path: Path) -> dict[str, FloatArray]:
    """Reads a compressed table of numbers."""
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    return {key: np.array([float(row[key]) for row in rows]) for key in rows[0]}


def read_flows(folder: Path, name: str) -> dict[str, Any]:
    """Reads the flows of a run as columns of a flow file."""
    found = read_columns(folder / "flows" / f"{name.partition('.')[2]}.csv.gz")
    whole = {key: found[key].astype(int) for key in ("flow_id", "source", "destination")}
    return {**whole, "size_bytes": found["size_bytes"], "arrival_s": found["arrival_s"]}


def play(setting: Setting, flows: Mapping[str, Any], engine: str = "compiled") -> PacketRecords:
    """Sends flows in packets."""
    return flowsched_gym.replay_packets(
        flows, scheduler="fifo", topology=setting.topology, parameters=setting.parameters, engine=engine
    )


def within_leaf(setting: Setting, flows: Mapping[str, Any]) -> BoolArray:
    """Returns which flows cross one switch alone."""
    same: BoolArray = flows["source"] // HOSTS_PER_LEAF == flows["destination"] // HOSTS_PER_LEAF
    return same | setting.is_switch


def lone_times(folder: Path, name: str, flows: Mapping[str, Any]) -> FloatArray:
    """Returns the times in s that ns-3 takes for these flows alone, linear between the sizes measured."""
    short = name.partition(".")[0]
    setting = SETTINGS[short]
    near, far = (
        np.interp(flows["size_bytes"], LONE_SIZES, read_lone(folder, f"{LONE_OF.get(short, short)}.{where}"))
        for where in ("i", "i" if setting.is_switch else "x")
    )
    alone: FloatArray = np.where(within_leaf(setting, flows), near, far)
    return alone


def read_lone(folder: Path, name: str) -> FloatArray:
    """Reads the times in s of lone flows."""
    return read_columns(folder / "results" / f"iso.{name}.csv.gz")["fct_s"]


def given(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    """Reads flows, and what became of them in ns-3, with ``again_s`` where it ran twice."""
    theirs, again = read_columns(folder / "results" / f"{name}.csv.gz"), folder / "results" / f"{name}.again.csv.gz"
    if again.exists():
        theirs["again_s"] = read_columns(again)["fct_s"]
    return read_flows(folder, name), theirs


def repeat(folder: Path) -> dict[str, dict[str, float]]:
    """Runs ns-3 on given flows: its CPU times in s, and the median differences of single flows from the given runs."""
    found: dict[str, dict[str, float]] = {"ns3": {}, "ns3 differs": {}}
    for name in TIMED:
        flows, theirs = given(folder, name)
        fct, found["ns3"][name] = run_ns3(name, flows)
        found["ns3 differs"][name] = float(np.median(np.abs(fct / theirs["fct_s"] - 1)))
    return found


def hold_out(folder: Path, name: str) -> dict[str, Any]:
    """Runs ns-3 twice on flows of our own, and compares."""
    flows = draw_flows(name)
    jitter = np.random.default_rng(1).random(len(flows["flow_id"])) * 1e-6
    (fct, _), (again, _) = (run_ns3(name, flows | {"arrival_s": flows["arrival_s"] + shift}) for shift in (0.0, jitter))
    return compare(folder, name, flows, {"fct_s": fct, "again_s": again})


def draw_flows(name: str) -> dict[str, Any]:
    """Draws flows as those of the given runs: Poisson, between all hosts, or bursts to one of them."""
    kind, load, seed = name.partition(".")[2][:2], int(name[-4:-2]) / 100, int(name[-1])
    count, rng = HELD_OUT_FLOWS[kind], np.random.default_rng(seed)
    capacity = NUM_HOSTS * gbps_to_capacity(SETTINGS[name.partition(".")[0]].host)
    if kind == "is":
        senders, bytes_each, within = INCAST
        bursts = count // senders
        hosts = np.array([rng.permutation(NUM_HOSTS)[: senders + 1] for _ in range(bursts)])
        source, destination = hosts[:, 1:].ravel(), np.repeat(hosts[:, 0], senders)
        size = np.full(count, bytes_each)
        begin = np.cumsum(rng.exponential(senders * bytes_each / capacity / load, bursts))
        arrival = np.repeat(begin, senders) + rng.random(count) * within
    else:
        sizes = load_cdf({"ws": "web_search", "dm": "data_mining"}[kind])
        size = np.ceil(np.minimum(sizes.sample(rng, count), LARGEST))
        source = rng.integers(NUM_HOSTS, size=count)
        destination = (source + rng.integers(1, NUM_HOSTS, count)) % NUM_HOSTS
        arrival = np.cumsum(rng.exponential(size.mean() / capacity / load, count))
    order = np.argsort(arrival)
    columns = {"source": source, "destination": destination, "size_bytes": size, "arrival_s": arrival.round(9)}
    return {"flow_id": np.arange(count)} | {key: values[order] for key, values in columns.items()}


def compare(folder: Path, name: str, flows: Mapping[str, Any], theirs: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Plays a run, and returns slowdowns and errors by class of size beside ns-3's."""
    setting = SETTINGS[name.partition(".")[0]]
    records, alone = play(setting, flows), lone_times(folder, name, flows)
    fluid = flowsched_gym.replay(flows, discipline="ps", topology=setting.topology, engine="compiled")
    fct = {
        "ns3": theirs["fct_s"],
        "fluid": fluid.fct + np.maximum(alone - fluid.ideal_fct, 0.0),
        "packets": records.fct,
    }
    if "again_s" in theirs:
        fct["again"] = theirs["again_s"]
    found: dict[str, Any] = {"classes": by_class(flows["size_bytes"], alone, fct)}
    if "rto" in theirs:
        late = (theirs["rto"] > 0) | (theirs["connect_s"] >= setting.min_rto)
        found["timeouts"] = [int(np.count_nonzero(each)) for each in (late, records.timeouts > 0)]
    return found


def by_class(size: FloatArray, alone: FloatArray, fct: Mapping[str, FloatArray]) -> dict[str, dict[str, Any]]:
    """Returns mean, p50 and p99 of slowdowns, and median errors of single flows, by class of size."""
    found: dict[str, dict[str, Any]] = {}
    for label, (low, high) in CLASSES.items():
        here = (size >= low) & (size < high)
        if here.any():
            slowdown = {each: (times / alone)[here] for each, times in fct.items()}
            found[label] = {"flows": int(np.count_nonzero(here))}
            for each, values in slowdown.items():
                found[label][each] = [float(x) for x in (values.mean(), *np.percentile(values, [50, 99]))]
                if each != "ns3":
                    found[label][f"{each} error"] = float(np.median(np.abs(values / slowdown["ns3"] - 1)))
    return found


def compare_lone(folder: Path, name: str) -> dict[str, float]:
    """Returns how far completion times of lone flows of 500 B and more are from ns-3's, the median and the worst."""
    short, _, where = name.partition(".")
    flows = {
        "flow_id": np.arange(len(LONE_SIZES)),
        "source": np.zeros(len(LONE_SIZES), dtype=int),
        "destination": np.full(len(LONE_SIZES), HOSTS_PER_LEAF if where == "x" else 1),
        "size_bytes": LONE_SIZES,
        "arrival_s": np.arange(len(LONE_SIZES)) + 0.01,
    }
    error = np.abs(play(SETTINGS[short], flows).fct / read_lone(folder, name) - 1)[1:]
    worst = int(error.argmax())
    return {"median": float(np.median(error)), "worst": float(error[worst]), "size": float(LONE_SIZES[1 + worst])}


def num_hops(setting: Setting, flows: Mapping[str, Any]) -> int:
    """Counts the transmissions of a run: packets, their acknowledgements, handshakes; none that is sent again."""
    hops = np.where(within_leaf(setting, flows), 2, 4)
    return int((hops * (2 * np.ceil(flows["size_bytes"] / PAYLOAD) + 3)).sum())


def measure_speed(folder: Path, *, with_simpy: bool) -> dict[str, Any]:
    """Measures the hops per CPU second of all runs compiled, the best of some repetitions, and of one run in SimPy."""
    found: dict[str, Any] = {"machine": describe_machine(), "hops": {}, "compiled": {}}
    engines = ("compiled", "simpy") if with_simpy else ("compiled",)
    for engine in engines:
        found[engine] = {}
        for name in RUNS if engine == "compiled" else (SPEED_RUN,):
            setting, flows = SETTINGS[name.partition(".")[0]], read_flows(folder, name)
            found["hops"][name] = num_hops(setting, flows)
            times = []
            for _ in range(REPETITIONS if engine == "compiled" else 1):
                begin = time.process_time()
                play(setting, flows, engine)
                times.append(time.process_time() - begin)
            found[engine][name] = min(times)
    return found


def run_ns3(name: str, flows: Mapping[str, Any]) -> tuple[FloatArray, float]:
    """Runs ns-3 on flows and the paths that the package takes; returns their FCT and the CPU time, both in s."""
    setting = SETTINGS[name.partition(".")[0]]
    ports = setup_ports(setting.topology, Fifo(), NetworkParameters(**setting.parameters), engine="ns3")
    names = {"size_bytes": "size", "arrival_s": "arrival_time"}
    episode = ports.simulate(Workload(**{names.get(key, key): value for key, value in flows.items()}))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    episode.run()
    return episode.records().fct, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


if __name__ == "__main__":
    main()
