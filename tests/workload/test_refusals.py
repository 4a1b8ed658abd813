"""Refuses bad fields of workloads and of distributions by name and value, in one line, and warns of a load too high."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.workload import (
    ARTEMIS_A1,
    ClusterWorkload,
    Constant,
    Discrete,
    Empirical,
    Exponential,
    GatherWorkload,
    Incast,
    JobWorkload,
    LogNormal,
    LogUniform,
    Mix,
    Pareto,
    PoissonWorkload,
    RandomFailures,
    TaskWorkload,
    Traffic,
    Uniform,
    UnstableLoadWarning,
)

SIZE = Uniform(low=1.0, high=2.0)
PARETO = Pareto(shape=2.0, mean=5.0)
DISCRETE = Discrete(values=(1.0, 2.0), probabilities=(0.5, 0.5))
CDF = Empirical(points=((1.0, 0.0), (5.0, 1.0)))
MIX = Mix(pairs=((1.0, 1.0),), counts=(1,))
GATHER = GatherWorkload(mix=ARTEMIS_A1, burst_rate=10.0, num_bursts=100)
POISSON = PoissonWorkload(size=Exponential(mean=1e5), load=0.8, num_flows=20)
SMALL, LARGE = Traffic(size=Exponential(mean=1e5), load=0.4), Traffic(size=Exponential(mean=4e5), load=0.4)
CLUSTERS = ClusterWorkload(traffic=(SMALL, LARGE, SMALL), num_hosts=12, num_clusters=3, num_flows=40)
INCAST = Incast(burst_rate=2_000.0, senders=5, size=Constant(value=2e4))
TASKS, JOBS = TaskWorkload(size=SIZE, load=0.5), JobWorkload()
CABLES = tuple((64 + cable, 80 + cable) for cable in range(16))
AT_ONCE = RandomFailures(cables=CABLES, count=3)
AGAIN = RandomFailures(cables=CABLES, mean_time_up=2.0, mean_time_down=0.5, until=400.0)


@pytest.mark.parametrize(
    ("base", "changes", "message"),
    [
        (GATHER, {"load": 0.5}, "exactly one of burst_rate and load must be given: both are (10.0 and 0.5)"),
        (GATHER, {"burst_rate": None}, "exactly one of burst_rate and load must be given: neither is"),
        (GATHER, {"burst_rate": "10"}, "burst_rate is '10'"),
        (GATHER, {"num_bursts": True}, "num_bursts is True"),
        (GATHER, {"num_bursts": None, "duration": math.inf}, "duration is inf"),
        (GATHER, {"num_senders": 9}, "num_senders is 9: it must be an integer >= 10"),
        (GATHER, {"pattern": "all"}, "pattern is 'all': it must be one of gather, scatter"),
        (GATHER, {"shuffle": 1}, "shuffle is 1: it must be true or false"),
        (GATHER, {"mix": "a1"}, "mix is 'a1': it must be a Mix"),
        (GATHER, {"mix": None, "size": 5.0}, "size is 5.0: it must be a distribution"),
        (GATHER, {"mix": None, "size": Constant(value=5.0)}, "flows_per_burst is None: it must be an integer >= 1"),
        (GATHER, {"deadline": Constant(value=5.0)}, "it goes with size; a mix has its own deadlines"),
        (GATHER, {"flows_per_burst": 9}, "flows_per_burst is 9: the counts of the mix make it 10"),
        (MIX, {"pairs": (), "counts": ()}, "not all 0"),
        (MIX, {"counts": None}, "exactly one of counts and weights must be given: neither is"),
        (MIX, {"counts": (1.5,)}, "counts is 1.5: it must be an integer >= 0"),
        (MIX, {"counts": None, "weights": (-1.0,)}, "weights is -1.0"),
        (MIX, {"counts": None, "weights": (1.0, 2.0)}, "one entry for each of the 1 pairs"),
        (MIX, {"pairs": ((1.0,),)}, "it must be a pair (size, deadline)"),
        (POISSON, {"rate": 5.0}, "exactly one of rate and load"),
        (POISSON, {"load": math.inf}, "load is inf"),
        (POISSON, {"num_flows": -3}, "num_flows is -3: it must be an integer >= 1"),
        (POISSON, {"num_hosts": 1}, "num_hosts is 1: it must be an integer >= 2"),
        (POISSON, {"pattern": "ring"}, "pattern is 'ring': it must be one of pair, all-to-all"),
        (POISSON, {"deadline": 0.1}, "deadline is 0.1: it must be a distribution"),
        (POISSON, {"busiest_share": 1.5}, "busiest_share is 1.5: it must be at most 1"),
        (CLUSTERS, {"num_hosts": 13}, "num_clusters is 3: it must divide the number of hosts, 13"),
        (CLUSTERS, {"traffic": (SMALL, LARGE)}, "traffic has 2 entries: without change_every it must have one for"),
        (CLUSTERS, {"traffic": ()}, "traffic is (): it must have an entry at least"),
        (CLUSTERS, {"traffic": (SMALL, LARGE, 0.8)}, "traffic has the entry 0.8: it must be Traffic"),
        (CLUSTERS, {"traffic": (SMALL,), "change_every": 1.0}, "two or more entries, each once"),
        (CLUSTERS, {"change_every": 0.0}, "change_every is 0.0: it must be a finite number > 0"),
        (CLUSTERS, {"incast": replace(INCAST, senders=12)}, "senders is 12: it must be below the number of hosts, 12"),
        (CLUSTERS, {"num_flows": None, "duration": math.inf}, "duration is inf"),
        (SMALL, {"load": 0}, "load is 0: it must be a finite number > 0"),
        (SMALL, {"size": 5}, "size is 5: it must be a distribution"),
        (INCAST, {"burst_rate": math.nan}, "burst_rate is nan"),
        (INCAST, {"senders": 0}, "senders is 0: it must be an integer >= 1"),
        *(
            (TASKS, {name: 0}, f"{name} is 0: it must be an integer >= 1")
            for name in ("num_tasks", "min_flows", "num_clients", "num_servers")
        ),
        (TASKS, {"num_tasks": 10**7}, "num_tasks 10000000 with max_flows 8 would draw 8e+07 flows"),
        (TASKS, {"min_flows": 9}, "max_flows is 8: it must be an integer >= 9"),
        (TASKS, {"size": None}, "exactly one of size and total must be given: neither is"),
        (TASKS, {"total": SIZE}, "exactly one of size and total must be given: both are"),
        (TASKS, {"size": 5.0}, "size is 5.0: it must be a distribution"),
        (TASKS, {"deadline_factor": 2.0}, "deadline_factor is 2.0: it must be a distribution"),
        (TASKS, {"pattern": "tree"}, "pattern is 'tree': it must be one of parallel, sequential, partition"),
        (TASKS, {"load": None}, "exactly one of load and arrivals must be given: neither is"),
        (TASKS, {"load": 0}, "load is 0: it must be a finite number > 0"),
        (TASKS, {"load": None, "arrivals": "poisson"}, "arrivals is 'poisson': it must be one of closed, at-once"),
        (TASKS, {"capacity": 0.0}, "capacity is 0.0: it must be a finite number > 0"),
        (TASKS, {"load": None, "arrivals": "closed", "deadline_factor": SIZE}, "deadline_factor is given: in a closed"),
        (TASKS, {"load": None, "arrivals": "closed", "max_flows": 1000}, "may make 1e+08 pairs: at most 10000000"),
        (TASKS, {"cpu_work": 1}, "cpu_work is 1: it must be true or false"),
        (TASKS, {"pattern": "partition-aggregate", "num_servers": 1}, "num_servers is 1: it must be an integer >= 2"),
        (JOBS, {"num_tasks": 10**7}, "num_tasks 10000000 would draw"),
        *(
            (JOBS, {name: 0}, f"{name} is 0")
            for name in ("num_tasks", "load", "capacity", "mean_size", "num_clients", "num_servers")
        ),
        (JOBS, {"cpu_work": None}, "cpu_work is None"),
        (AT_ONCE, {"cables": 5}, "cables is 5: it must be a sequence"),
        (AT_ONCE, {"cables": ((1, -2),)}, "link of a cable is -2: it must be an integer >= 0"),
        (AT_ONCE, {"cables": ((1, 2), (2, 3))}, "each link must be in one cable only"),
        (AT_ONCE, {"count": 17}, "count is 17: it must be an integer below 17"),
        (AT_ONCE, {"count": None}, "exactly one of count and mean_time_up must be given: neither is"),
        (AT_ONCE, {"mean_time_up": 1.0}, "exactly one of count and mean_time_up must be given: both are"),
        (AT_ONCE, {"until": 3.0}, "until is 3.0: it goes with mean_time_up, not with count"),
        (AGAIN, {"mean_time_down": None}, "mean_time_down is None: it must be a finite number > 0"),
        (AGAIN, {"at": 1.0}, "at is 1.0 and repair_after None: they go with count"),
        (AGAIN, {"until": 1e9}, "until is 1000000000.0: 6.4e+09 failures are too many, 1000000 allowed"),
        (Constant(value=5), {"value": 0}, "value is 0: it must be a finite number > 0"),
        (Constant(value=5), {"value": "5"}, "value is '5'"),
        (SIZE, {"high": 0.5}, "high is 0.5: it must be a finite number > 1"),
        (LogNormal(mean=1.0, sigma=1.0), {"sigma": 0.0}, "sigma is 0.0"),
        (LogUniform(low=1.0, high=2.0), {"low": 2.0}, "high is 2.0: it must be a finite number > 2"),
        (PARETO, {"shape": 1.0}, "shape is 1.0: without a maximum it must be > 1"),
        (PARETO, {"maximum": 5.0}, "maximum is 5.0: it must be a finite number > 5"),
        (DISCRETE, {"values": (1.0,)}, "values has 1 entries and probabilities 2"),
        (DISCRETE, {"probabilities": (0.5, 0.6)}, "the sum must be 1"),
        (DISCRETE, {"values": 5.0}, "values is 5.0: it must be a sequence"),
        (CDF, {"points": ((0.0, 0.0), (5.0, 1.0))}, "minimum is 0.0: it must be > 0"),
        (CDF, {"points": ((1.0, 0.0), (5.0, 0.5))}, "the last CDF point has probability 0.5"),
        (CDF, {"points": ((1.0, 0.5), (2.0, 0.4), (3.0, 1.0))}, "probability of CDF point 1 is 0.4"),
        (CDF, {"points": ((1.0, 0.5, 2.0), (3.0, 1.0))}, "it must be pairs"),
    ],
)
def test_a_bad_field_is_refused_by_name_and_value(base: Any, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        replace(base, **changes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("base", "changes", "load"),
    [
        (GATHER, {"load": 1.0, "burst_rate": None}, "1"),
        (GATHER, {"burst_rate": 42.0}, "1.008"),
        (POISSON, {"load": 1.2}, "1.2"),
        (POISSON, {"load": None, "rate": 2000.0, "busiest_share": 0.8}, "1.28"),
        (TASKS, {"load": 1.0}, "1"),
        (JOBS, {"load": 1.2}, "1.2"),
        (CLUSTERS, {"traffic": (SMALL, LARGE, replace(SMALL, load=1.0))}, "1"),
    ],
)
def test_an_unstable_load_warns_the_caller_however_it_is_given(base: Any, changes: dict[str, Any], load: str) -> None:
    with pytest.warns(UnstableLoadWarning, match=f"load is {re.escape(load)}: from 1 on it is unstable") as caught:
        type(base)(**{name: getattr(base, name) for name in base.__dataclass_fields__} | changes)
    assert caught[0].filename == __file__
    replace(GATHER, load=0.999, burst_rate=None)
