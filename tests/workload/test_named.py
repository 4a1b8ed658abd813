"""Goes through the registry of named workloads, and through what may be overridden."""

import math

import pytest

from flowsched_gym.errors import ConfigError, WorkloadError
from flowsched_gym.workload import (
    ARTEMIS_A1,
    ARTEMIS_A2,
    WORKLOADS,
    Constant,
    Discrete,
    Exponential,
    FixedWorkload,
    GatherWorkload,
    Mix,
    Pareto,
    PoissonWorkload,
    Uniform,
    WorkloadSource,
    draw_flows,
    first_flows,
    load_cdf,
    make_workload,
)

each_name = pytest.mark.parametrize("name", list(WORKLOADS))


@each_name
def test_every_named_workload_draws_a_stable_load(name: str) -> None:
    config = make_workload(name)

    workload = config.draw(3)

    assert isinstance(config, WorkloadSource)
    assert workload.num_flows >= 1000
    assert workload.num_hosts <= config.num_hosts
    assert 0.2 <= config.offered_load < 1


@each_name
def test_every_named_workload_has_a_description_of_one_line(name: str) -> None:
    description = WORKLOADS[name].description

    assert WORKLOADS[name].name == name
    assert 10 < len(description) <= 110
    assert "\n" not in description


def test_the_workloads_of_the_thesis_are_there() -> None:
    assert make_workload("gather-a1") == GatherWorkload(mix=ARTEMIS_A1, burst_rate=10.0, num_bursts=100)
    assert make_workload("gather-a2") == GatherWorkload(mix=ARTEMIS_A2, burst_rate=10.0, num_bursts=100)
    assert make_workload("gather-heavy") == GatherWorkload(mix=ARTEMIS_A1, burst_rate=30.0, num_bursts=100)


def test_a_load_takes_the_place_of_the_burst_rate_and_the_other_way_round() -> None:
    config = make_workload("gather-a1", load=0.5)
    assert isinstance(config, GatherWorkload)
    assert (config.load, config.burst_rate) == (0.5, None)

    config = make_workload("gather-a1-load", burst_rate=12.0, duration=3.0)
    assert isinstance(config, GatherWorkload)
    assert (config.load, config.burst_rate) == (None, 12.0)
    assert (config.num_bursts, config.duration) == (None, 3.0)

    config = make_workload("poisson-exponential", rate=7.0, duration=2.0)
    assert isinstance(config, PoissonWorkload)
    assert (config.load, config.rate, config.num_flows, config.duration) == (None, 7.0, None, 2.0)


def test_an_override_of_none_leaves_the_field_as_it_is() -> None:
    assert make_workload("gather-a1", load=None, burst_rate=None, mix=None) == make_workload("gather-a1")


def test_sizes_replace_a_mix_and_a_mix_replaces_sizes() -> None:
    sizes = make_workload("gather-a1", size=2e5, deadline=0.03, flows_per_burst=4)
    assert isinstance(sizes, GatherWorkload)
    assert sizes.mix is None
    assert set(sizes.draw(0).size) == {2e5}

    mix = make_workload("gather-uniform", mix=[[1e5, 0.02, 3], [2e5, math.inf, 1]])
    assert isinstance(mix, GatherWorkload)
    assert mix.mix == Mix(pairs=((1e5, 0.02), (2e5, math.inf)), counts=(3, 1))
    assert (mix.size, mix.deadline, mix.burst_size) == (None, None, 4)


@pytest.mark.parametrize(
    ("plain", "distribution"),
    [
        (5, Constant(value=5.0)),
        ("web_search", load_cdf("web_search")),
        ({"kind": "cdf", "name": "w3", "minimum": 100}, load_cdf("w3", minimum=100)),
        ({"kind": "exponential", "mean": 1e5}, Exponential(mean=1e5)),
        ({"kind": "uniform", "low": 1, "high": 2}, Uniform(low=1, high=2)),
        ({"kind": "pareto", "shape": 1.2, "mean": 5, "maximum": 80}, Pareto(shape=1.2, mean=5, maximum=80)),
        (
            {"kind": "discrete", "values": [1, 2], "probabilities": [0.5, 0.5]},
            Discrete(values=(1, 2), probabilities=(0.5, 0.5)),
        ),
        (Exponential(mean=3), Exponential(mean=3)),
    ],
)
def test_distributions_may_be_plain_values(plain, distribution) -> None:
    config = make_workload("poisson-exponential", size=plain)

    assert config.size == distribution


