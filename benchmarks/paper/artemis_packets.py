"""Artemis over packets with ns-3's own settings, on the arrivals that ns-3 had.

``python -m benchmarks.paper.artemis_packets`` prints the share of deadlines met in every cell of ``losses``: of ns-3,
of the transports fitted to it, and of packets, to which nothing is fitted. It takes half a minute of computing.
"""

from time import process_time
from typing import Any, Final

import numpy as np

from benchmarks.paper.losses import STALLED, TOKENS, ns3_mean, read_figures, root_mean_square
from benchmarks.paper.ns3 import gather, play
from flowsched_gym.packets.parameters import PRESETS

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "2018": {**PRESETS["reno"], "initial_window": 2, "ack_every": 2},
    "2018a": dict(PRESETS["reno"]),
}


def play_cell(cell: str, seed: str, engine: str = "compiled") -> tuple[float, float, float]:
    """Plays a cell on the arrivals of a seed; returns deadlines met and stalled flows in %, and the median FCT in s."""
    setting, policy, tokens = cell.split()
    burst = TOKENS["flows"][setting.split("_")[1]]
    flows = gather([(arrival, burst) for arrival in TOKENS["arrivals_s"][seed]])
    fct, met = play(flows, policy, k=int(tokens), packets=SETTINGS[setting.split("_")[0]], engine=engine)
    return 100 * met, 100 * float(np.mean(fct > STALLED)), float(np.median(fct))


def main() -> None:
    """Prints all cells, and the root mean square of the differences from ns-3 by setting and number of tokens."""
    gaps: dict[str, list[list[float]]] = {}
    begun, num_decisions = process_time(), 0
    for cell, runs in TOKENS["cells"].items():
        ns3 = 100 * ns3_mean(cell, "deadline_hit_ratio")
        fluid = 100 * float(np.mean(read_figures()["cells"][cell]["deadline_hit_ratio"]))
        packets = float(np.mean([play_cell(cell, seed)[0] for seed in runs]))
        num_decisions += sum(len(TOKENS["arrivals_s"][seed]) * 10 for seed in runs)
        gaps.setdefault(f"{cell.split('_')[0]}, {cell.split()[2]} tokens", []).append([fluid - ns3, packets - ns3])
        print(f"{cell:18} ns-3 {ns3:.1f}, fluid {fluid:.1f}, packets {packets:.1f}", flush=True)
    for name, points in gaps.items():
        print(name, *(f"{root_mean_square(list(each)):.1f}" for each in zip(*points, strict=True)))
    print(f"{num_decisions / (process_time() - begun):.0f} decisions per CPU-second")


if __name__ == "__main__":
    main()
