"""Plays thresholds of the fluid's environments in packets: ``python -m benchmarks.packets.from_fluid``.

Policies are rules and the best training of the agent `static`, constants that evolved, chosen by ten validation
episodes; each plays ten test episodes of a setting of the leaderboard in the fluid, and its thresholds the same flows
in packets: DCTCP's senders, queues by bytes sent (PIAS) at every port. An agent that moves its thresholds by what it
observes is none of these. Artemis has packets behind its environment: there kept agents and rules play in the fluid and
in packets (``play_artemis``). ``--write`` keeps the figures in ``from_fluid.json``; ``page`` makes tables of them.
"""

import argparse
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import flowsched_gym
from benchmarks.agents import MODELS
from flowsched_gym.core.arrays import FloatArray, IntArray
from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import evaluate, make_environment, rollout, write_json
from flowsched_gym.flows.metrics import task_completion_times
from flowsched_gym.flows.records import Records
from flowsched_gym.integrations.sb3 import load_policy
from flowsched_gym.leaderboard import load_suite
from flowsched_gym.packets.contract import Arrival, Order, PacketTable, Traffic
from flowsched_gym.packets.rules.messages import Messages, count_bytes
from flowsched_gym.packets.rules.queues import first_within
from flowsched_gym.packets.schedulers.parameters import Count, MessageScheduler
from flowsched_gym.packets.state import PacketRecords
from flowsched_gym.players import find_player, kept_agents, make_policy
from flowsched_gym.systems.auto.thresholds.config import SCALE
from flowsched_gym.workload import Workload

FIGURES: Final = Path(__file__).with_name("from_fluid.json")
SUITE: Final = load_suite("standard")
NUM_EPISODES: Final = 10
AGENT: Final = "static"
SETTINGS: Final[dict[str, tuple[str, ...]]] = {
    "tafe-thresholds-changing": ("tenfold", "constant", "thirds", "paper"),
    "auto-thresholds-incast": ("qlas", "mismatched", "equal", "pias"),
    "auto-thresholds-changing": ("qlas", "mismatched", "equal", "pias"),
}
"""Settings, and the rules beside the agent. `tafe-thresholds-alibaba` is none: its flows wait for CPUs."""
CLASSES: Final[dict[str, tuple[float, float]]] = {"small": (0, 1e5), "medium": (1e5, 1e7), "large": (1e7, np.inf)}
SENDERS: Final[dict[str, object]] = {
    **{"transport": "dctcp", "initial_window": 10, "min_rto": 0.01, "handshake": True, "acks": "packets"},
    **{"mark_at": 30_000, "buffer": 300_000},
}
PATIENT: Final[dict[str, object]] = {"min_rto": 10.0, "buffer": None}
"""Nothing is lost, and no timer expires while a flow waits for others."""
ONE_QUEUE: Final = "one queue"
"""No thresholds: flows share in the fluid, and queue in packets."""
ARTEMIS: Final[dict[str, tuple[str, ...]]] = {
    "artemis-thesis-wait": ("paced", "lifo", "skip-late", "feasible-first", "edf", "random"),
    "artemis-thesis-a2-wait": ("paced", "lifo", "skip-late", "feasible-first", "edf", "random"),
    "artemis-heavy": ("skip-late", "feasible-first", "sjf", "lifo", "edf", "random"),
    "artemis-heavy-postpone": ("postpone-late", "skip-late", "sjf", "lifo", "edf", "random"),
    "artemis-changing": ("skip-late", "feasible-first", "sjf", "lifo", "edf", "random"),
    "artemis-background": ("skip-late", "feasible-first", "sjf", "lifo", "edf", "random"),
    "artemis-applications": ("sjf", "skip-late", "feasible-first", "lifo", "edf", "random"),
}
"""Settings of Artemis whose kept agents play in packets too, and the rules beside them."""
MORE_TOKENS: Final = 2
"""In packets a flow alone takes several round trips: with so many times the tokens the link is as busy as before."""
LEARNED: Final[dict[str, tuple[str, ...]]] = {
    "artemis-heavy": ("workload=gather-heavy", "env.k=6", "env.f=10", "env.packets=cubic"),
    "artemis-heavy-postpone": (
        "workload=gather-heavy",
        "env.k=6",
        "env.f=10",
        "env.defer=to-back",
        "env.packets=cubic",
    ),
    "artemis-thesis-wait": ("workload=artemis-thesis", "env.defer=wait", "env.packets=dctcp"),
}
"""Settings in which evolution goes on over packets, and their arguments; ``LEARNING`` are those of all."""
TUNED: Final = {
    "artemis-heavy": "skip-late:base=feasible-first,margin_ms=2",
    "artemis-heavy-postpone": "postpone-late:base=fifo,margin_ms=10",
}
"""The best of 35 rules there, of five bases and seven margins, in four validation episodes."""
LEARNED_WAYS: Final = {"cubic": "cubic, more tokens", "dctcp": "dctcp"}
LEARNED_DECISIONS: Final = 1_000_000
LEARNING: Final = ("algorithm=cmaes", "seed=0", f"total_timesteps={LEARNED_DECISIONS}", "evaluation.episodes=10")


