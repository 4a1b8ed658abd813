"""Holds the compiled draw of workloads to the draw in NumPy, bit by bit, over many seeds and many workloads."""

import math
import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsched_gym.model.rules.draws import MOST_COLUMNS, SCRATCH_LENGTH, DrawPlan, draw_episode, quantile
from flowsched_gym.workload import (
    ARTEMIS_A1,
    WORKLOADS,
    ClusterWorkload,
    Constant,
    Discrete,
    Distribution,
    Empirical,
    Exponential,
    FixedWorkload,
    GatherWorkload,
    LogNormal,
    Mix,
    Pareto,
    PoissonWorkload,
    RandomFailures,
    Uniform,
    compiled,
    load_cdf,
    make_workload,
)
from flowsched_gym.workload.compiled import draw_plan

COLUMNS = ("arrival_time", "size", "deadline_span", "source", "destination", "task_id")

AMPLE = 1e300
"""Capacity in B/s at which no workload warns of its load."""

FIRST = 3
"""First row that is written, so that a draw that begins at row 0 anyway is seen."""

EDGE_SEEDS = (0, 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**53 + 1, 2**63 - 2, 2**63 - 1)

SCRATCH = np.empty(SCRATCH_LENGTH, dtype=np.int64)

A1 = GatherWorkload(mix=ARTEMIS_A1, burst_rate=10.0, num_bursts=40)
SINGLE = PoissonWorkload(size=Constant(value=1e5), rate=100.0, num_flows=50)


def empty_columns(num_rows: int) -> list[np.ndarray]:
    return [np.full(num_rows, -7, dtype=np.float64 if place < 3 else np.int64) for place in range(len(COLUMNS))]


def assert_same_draw(plan: DrawPlan, source: GatherWorkload | PoissonWorkload, seed: int) -> None:
    drawn = source.draw(seed)
    columns = empty_columns(FIRST + drawn.num_flows + 2)

    assert draw_episode(seed, plan, FIRST, drawn.num_flows, *columns, SCRATCH) == drawn.num_flows
    for name, column in zip(COLUMNS, columns, strict=True):
        np.testing.assert_array_equal(column[FIRST:-2], getattr(drawn, name), strict=True, err_msg=name)
        assert set(column[:FIRST]) | set(column[-2:]) == {-7}
    assert drawn.flow_id.tolist() == list(range(drawn.num_flows))


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, allow_subnormal=False)


@st.composite
def empiricals(draw: st.DrawFn) -> Empirical:
    steps = draw(st.lists(st.tuples(numbers(0, 1e6), st.integers(0, 9)), min_size=1, max_size=12))
    steps.append((draw(numbers(0, 1e6)), 1))
    values, weights = np.cumsum(steps, axis=0).T
    first = draw(st.sampled_from([0.0, 0.25]))
    probabilities = first + (1 - first) * (weights - weights[0]) / (weights[-1] - weights[0])
    return Empirical(points=tuple(zip(values, probabilities, strict=True)), minimum=draw(numbers(1, 1e6)))


@st.composite
def discretes(draw: st.DrawFn) -> Discrete:
    weights = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any))
    values = draw(st.lists(numbers(1e-3, 1e6), min_size=len(weights), max_size=len(weights)))
    return Discrete(values=tuple(values), probabilities=tuple(weight / sum(weights) for weight in weights))


def distributions() -> st.SearchStrategy[Distribution]:
    return st.one_of(
        st.builds(Constant, value=numbers(1e-3, 1e6) | st.integers(1, 10**6)),
        st.builds(
            Uniform, low=numbers(1e-3, 1e3) | st.integers(1, 9), high=numbers(2e3, 1e7) | st.integers(2000, 2**60)
        ),
        st.builds(Exponential, mean=numbers(1e-3, 1e7)),
        discretes(),
        empiricals(),
    )


@st.composite
def mixes(draw: st.DrawFn) -> Mix:
    pairs = draw(st.lists(st.tuples(numbers(1, 1e6), numbers(1e-3, 1) | st.just(math.inf)), min_size=1, max_size=4))
    counts = tuple(draw(st.lists(st.integers(0, 4), min_size=len(pairs), max_size=len(pairs)).filter(any)))
    return Mix(pairs=tuple(pairs), **{draw(st.sampled_from(["counts", "weights"])): counts})