def test_a_distribution_may_be_a_cdf_file(tmp_path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("size_bytes,cdf\n1000,0\n3000,1\n")

    assert make_workload("poisson-exponential", size=str(path)).size.mean == 2000.0


@pytest.mark.parametrize(
    ("name", "overrides", "messages"),
    [
        ("gather-a3", {}, ["workload 'gather-a3' does not exist (did you mean 'gather-a", "there are gather-a1, "]),
        (7, {}, ["workload 7 does not exist"]),
        ("gather-a1", {"bursts": 5}, ["workload 'gather-a1' has no field 'bursts'", "it has pattern, mix, size"]),
        ("gather-a1", {"brust_rate": 5}, ["did you mean 'burst_rate'?"]),
        ("gather-a1", {"brust_rate": None}, ["has no field 'brust_rate'"]),
        ("gather-a1", {"rate": 5.0}, ["has no field 'rate'"]),
        ("poisson-exponential", {"burst_rate": 5.0}, ["has no field 'burst_rate'"]),
        ("gather-a1", {"burst_rate": "ten"}, ["burst_rate is 'ten': it must be a finite number > 0"]),
        ("gather-a1", {"burst_rate": 5.0, "load": 0.5}, ["exactly one of burst_rate and load"]),
        ("gather-a1", {"num_bursts": 2.5}, ["num_bursts is 2.5: it must be an integer"]),
        ("gather-a1", {"size": [1, 2]}, ["size is [1, 2]: it must be a distribution, a number, the name"]),
        ("gather-a1", {"size": "websearch"}, ["size: size distribution 'websearch' does not exist: there are"]),
        ("gather-a1", {"size": {"kind": "gamma"}}, ["size: kind is 'gamma': it must be one of constant, discrete"]),
        ("gather-a1", {"size": {"mean": 3}}, ["size: kind is None"]),
        ("gather-a1", {"size": {"kind": "uniform", "low": 1}}, ["size: kind 'uniform' does not take", "high"]),
        ("gather-a1", {"size": {"kind": "uniform", "low": 2, "high": 1}}, ["size: high is 1: it must be a finite"]),
        ("gather-a1", {"mix": [[1e5, 0.02]]}, ["mix is [[100000.0, 0.02]]: it must be a Mix or a sequence of triples"]),
        ("gather-a1", {"mix": [[1e5, -0.02, 1]]}, ["mix: deadline of a pair is -0.02"]),
        ("gather-a1", {"mix": "a2"}, ["mix is 'a2': it must be a Mix"]),
    ],
)
def test_bad_names_and_fields_are_refused_with_what_is_allowed(name, overrides, messages: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        make_workload(name, **overrides)

    for message in messages:
        assert message in str(error.value)


@each_name
def test_exactly_the_first_flows_of_the_draw_are_taken(name: str) -> None:
    config = make_workload(name)

    flows = draw_flows(config, num_flows=37, seed=5)

    assert flows.num_flows == 37
    assert flows.size.tolist() == config.draw(5).size[:37].tolist()
    assert flows.arrival_time.tolist() == config.draw(5).arrival_time[:37].tolist()


def test_more_flows_than_there_are_cannot_be_cut_off() -> None:
    workload = make_workload("gather-a1").draw(0)

    assert first_flows(workload, 0).num_flows == 0
    with pytest.raises(WorkloadError, match="1001 flows are wanted of a workload that has 1000"):
        first_flows(workload, 1001)


def test_a_fixed_workload_gives_the_same_flows_for_every_seed() -> None:
    workload = make_workload("gather-a1").draw(0)
    fixed = FixedWorkload(workload=workload)

    assert isinstance(fixed, WorkloadSource)
    assert fixed.draw(1) is fixed.draw(2) is workload
    assert fixed.num_hosts == 11