class _Levels(NamedTuple):
    """Queues by bytes sent.

    Attributes:
        thresholds: Thresholds in B of each group of senders, (num_groups, num_queues - 1).
        group: Group of each flow's sender, (num_flows,).
        rank: Rank of each flow in its queue, (num_flows,), where that counts.
    """

    messages: Messages
    thresholds: FloatArray
    group: IntArray
    rank: FloatArray


class Levels(MessageScheduler):
    """PIAS with thresholds for each group of senders; see ``_Levels``."""

    record_type = _Levels

    def __init__(self, thresholds: FloatArray, group: IntArray, rank: FloatArray) -> None:
        super().__init__(None)
        self.num_queues = thresholds.shape[1] + 1
        self._of_flows = thresholds, group, rank

    @staticmethod
    def arrive(now: float, port: int, p: int, table: PacketTable, record: Any) -> Arrival:
        """Finds the queue by the bytes sent."""
        weight, last_seen, new = count_bytes(now, port, p, table, record.messages)
        flow = table.flow[p]
        queue = first_within(weight, record.group[flow], record.thresholds, 0, record.thresholds.shape[1])
        return Arrival(queue, record.rank[flow], weight, last_seen, new)

    def new_record(self, traffic: Traffic, num_ports: int) -> _Levels:
        """Makes room for the bytes sent."""
        return _Levels(self.new_messages(traffic, Count.BEFORE), *self._of_flows)


class RankedLevels(Levels):
    """TAFE in packets: in the highest level of tasks the first task goes first, and of it the first flow."""

    order = Order.RANK


def main() -> None:
    """Measures and prints, and writes where asked."""
    parser = argparse.ArgumentParser(description="Plays the fluid's thresholds in packets.")
    parser.add_argument("--episodes", type=int, default=NUM_EPISODES, help="test episodes of each setting")
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {FIGURES.name}")
    parser.add_argument("--learned", type=Path, help="folder of runs, such as ``runs``, by the names of ``LEARNED``")
    options = parser.parse_args()
    seeds = range(SUITE.test[0], SUITE.test[0] + options.episodes)
    figures: dict[str, Any] = {
        "command": "python -m benchmarks.packets.from_fluid --write",
        "package_version": flowsched_gym.__version__,
        "seeds": list(seeds),
        "settings": {name: measure(name, rules, seeds) for name, rules in SETTINGS.items()},
        "artemis": {name: play_artemis(name, rules, seeds) for name, rules in ARTEMIS.items()},
    }
    if options.learned is None:
        figures["learned"] = read_json(FIGURES)["learned"]
    else:
        settings = {name: play_learned(name, options.learned, figures["artemis"][name], seeds) for name in LEARNED}
        figures["learned"] = {
            "decisions": LEARNED_DECISIONS,
            "commands": [*map(command_of, LEARNED)],
            "settings": settings,
        }
    if options.write:
        write_json(figures, FIGURES)
        print(f"written to {FIGURES}")


