"""Holds configuration files to their schemas, and a user's own workloads to what reaches the environment."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gymnasium import spaces
from hydra import initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import ConfigCompositionException
from omegaconf.errors import OmegaConfBaseException

from benchmarks.agents import AGENTS, SUITE
from flowsched_gym.baselines.configuration import environment_defaults
from flowsched_gym.baselines.configuration.algorithm_schemas import PPOConfig
from flowsched_gym.baselines.configuration.environment_defaults import default_of, schema_name
from flowsched_gym.baselines.configuration.hydra_schemas import TrainConfig
from flowsched_gym.baselines.configuration.hydra_store import (
    environment_arguments,
    environment_schema,
    read_config,
    register_schemas,
)
from flowsched_gym.baselines.configuration.policy_schemas import SetwiseConfig, WeightsConfig
from flowsched_gym.baselines.evaluate import main
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import EvaluationResult, evaluate, read_result
from flowsched_gym.flows.metrics import METRIC_NAMES
from flowsched_gym.registration import agent_ability, find_environment, load_target
from flowsched_gym.workload import WORKLOADS, find_source
from tests.baselines.small_training import compose_words
from tests.envs.episodes import each_environment
from tests.processes import call
from tests.repository import ROOT


def composed(*overrides: str, name: str = "train", own: tuple[str, ...] = ("env.f=10",)) -> Any:
    """Composes a configuration as the command line does and reads it back; trainings have overrides of their own."""
    # The name of a run is made from Hydra's own choices, which are not there without a command line.
    named = ("run_name=test", *own) if name == "train" else ()
    return read_config(compose_words(name, *named, *overrides))


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / "configs" / group).glob("*.yaml"))


def test_the_defaults_are_a_training_of_ppo_on_artemis_and_commands_that_compare_know_experiments() -> None:
    config = composed()
    assert isinstance(config, TrainConfig)
    assert type(config.algorithm) is PPOConfig
    assert type(config.policy) is SetwiseConfig
    assert environment_arguments(config.env) == ("flowsched_gym:flowsched/Artemis-v0", {})
    logger = composed("logger=tensorboard").logger
    assert (logger.tensorboard, logger.csv, logger.wandb) == (True, False, False)
    contended = composed("experiment=contended", name="evaluate")
    assert (contended.env.workload, contended.env.k, contended.env.f) == ("gather-heavy", 3, 10)
    assert (contended.model, composed("model=[a.zip]", name="evaluate").model) == ([], ["a.zip"])
    with pytest.raises(ConfigError, match=r"env is 'mine'.*workload, policy and algorithm have no defaults"):
        default_of("mine", "workload")


def test_a_discrete_action_for_a_period_is_learned_without_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment_defaults, "_actions", lambda _: spaces.Discrete)
    assert (default_of("qcluster", "policy"), default_of("artemis", "policy")) == ("flat", "setwise")


@each_environment
def test_every_environment_has_a_schema_of_its_own_arguments_and_a_file_of_what_fits_it(spec) -> None:
    arguments: Any = dataclasses.fields(load_target(spec.config))
    schema: Any = dataclasses.fields(environment_schema(spec))
    assert [field.name for field in schema][1:] == [field.name for field in arguments]
    defaults, expected = ([getattr(f.default, "value", f.default) for f in each] for each in (schema[1:], arguments))
    assert defaults == expected

    name = schema_name(spec).removesuffix("_schema")
    config = composed(f"env={name}", own=())
    env_id, kwargs = environment_arguments(config.env)
    assert env_id.endswith(spec.id)
    assert kwargs.get("workload", config.env.workload) == spec.workloads[0]
    assert config.evaluation.metric == spec.metric
    assert config.evaluation.baselines
    assert set(config.evaluation.baselines) <= set(spec.heuristics)
    assert composed(f"env={name}", name="evaluate").metric == spec.metric


def test_a_short_training_has_fewer_episodes_and_some_algorithms_their_own_policy_and_decisions() -> None:
    assert [composed(f"total_timesteps={n}").evaluation.episodes for n in (8192, 99_999, 100_000)] == [10, 10, 20]
    assert composed("total_timesteps=8192", "evaluation.episodes=7").evaluation.episodes == 7
    slots, numbers = composed("algorithm=cmaes"), composed("env=tafe_thresholds", "algorithm=cmaes", own=())
    assert [type(each.policy) for each in (slots, numbers)] == [WeightsConfig, WeightsConfig]
    assert [each.decisions for each in (slots, numbers)] == [20_000_000, 40_000]
    assert [each.evaluation.interval for each in (slots, numbers)] == [2_000_000, 4_000]
    assert composed("total_timesteps=500000").evaluation.interval == 100_000
    distilled = composed("algorithm=distil")
    assert (type(distilled.policy), distilled.decisions) == (SetwiseConfig, 150_000)


def test_the_thesis_is_configured_as_it_says() -> None:
    config = composed("experiment=artemis_thesis", own=())

    algorithm, policy = config.algorithm, config.policy
    assert (algorithm.n_steps, algorithm.gamma, algorithm.gae_lambda) == (8, 0.99, 1.0)
    assert (policy.shared, policy.separate) == ([16], [])
    expected = {
        "workload": "artemis-thesis",
        "k": 10,
        "f": 5,
        "transport": "tcp-lossy-2018a",
        "observation": "paper",
        "reward": "lagged",
    }
    assert environment_arguments(config.env)[1] == expected
    assert (config.env.k, config.env.f) == (10, 5)


@pytest.mark.parametrize(
    "names", [[*WORKLOADS][::6], pytest.param([*WORKLOADS], marks=pytest.mark.exhaustive)], ids=len
)
def test_every_named_workload_reaches_the_environment(names: list[str]) -> None:
    for name in names:
        assert environment_arguments(composed(f"workload={name}").env)[1].get("workload", "gather-heavy") == name


def test_the_workloads_that_commands_offer_are_those_of_the_registry_and_files_that_say_more() -> None:
    register_schemas()
    with initialize_config_module("flowsched_gym.configs", version_base="1.3"):
        offered = GlobalHydra.instance().config_loader().get_group_options("workload")
    assert offered == sorted([*WORKLOADS, *options("workload")])
    assert set(options("workload")).isdisjoint(WORKLOADS)
    for file in options("workload"):
        assert len(environment_arguments(composed(f"workload={file}").env)[1]["workload"]["one_of"]) == 4


@pytest.mark.parametrize("file", options("experiment"))
def test_every_experiment_composes(file) -> None:
    config = composed(f"experiment={file}", own=())
    assert isinstance(config, TrainConfig)
    assert set(config.evaluation.baselines) <= set(find_environment(config.env.environment_id).heuristics)
    assert config.evaluation.metric in METRIC_NAMES


@pytest.mark.parametrize(("algorithm", "policy"), [("ddpg_auto", "auto"), ("sac", "thresholds"), ("td3", "flat")])
def test_the_thresholds_are_learned_by_other_algorithms_too(algorithm, policy) -> None:
    config = composed("experiment=auto_thresholds_clusters", f"algorithm={algorithm}", f"policy={policy}", own=())
    assert (config.algorithm.gamma, config.policy.start, config.env.clusters) == (0.0, "mismatched", 4)


@pytest.mark.parametrize("name", AGENTS)
def test_the_agents_of_the_leaderboard_are_trained_in_their_settings(name) -> None:
    config = composed(f"agent={name}", own=())
    environment, kwargs = environment_arguments(config.env)
    setting, _, agent = name.rpartition("-")
    assert config.evaluation.seed == SUITE.validation[0]
    assert (agent == "static") == (config.algorithm.name == "cmaes" and config.policy.constant)
    if setting.endswith("generalist"):
        assert len(kwargs["workload"]["one_of"]) == 4
        return
    wanted = SUITE.settings[setting].kwargs["workload"]
    if isinstance(wanted, dict):  # one may be written with lists, the other with names
        assert find_source(kwargs["workload"]) == find_source(wanted)
        kwargs["workload"] = wanted
    place = environment.removeprefix("flowsched_gym:")
    played: Any = SimpleNamespace(environment=place, kwargs=kwargs, source=None)
    assert SUITE.settings[setting].holds(played), (SUITE.settings[setting].kwargs, kwargs)
    assert config.evaluation.metric in (SUITE.settings[setting].metric, SUITE.settings[setting].spec.metric)
    ability = agent_ability(SUITE.settings[setting].spec, kwargs)
    assert SUITE.settings[setting].ability.covers(ability)


def test_unknown_keys_and_wrong_types_are_refused() -> None:
    rollouts = ("n_steps=8", "gae_lambda=0.9", "vf_coef=1", "max_grad_norm=1")
    unknown = ("env.tokens=3", "algorithm.lr=1", "policy.depth=2", "evaluation.episode=1", "sede=1", "workload.burst=2")
    for words in (*([each] for each in unknown), *(["algorithm=ddpg", f"algorithm.{each}"] for each in rollouts)):
        key = words[-1].partition("=")[0].rpartition(".")[2]
        with pytest.raises(ConfigCompositionException, match=f"Could not override '.*{key}'"):
            composed(*words)
    wrong = ("env.k=2.5", "env.defer=sometimes", "env.link_gbps=fast", "vectorization=threads")
    for override in (*wrong, "evaluation.baselines=edf"):
        with pytest.raises((ConfigCompositionException, OmegaConfBaseException, ConfigError)):
            composed(override)


def test_a_value_out_of_its_range_is_one_clear_line() -> None:
    for overrides, message in (
        ("algorithm.gamma=1.5", r"algorithm\.gamma is 1\.5.*\[0, 1\]"),
        ("algorithm.batch_size=1000", r"must divide num_envs \* n_steps"),
        ("policy.width=0", r"policy\.width is 0.*>= 1"),
        ("evaluation.episodes=0", r"evaluation\.episodes is 0"),
        ("checkpoints.keep=0", r"checkpoints\.keep is 0"),
        ("seed=-1", r"seed is -1"),
        ("resume=true overwrite=true", "either continued or thrown away"),
        ("logger.wandb_mode=loud", r"logger\.wandb_mode is 'loud'.*offline"),
        ("algorithm=sac policy=flat algorithm.ent_coef=much", r"ent_coef is 'much'.*auto"),
        ("algorithm=ddpg policy=flat algorithm.buffer_size=4", r"buffer_size is 4.*>= 16"),
        ("algorithm=ddpg policy=flat algorithm.action_sigma=-1", r"action_sigma is -1"),
        ("algorithm=td3 policy=flat algorithm.policy_delay=0", r"policy_delay is 0"),
        ("algorithm=reinforce policy=flat algorithm.baseline_rate=1.5", r"baseline_rate is 1\.5"),
        ("policy=flat policy.start=3", r"policy\.start is 3.*name of a heuristic"),
        ("policy=flat policy.start_std=0", r"policy\.start_std is 0.*> 0"),
        ("policy=flat policy.start_std=inf", r"policy\.start_std is inf.*finite"),
        ("policy=flat policy.start=[1,nan]", r"policy\.start is \[1, nan\].*finite numbers"),
        ("algorithm.learning_rate=inf", r"algorithm\.learning_rate is inf: it must be finite and >= 0"),
        ("algorithm.target_kl=-1", r"algorithm\.target_kl is -1\.0: it must be >= 0"),
        ("algorithm=sac policy=flat algorithm.ent_coef=inf", r"ent_coef is inf.*finite"),
        ("algorithm=cmaes policy=weights policy.width=-1", r"policy\.width is -1: it must be >= 0"),
        ("algorithm=ddpg policy=auto policy.critic=[]", r"policy\.critic is \[\]"),
        ("algorithm=ddpg policy=auto policy.actor=[0]", r"policy\.actor is \[0\]"),
    ):
        with pytest.raises(ConfigError, match=message) as error:
            composed(*overrides.split())
        assert "\n" not in str(error.value)


QUIET = ("progress_bar=false", "bound=false", "policies=[edf]", "episodes=1", "hydra.run.dir=out")
MIX = "mix: [{size_kb: 700, deadline_ms: 40, count: 2}]\n"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts this process beside an empty folder of workload files; returns that."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "own" / "workload"
    folder.mkdir(parents=True)
    return folder


def compare(*words: str) -> int:
    return call("flowsched-evaluate", main, "--config-dir", "own", *words)


def played(own: Path, content: str, *words: str) -> EvaluationResult:
    """Plays a rule on the workload of a file."""
    (own / "mine.yaml").write_text(content)
    assert compare(*QUIET, "workload=mine", *words) == 0
    [path] = Path().glob("out/results/*.json")
    return read_result(path.rename(own / "played.json"))


def test_a_mix_of_ones_own_under_the_name_of_the_package_is_played(own: Path) -> None:
    result = played(own, f"name: gather-heavy\n{MIX}bursts: 3\n")
    assert result.values("num_flows").tolist() == [6.0]
    mix = [{"size": 700_000.0, "deadline": 0.04, "count": 2}]
    assert result.kwargs["workload"] == {"name": "gather-heavy", "mix": mix, "num_bursts": 3}
    again = evaluate("flowsched/Artemis-v0", "edf", episodes=1, seed=10_000, kwargs=result.kwargs)
    assert repr(again.episodes) == repr(result.episodes)


def test_a_file_may_have_several_workloads_of_which_each_episode_has_one(own: Path) -> None:
    (own / "sizes.csv").write_text("size_bytes,cdf\n1000,0\n3000,1\n")
    several = "[{base: gather-heavy, bursts: 3}, {kind: poisson, size: sizes.csv, load: 0.5, flows: 7}]"
    result = played(own, f"one_of: {several}\nweights: [1, 2]\n", "episodes=5")
    assert set(result.values("num_flows").tolist()) == {30.0, 7.0}
    assert result.kwargs["workload"]["name"] == "mine"
    again = evaluate("flowsched/Artemis-v0", "edf", episodes=5, seed=10_000, kwargs=result.kwargs)
    assert repr(again.episodes) == repr(result.episodes)


def test_arguments_of_the_environment_stay_its_own_and_others_change_the_workload(own: Path) -> None:
    result = played(own, "name: gather-heavy\nload: 0.5\nbursts: 3\n")
    expected = {"load": 0.5, "bursts": 3, "observation": "full"}
    assert {**result.kwargs, "observation": "full"} == expected
    assert played(own, "name: poisson-exponential\nflows: 7\n").values("num_flows").tolist() == [7.0]


def test_null_takes_away_what_the_base_has_and_leaves_the_arguments_of_environments(own: Path) -> None:
    whole = "base: poisson-fat-tree-failures\nfailures: null\nload: null\nflows: 5\n"
    result = played(own, whole, "env=merp_route", "policies=[ecmp]")
    assert result.kwargs["workload"]["failures"] is None
    assert "load" not in result.kwargs["workload"]


def test_what_cannot_be_honoured_is_refused_in_one_line_without_advice_to_add_it(own: Path, capsys) -> None:
    based = f"base: gather-a1\n{MIX}"
    for name, content, words, message in (
        ("mine", f"name: mine\nkind: gather\n{MIX}", (), "mine.yaml: workload 'mine': exactly one of burst_rate"),
        ("mine", "base: gather-a1\nmxi: null\n", (), "mine.yaml: workload 'mine' has no field 'mxi' (did you mean"),
        ("gather-heavy", f"name: gather-heavy\n{MIX}", (), "is not read: workload=gather-heavy is one of the package"),
        ("mine", based, ("workload=mien",), "workload is 'mien': it must be one of artemis-applications"),
        ("mine", based, ("workload.loads=3",), "workload has no key 'loads': it has base, mix"),
        ("mine", based, ("env.rewrd=3",), "env has no key 'rewrd': it has"),
        ("mine", based, ("worklod=mine",), "(did you mean 'workload'?)"),
        ("mine", based, ("+epsodes=3",), "'epsodes' (did you mean 'episodes'?)"),
        ("mine", based, ("env.k=abc",), "env.k=abc: Value 'abc'"),
        ("mine", based, ("env.k=[",), "'env.k=[' is no override key=value: "),
    ):
        path = own / f"{name}.yaml"
        path.write_text(content)
        assert compare(*QUIET, f"workload={name}", *words) == 2
        err = capsys.readouterr().err.strip()
        assert (message in err, "\n" in err, "To append" in err) == (True, False, False), err
        assert not list(Path().glob("out/results/*"))
        path.unlink()


@pytest.mark.parametrize("choice", ["override /launcher: joblib", "override /hydra/launcher: joblib"])
def test_an_experiment_may_choose_a_launcher(choice, tmp_path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(
        f"# @package _global_\ndefaults:\n  - {choice}\nhydra:\n  launcher:\n    n_jobs: 3\ntotal_timesteps: 4096\n"
    )
    words = (f"hydra.searchpath=[file://{tmp_path}]", "experiment=mine")
    for command in ("train", "tune"):
        composed = compose_words(command, *words, return_hydra_config=True)
        assert composed.hydra.launcher._target_.endswith("JoblibLauncher")
        assert (composed.hydra.launcher.n_jobs, composed.total_timesteps) == (3, 4096)


def test_ray_starts_on_this_machine_whatever_cluster_was_here_before() -> None:
    composed = compose_words("train", "launcher=ray", return_hydra_config=True)
    assert composed.hydra.launcher.ray.init.address == "local"