@st.composite
def gathers(draw: st.DrawFn) -> GatherWorkload:
    fields: dict[str, object] = {"flows_per_burst": draw(st.integers(1, 12))}
    if draw(st.booleans()):
        fields["mix"] = mix = draw(mixes())
        fields["flows_per_burst"] = mix.flows_per_burst or fields["flows_per_burst"]
    else:
        fields |= {"size": draw(distributions()), "deadline": draw(st.none() | distributions())}
    spare = draw(st.sampled_from([None, 0, 1, 30]))
    return GatherWorkload(
        **fields,
        **draw(st.sampled_from([{"num_bursts": 1}, {"num_bursts": 17}, {"duration": 0.01}, {"duration": 2.0}])),
        pattern=draw(st.sampled_from(["gather", "scatter"])),
        burst_rate=draw(numbers(0.1, 20)),
        capacity=AMPLE,
        num_destinations=draw(st.sampled_from([1, 2, 3, 8])),
        num_senders=None if spare is None else fields["flows_per_burst"] + spare,
        shuffle=draw(st.booleans()),
        request_jitter=draw(st.sampled_from([0.0, 1e-4, 3])),
    )


@st.composite
def poissons(draw: st.DrawFn) -> PoissonWorkload:
    return PoissonWorkload(
        size=draw(distributions()),
        deadline=draw(st.none() | distributions()),
        rate=draw(numbers(0.1, 20)),
        capacity=AMPLE,
        **draw(st.sampled_from([{"num_flows": 1}, {"num_flows": 60}, {"duration": 0.01}, {"duration": 5}])),
        pattern=draw(st.sampled_from(["pair", "all-to-all"])),
        busiest_share=draw(st.sampled_from([None, 0.3])),
        num_hosts=draw(st.sampled_from([2, 3, 16, 2**32 - 1])),
    )


def is_drawn_by_numpy(name: str) -> bool:
    """Tells whether a workload has MERP's sizes, which are Pareto, or clusters: there is no plan for either."""
    config = WORKLOADS[name].config
    return isinstance(config, ClusterWorkload) or isinstance(config.size, Pareto)


@pytest.mark.parametrize("name", [name for name in WORKLOADS if not is_drawn_by_numpy(name)])
def test_every_other_named_workload_is_drawn_bit_for_bit(name: str) -> None:
    source = make_workload(name)
    plan = draw_plan(source)

    for seed in (*EDGE_SEEDS, *range(2, 400)):
        assert_same_draw(plan, source, seed)


def test_thousands_of_seeds_are_drawn_bit_for_bit() -> None:
    source = make_workload("gather-multi", num_bursts=20, request_jitter=1e-4)
    plan = draw_plan(source)

    for seed in np.random.default_rng(1).integers(2**63, size=5_000).tolist():
        assert_same_draw(plan, source, seed)


@settings(max_examples=300)
@given(source=gathers() | poissons(), seeds=st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4))
def test_any_workload_with_a_plan_is_drawn_bit_for_bit(
    source: GatherWorkload | PoissonWorkload, seeds: list[int]
) -> None:
    plan = draw_plan(source)

    for seed in seeds:
        assert_same_draw(plan, source, seed)


@pytest.mark.parametrize(
    "source",
    [
        replace(A1, num_senders=MOST_COLUMNS),
        replace(A1, mix=Mix(pairs=((1e3, 1.0), (2e3, 2.0)), counts=(MOST_COLUMNS - 9, 9)), request_jitter=0.01),
        replace(A1, mix=Mix(pairs=((1e3, 1.0), (2e3, 2.0)), counts=(700, 9)), shuffle=False, burst_rate=1.0),
        replace(A1, num_bursts=None, duration=1e-9),
        replace(SINGLE, size=load_cdf("w3"), num_flows=None, duration=20.0),
    ],
    ids=["many senders", "large bursts", "very large bursts in order", "no burst", "measured sizes for a while"],
)
def test_workloads_at_the_limits_are_drawn_bit_for_bit(source: GatherWorkload | PoissonWorkload) -> None:
    plan = draw_plan(source)

    for seed in EDGE_SEEDS:
        assert_same_draw(plan, source, seed)