def measure(name: str, rules: tuple[str, ...], seeds: range) -> dict[str, Any]:
    """Plays the policies of a setting; returns figures by policy and way, one for each episode."""
    env = environment(name)
    training = best_training(name)
    agent = load_policy(MODELS / name / AGENT / f"seed{training}.zip", env)
    policies = {AGENT: agent} | {rule: make_policy(rule, env, seed=0) for rule in rules}
    thresholds = {policy: thresholds_of(env, each) for policy, each in policies.items()}
    played: dict[str, dict[str, dict[str, list[float]]]] = {}
    for policy in (*policies, ONE_QUEUE):
        same = [other for other in played if np.array_equal(thresholds[other], thresholds.get(policy, ()))]
        played[policy] = played[same[0]] if same else play(env, policies.get(policy), thresholds.get(policy), seeds)
        means = {way: f"{np.mean(each['mean_fct']):.5f}" for way, each in played[policy].items()}
        print(f"{name}, {policy}: mean FCT in s {means}", flush=True)
    return {
        "training": training,
        "thresholds": {policy: each.tolist() for policy, each in thresholds.items()},
        "policies": played,
    }


def play(env: Any, policy: Any, thresholds: FloatArray | None, seeds: range) -> dict[str, dict[str, list[float]]]:
    """Plays a policy in the fluid and its thresholds in packets; without, one queue. Returns figures by episode."""
    rows: dict[str, list[dict[str, float]]] = {}
    for seed in seeds:
        if policy is None:
            env.reset(seed=seed)
            fluid = flowsched_gym.replay(env.unwrapped.workload, discipline="ps", engine="compiled", **network_of(env))
        else:
            rollout(env, policy, seed=seed)
            fluid = env.unwrapped.records()
        for way, records in {"fluid": fluid, **in_packets(env, thresholds)}.items():
            rows.setdefault(way, []).append(figures_of(records))
    return {
        way: {key: [float(f"{row[key]:.6g}") for row in episodes] for key in episodes[0]}
        for way, episodes in rows.items()
    }


def play_artemis(name: str, rules: tuple[str, ...], seeds: range) -> dict[str, dict[str, list[float]]]:
    """Plays the kept agents of a setting, and rules; returns the shares of deadlines met by policy and way."""
    setting, kept = SUITE.settings[name], kept_agents()
    agents = [f"{name}/{each}" for each in ("distilled", "cmaes") if f"{name}/{each}" in kept]
    found: dict[str, dict[str, list[float]]] = {}
    for policy in (*agents, *rules):
        own = kept[policy].kwargs if policy in kept else setting.arguments(find_player(policy, setting.spec))
        text = f"model:{policy}" if policy in kept else policy
        for way, kwargs in ways_of({**setting.kwargs, **own, "engine": "compiled"}).items():
            result = evaluate(setting.spec, text, episodes=len(seeds), seed=list(seeds), kwargs=kwargs)
            shares = [each.metrics["deadline_hit_ratio"] for each in result.runs[0].episodes]
            found.setdefault(policy.removeprefix(f"{name}/"), {})[way] = shares
        means = {way: f"{np.mean(each):.3f}" for way, each in found[policy.removeprefix(f"{name}/")].items()}
        print(f"{name}, {policy}: deadlines met {means}", flush=True)
    return found


def command_of(name: str) -> str:
    """Returns the command by which an agent of ``LEARNED`` learns over packets."""
    return " ".join(["flowsched-train", *LEARNED[name], *LEARNING, f"start=model:{name}/cmaes", f"run_name={name}"])


def play_learned(name: str, folder: Path, before: dict[str, dict[str, list[float]]], seeds: range) -> dict[str, Any]:
    """Plays what has gone on to learn over packets; returns shares of deadlines met: before, after, and of rules."""
    setting, packets = SUITE.settings[name], LEARNED[name][-1].removeprefix("env.packets=")
    way = LEARNED_WAYS[packets]
    given = {**setting.kwargs, **kept_agents()[f"{name}/cmaes"].kwargs, "engine": "compiled"}
    found = {"before": before["cmaes"][way]}
    tuned = [TUNED[name]] if name in TUNED else []
    for label, text in (("after", str(folder / name / "model.zip")), *zip(tuned, tuned, strict=True)):
        result = evaluate(setting.spec, text, episodes=len(seeds), seed=list(seeds), kwargs=ways_of(given)[way])
        found[label] = [each.metrics["deadline_hit_ratio"] for each in result.runs[0].episodes]
    return {"way": way, "policies": {**found, **{rule: before[rule][way] for rule in ARTEMIS[name]}}}


