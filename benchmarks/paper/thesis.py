"""Runs chapter 4 of the Artemis thesis where packets are lost: ``python -m benchmarks.paper.thesis``.

Plays the thesis's policies, others of the package, search, and the agents trained on ``artemis-thesis``, in runs of the
thesis's own length, 100 bursts, and FIFO and EDF with other numbers of tokens. ``data/thesis.json`` keeps what came of
each run; ``make paper`` lays it out beside the thesis's figures.
"""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks.paper.thesis_choices import agreement, returns
from flowsched_gym.core.packed import files_in
from flowsched_gym.core.units import SECONDS_PER_MILLISECOND
from flowsched_gym.evaluation import EpisodeRunner, write_json
from flowsched_gym.flows.records import Records
from flowsched_gym.integrations.models import load_player
from flowsched_gym.players import find_player, make_policy
from flowsched_gym.registration import find_environment

HERE: Final = Path(__file__).resolve().parent
MODELS: Final = HERE.parent / "models" / "paper"
FIGURES: Final = HERE / "data" / "thesis.json"
ARTEMIS: Final = "flowsched/Artemis-v0"
TRANSPORT: Final = "tcp-lossy-2018a"
VARIANTS: Final = {"1": "artemis-thesis", "2": "artemis-thesis-a2"}
WHOLE: Final = ("edf:queue=whole", "ssdf:queue=whole", "lsdf:queue=whole")
"""The thesis's rules where they rank all requests; without it they see five, as its agent does."""
HEURISTICS: Final = ("fifo", "edf", "ssdf", "lsdf", *WHOLE, "feasible-first", "lifo", "skip-late")
AGENTS: Final = {
    "a2c-thesis": {"observation": "paper", "reward": "lagged"},
    "a2c-paper": {"observation": "paper"},
    "a2c": {},
    "ppo-paper": {"observation": "paper"},
    "ppo": {},
    "ppo-wait": {"defer": "wait"},
}
"""Trained agents, and what they need of the environment besides; ``benchmarks/models/README.md`` has the commands."""
NUM_TRAININGS: Final = 10
SEARCHES: Final = {"search": "base=lifo", "search-wait": "base=paced,base.base=lifo,base.active=5"}
"""Search by rollouts, and of which rule."""
PACED: Final = "paced"
PACED_RULE: Final = f"{PACED}:base=lifo,active=5"
"""The rule that lets only some flows send at once, with the options that were best in validation episodes."""
DEFERRING: Final = {PACED: {"defer": "wait"}, "search-wait": {"defer": "wait"}}
"""What others than agents need of the environment."""
NUM_FUTURES: Final = 4
"""Futures of the first round: which flows lose packets is chance, so that one future says little about a choice."""
NUM_RUNS: Final = 10
FIRST_SEED: Final = 10_000
"""Seed of the first episode, also of ``results/``: agents of this folder learned from others."""
TOKENS: Final = (1, 2, 3, 5, 7, 10, 15, 31, 63, 127)
NUM_TOKENS: Final = 10
WINDOW: Final = 5
SETTING: Final = {"k": NUM_TOKENS, "f": WINDOW, "transport": TRANSPORT, "engine": "compiled"}
EARLY: Final = 40 * SECONDS_PER_MILLISECOND
LATE: Final = 50 * SECONDS_PER_MILLISECOND
PERCENTS: Final = (*range(0, 96, 5), 96, 97, 98, 99, 100)
STALLED: Final = 150 * SECONDS_PER_MILLISECOND
DIGITS: Final = 6
FLOWS_PER_POINT: Final = 100
"""Flows of ten bursts."""

Runs = dict[str, list[float]]
"""What came of each run, by name."""


def main() -> None:
    """Plays, and writes what came of it."""
    found: dict[str, Any] = {"variants": {}, "tokens": {}}
    for variant, workload in VARIANTS.items():
        found["variants"][variant] = {}
        for policy in (*HEURISTICS, PACED, *AGENTS, *SEARCHES):
            found["variants"][variant][policy] = measure(policy, workload)
            print(f"variant {variant}: {policy} has played", flush=True)
    for policy in ("fifo", "edf"):
        played = {str(count): measure(policy, VARIANTS["1"], {"k": count}) for count in TOKENS}
        found["tokens"][policy] = {
            count: {name: each[name] for name in ("runs", "fct_ms")} for count, each in played.items()
        }
    found["agreement"] = {agent: agreement_of(agent) for agent in AGENTS}
    found["returns"] = returns(
        ARTEMIS, k=NUM_TOKENS, f=WINDOW, transport=TRANSPORT, workload=VARIANTS["1"], **AGENTS["a2c-thesis"]
    )
    write_json(found, FIGURES)
    print(f"written to {FIGURES}")