def test_a_burst_at_the_very_end_of_the_duration_is_no_more_part_of_it() -> None:
    arrivals = np.unique(A1.draw(6).arrival_time)
    source = replace(A1, num_bursts=None, duration=float(arrivals[5]))

    assert draw_episode(6, draw_plan(source), 0, 100, *empty_columns(100), SCRATCH) == 50
    assert_same_draw(draw_plan(source), source, 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Stands for a generator and gives these numbers."""

    uniform: np.ndarray

    def random(self, count: int) -> np.ndarray:
        return self.uniform[:count]


@given(distribution=discretes() | empiricals())
def test_random_numbers_that_fall_on_a_bound_are_taken_as_numpy_takes_them(distribution: Discrete | Empirical) -> None:
    quantity = draw_plan(replace(SINGLE, size=distribution, capacity=AMPLE)).size
    bounds = quantity.bounds[quantity.bounds < 1]
    uniform = np.concatenate([bounds, np.nextafter(bounds[bounds > 0], 0), np.nextafter(bounds, 1), [0.0, 1 - 2**-53]])

    values = [quantile(quantity, probability) for probability in uniform]
    assert values == distribution.sample(Given(uniform=uniform), len(uniform)).tolist()


def test_a_draw_that_does_not_fit_says_how_many_rows_it_needs_and_writes_none() -> None:
    source = make_workload("gather-a1", duration=5.0)
    plan = draw_plan(source)
    needed = source.draw(4).num_flows
    columns = empty_columns(2 * needed)

    assert draw_episode(4, plan, 0, needed - 1, *columns, SCRATCH) == -needed
    assert all(set(column) == {-7} for column in columns)
    assert draw_episode(4, plan, 0, needed, *columns, SCRATCH) == needed


def test_all_plans_have_one_compiled_type_copies_included() -> None:
    plans = [draw_plan(source) for source in (A1, replace(A1, num_bursts=None, duration=1.0), SINGLE)]

    for plan in [*plans, *pickle.loads(pickle.dumps(plans))]:
        draw_episode(1, plan, 0, 0, *empty_columns(0), SCRATCH)
    # Other tests may have had it compiled for other types of the other arguments.
    assert len({signature[1] for signature in draw_episode.signatures}) == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubled(Uniform):
    """Draws other numbers than its base class."""

    def sample(self, rng: np.random.Generator, count: int) -> np.ndarray:
        return 2 * Uniform.sample(self, rng, count)


@pytest.mark.parametrize(
    "source",
    [
        replace(SINGLE, size=LogNormal(mean=1e5, sigma=1.0)),
        replace(SINGLE, deadline=Pareto(shape=1.5, mean=0.1)),
        replace(SINGLE, size=Doubled(low=1.0, high=2.0)),
        replace(SINGLE, failures=RandomFailures(cables=((0, 1),), count=1)),
        *(make_workload(name) for name in WORKLOADS if is_drawn_by_numpy(name)),
        replace(SINGLE, size=Exponential(mean=1e-250)),
        replace(SINGLE, size=Empirical(points=((1.0, 0.0), (1e300, 1e-300), (2e300, 1.0))), capacity=1e303),
        replace(SINGLE, num_hosts=2**32, pattern="all-to-all"),
        replace(SINGLE, num_flows=2**41),
        replace(A1, num_bursts=None, duration=1e13),
        replace(A1, burst_rate=1e-250),
        replace(A1, num_senders=MOST_COLUMNS + 1),
        replace(A1, mix=Mix(pairs=((1e3, 1.0),), counts=(MOST_COLUMNS + 1,))),
        FixedWorkload(workload=A1.draw(0)),
    ],
    ids=[
        "log-normal", "Pareto", "a class derived", "failures", *filter(is_drawn_by_numpy, WORKLOADS),
        "tiny sizes", "too steep", "too many hosts", "too many flows",
        "too long", "too slow", "too many senders", "too large bursts", "fixed flows",
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_bit_for_bit_has_no_plan(source: object) -> None:
    assert draw_plan(source) is None


def test_there_is_no_plan_where_the_compiled_code_rounds_differently(monkeypatch: pytest.MonkeyPatch) -> None:
    assert draw_plan(SINGLE) is not None

    def draw_with_an_error(*arguments: object) -> int:
        num_flows = draw_episode(*arguments)
        size = arguments[5]
        largest = np.argmax(size)
        size[largest] = np.nextafter(size[largest], np.inf)
        return num_flows

    monkeypatch.setattr(compiled, "draw_episode", draw_with_an_error)
    assert draw_plan(SINGLE) is None