def ways_of(given: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Lists how a setting is played: as it is, in packets, and, where it has few tokens, in both with more of them."""
    plain = {key: value for key, value in given.items() if key != "transport"}
    ways = {"fluid": given, "dctcp": {**plain, "packets": "dctcp"}, "cubic": {**plain, "packets": "cubic"}}
    if "transport" in given:
        return {**ways, "reno": {**plain, "packets": "reno"}}
    more = {"k": MORE_TOKENS * given["k"]}
    return {**ways, "fluid, more tokens": {**given, **more}, "cubic, more tokens": {**ways["cubic"], **more}}


def environment(name: str) -> Any:
    """Makes the environment of a setting."""
    setting = SUITE.settings[name]
    return make_environment(setting.spec.id, {**setting.kwargs, "engine": "compiled"})


def best_training(name: str) -> int:
    """Returns the training with the best mean in ten validation episodes."""
    env, metric = environment(name), SUITE.settings[name].metric
    seeds = range(SUITE.validation[0], SUITE.validation[0] + NUM_EPISODES)
    models = [load_policy(MODELS / name / AGENT / f"seed{training}.zip", env) for training in range(10)]
    means = [np.mean([rollout(env, model, seed=seed).metrics[metric] for seed in seeds]) for model in models]
    return int(np.argmin(means))


def thresholds_of(env: Any, policy: Any) -> FloatArray:
    """Returns the thresholds in B that a policy sets always, (num_clusters, num_queues - 1)."""
    observation, _ = env.reset(seed=0)
    clusters = getattr(env.unwrapped.config, "clusters", 1)
    action, _ = policy.predict(observation)
    return SCALE.thresholds_of(np.asarray(action, dtype=np.float64).reshape(clusters, -1))


def network_of(env: Any) -> dict[str, Any]:
    """Returns the network of an environment as replays take it."""
    config = env.unwrapped.config
    hosts = getattr(config, "hosts", None)
    delay = config.link_delay_us * 1e-6
    return {
        "topology": str(config.topology),
        "capacity": config.capacity,
        "num_hosts": hosts,
        "parameters": {"delay": delay},
    }


def in_packets(env: Any, thresholds: FloatArray | None) -> dict[str, PacketRecords]:
    """Sends the flows of an episode in packets; those of tasks in the order of TAFE too."""
    workload, network = env.unwrapped.workload, network_of(env)
    senders = SENDERS | network.pop("parameters")
    ways: dict[str, tuple[Any, dict[str, object]]] = {"packets": ("fifo", {})}
    if thresholds is not None:
        group = workload.source * len(thresholds) // workload.num_hosts
        rank = np.argsort(np.lexsort((workload.flow_id, workload.task_id, workload.arrival_time))).astype(np.float64)
        by_task: dict[str, object] = {"messages": "task"} if is_of_tasks(workload) else {}
        ways["packets"] = Levels(thresholds, group, rank), by_task
        if by_task:
            ranked = RankedLevels(thresholds, group, rank)
            ways |= {"in order": (ranked, by_task), "patient": (ranked, by_task | PATIENT)}
    return {
        way: flowsched_gym.replay_packets(
            workload, scheduler=scheduler, parameters=senders | change, engine="compiled", **network
        )
        for way, (scheduler, change) in ways.items()
    }


def is_of_tasks(workload: Workload) -> bool:
    """Returns whether flows belong to tasks."""
    return workload.task_id is not None and bool((workload.task_id >= 0).all())


def figures_of(records: Records) -> dict[str, float]:
    """Returns mean completion times in s, of all flows, by class of size, and of tasks; and what was lost or late."""
    found = {"mean_fct": float(records.fct.mean())}
    for label, (low, high) in CLASSES.items():
        here = (records.size > low) & (records.size <= high)
        if here.any():
            found[label] = float(records.fct[here].mean())
    tasks = task_completion_times(records).tct
    if len(tasks):
        found["mean_tct"] = float(tasks.mean())
    if isinstance(records, PacketRecords):
        found |= {name: float(getattr(records, name).sum()) for name in ("packets", "drops", "marks", "timeouts")}
    return found


if __name__ == "__main__":
    main()