def measure(
    policy: str, workload: str, arguments: Mapping[str, object] | None = None, *, num_runs: int = NUM_RUNS
) -> dict[str, Any]:
    """Plays a policy, or each training of an agent, in runs of unseen flows; arguments are those beside the thesis's.

    Returns:
        ``played``, who did; ``runs``, what came of each run; percentiles of all flows: ``fct_ms``, and ``gaps_ms``
        between deliveries; ``so_far``, for each run the shares of deadlines met of the flows of the first 10, 20, ...
        bursts, the mean of all trainings; and of agents ``favourites``, how often each training takes its most frequent
        action.
    """
    kwargs = {
        **SETTING,
        "workload": workload,
        **AGENTS.get(policy, {}),
        **DEFERRING.get(policy, {}),
        **(arguments or {}),
    }
    runs: Runs = {}
    times, gaps, so_far, favourites = [], [], [], []
    for player in players(policy, workload):
        settings = find_player(player, ARTEMIS).settings if isinstance(player, str) else {}
        played: dict[int, Records] = {}
        with closing(EpisodeRunner(find_environment(ARTEMIS), {**kwargs, **settings})) as runner:
            agent = (
                make_policy(player, runner.env, seed=0) if isinstance(player, str) else load_player(player, runner.env)
            )
            episodes = runner.play(agent, episodes=num_runs, seed=FIRST_SEED, on_records=played.__setitem__)
        actions = np.concatenate([each.actions for each in episodes if each.actions is not None])
        favourites.append(round(float(np.bincount(actions).max() / len(actions)), 4))
        for _, records in sorted(played.items()):
            times.append(records.fct)
            gaps.append(np.diff(np.sort(records.completion_time)))
            so_far.append(met_so_far(records.deadline_met))
            for name, value in figures_of(records.arrival_time, records.fct, records.deadline_span).items():
                runs.setdefault(name, []).append(round(value, DIGITS))
    return {
        "played": [player if isinstance(player, str) else player.name for player in players(policy, workload)],
        "runs": runs,
        "fct_ms": percentiles(times),
        "gaps_ms": percentiles(gaps),
        "so_far": np.mean(np.reshape(so_far, (-1, num_runs, len(so_far[0]))), axis=0).round(4).tolist(),
        **({"favourites": favourites} if policy in AGENTS else {}),
    }


def players(policy: str, workload: str) -> list[str | Path]:
    """Lists who plays under a name: a policy of the package, or the models of an agent."""
    if policy in AGENTS:
        return [*trainings(workload, policy)]
    if policy in SEARCHES:
        return [f"search:{SEARCHES[policy]},futures={NUM_FUTURES},rounds=2"]
    return [PACED_RULE if policy == PACED else policy]


def agreement_of(agent: str, *, num_runs: int = 2) -> dict[str, Any]:
    """Finds which rules an agent of variant 1 agrees with."""
    kwargs = {**SETTING, "workload": VARIANTS["1"], **AGENTS[agent]}
    return agreement(trainings(VARIANTS["1"], agent), kwargs, range(FIRST_SEED, FIRST_SEED + num_runs))


def trainings(workload: str, agent: str) -> list[Path]:
    """Lists the models of an agent."""
    return files_in(MODELS / f"{workload}-{agent}", ".zip")


def figures_of(
    arrival: npt.NDArray[np.float64], fct: npt.NDArray[np.float64], span: npt.NDArray[np.float64]
) -> dict[str, float]:
    """Returns the figures of the thesis's tables for a run, of arrival, completion and allowed times in s."""
    met, ends = fct <= span, np.sort(arrival + fct)
    gap = float(np.diff(ends).mean())
    return {
        "deadline_hit_ratio": float(met.mean()),
        "early": float((fct <= EARLY).mean()),
        "late": float(((fct > EARLY) & (fct <= LATE)).mean()),
        "wasted": float(((fct <= LATE) & ~met).sum() / max((fct <= LATE).sum(), 1)),
        "late_met": float((met & (fct > EARLY)).sum() / max(met.sum(), 1)),
        "mean_gap_ms": gap / SECONDS_PER_MILLISECOND,
        "served_of_offered": float(np.diff(arrival).mean()) / gap,
        "mean_fct_ms": float(fct.mean()) / SECONDS_PER_MILLISECOND,
        "median_fct_ms": float(np.median(fct)) / SECONDS_PER_MILLISECOND,
        "p99_fct_ms": float(np.percentile(fct, 99)) / SECONDS_PER_MILLISECOND,
        "stalled": float((fct > STALLED).mean()),
    }


def met_so_far(met: npt.NDArray[np.bool_]) -> list[float]:
    """Returns the shares of deadlines met among the flows of the first 10, 20, ... bursts, in the order of arrival."""
    shares = np.cumsum(met) / np.arange(1, len(met) + 1)
    return [round(float(share), 4) for share in shares[FLOWS_PER_POINT - 1 :: FLOWS_PER_POINT]]


def percentiles(samples: list[npt.NDArray[np.float64]]) -> list[float]:
    """Returns percentiles in ms of all samples together, at ``PERCENTS``."""
    found: list[float] = (np.percentile(np.concatenate(samples), PERCENTS) / SECONDS_PER_MILLISECOND).tolist()
    return [round(value, 3) for value in found]


if __name__ == "__main__":
    main()
