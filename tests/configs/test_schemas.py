"""Holds the configuration files to their schemas: what is not declared is refused, what is declared arrives."""

import dataclasses
from types import SimpleNamespace
from typing import Any, Final

import pytest
from gymnasium import spaces
from hydra import compose, initialize_config_module
from hydra.errors import ConfigCompositionException
from omegaconf.errors import OmegaConfBaseException

from benchmarks.agents import AGENTS, SUITE
from flowsched_gym.baselines.configuration import environment_defaults
from flowsched_gym.baselines.configuration.algorithm_schemas import (
    A2CConfig,
    CmaEsConfig,
    DDPGConfig,
    MaskablePPOConfig,
    PPOConfig,
    ReinforceConfig,
    SACConfig,
    TD3Config,
    ThesisA2CConfig,
)
from flowsched_gym.baselines.configuration.environment_defaults import default_of
from flowsched_gym.baselines.configuration.hydra_schemas import TrainConfig
from flowsched_gym.baselines.configuration.hydra_store import (
    environment_arguments,
    environment_schema,
    read_config,
    register_schemas,
    schema_name,
)
from flowsched_gym.baselines.configuration.policy_schemas import (
    AutoConfig,
    FlatConfig,
    PathwiseConfig,
    SetwiseConfig,
    WeightsConfig,
)
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.flows.metrics import METRIC_NAMES
from flowsched_gym.registration import SYSTEMS, find_environment, load_target
from flowsched_gym.workload import WORKLOADS
from tests.repository import ROOT

CONFIGS: Final = ROOT / "configs"
ENVIRONMENTS: Final = [environment for system in SYSTEMS for environment in system.environments]
NAMED: Final = "run_name=test"
"""The name of a run is made from Hydra's own choices, which are not there without a command line."""


def composed(*overrides: str, name: str = "train", own: tuple[str, ...] = ("env.f=10",)) -> Any:
    """Composes a configuration as the command line does and reads it back; trainings have overrides of their own."""
    register_schemas()
    named = [NAMED, *own] if name == "train" else []
    with initialize_config_module("flowsched_gym.configs", version_base="1.3"):
        return read_config(compose(name, overrides=[*named, *overrides]))


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (CONFIGS / group).glob("*.yaml"))


def test_the_defaults_are_a_training_of_ppo_on_artemis_and_commands_that_compare_know_experiments() -> None:
    config = composed()
    assert isinstance(config, TrainConfig)
    assert type(config.algorithm) is PPOConfig
    assert type(config.policy) is SetwiseConfig
    assert environment_arguments(config.env) == ("flowsched_gym:flowsched/Artemis-v0", {"f": 10})
    logger = composed("logger=tensorboard").logger
    assert (logger.tensorboard, logger.csv, logger.wandb) == (True, False, False)
    for name, model in (("heuristics", []), ("evaluate", ["model=[a.zip]"])):
        contended = composed("experiment=contended", *model, name=name)
        assert environment_arguments(contended.env)[1] == {"workload": "gather-heavy", "k": 3, "f": 10}
    with pytest.raises(ConfigError, match="model is empty"):
        composed(name="evaluate")
    with pytest.raises(ConfigError, match=r"env is 'mine'.*workload, policy and algorithm have no defaults"):
        default_of("mine", "workload")


def test_a_discrete_action_for_a_period_is_learned_without_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment_defaults, "_actions", lambda _: spaces.Discrete)
    assert (default_of("qcluster", "policy"), default_of("artemis", "policy")) == ("flat", "setwise")


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: environment.id)
def test_every_environment_has_a_file_and_a_schema_with_its_own_arguments_and_defaults(environment) -> None:
    config: Any = load_target(environment.config)
    schema: Any = environment_schema(environment)
    name = schema_name(environment).removesuffix("_schema")

    assert name in options("env")
    assert [field.name for field in dataclasses.fields(schema)][1:] == [f.name for f in dataclasses.fields(config)]
    defaults = {f.name: getattr(f.default, "value", f.default) for f in dataclasses.fields(schema)}
    assert {f.name: defaults[f.name] for f in dataclasses.fields(config)} == {
        f.name: getattr(f.default, "value", f.default) for f in dataclasses.fields(config)
    }


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: environment.id)
def test_every_environment_brings_defaults_that_fit_it(environment) -> None:
    name = schema_name(environment).removesuffix("_schema")
    config = composed(f"env={name}", own=())
    env_id, kwargs = environment_arguments(config.env)
    assert env_id.endswith(environment.id)
    assert kwargs.get("workload", config.env.workload) == environment.workloads[0]
    assert config.evaluation.metric == environment.metric
    assert config.evaluation.baselines
    assert set(config.evaluation.baselines) <= set(environment.heuristics)
    assert composed(f"env={name}", name="heuristics").metric == environment.metric


def test_a_short_training_is_compared_on_fewer_episodes() -> None:
    assert [composed(f"total_timesteps={n}").evaluation.episodes for n in (8192, 99_999, 100_000)] == [10, 10, 20]
    assert composed("total_timesteps=8192", "evaluation.episodes=7").evaluation.episodes == 7


@pytest.mark.parametrize(
    ("algorithm", "policy"),
    [*((name, "flat") for name in options("algorithm")), *(("ppo", name) for name in options("policy"))],
)
def test_every_algorithm_and_every_network_is_read_by_its_schema(algorithm, policy) -> None:
    config = composed(f"algorithm={algorithm}", f"policy={policy}")
    known = {"a2c": A2CConfig, "a2c_thesis": ThesisA2CConfig, "ddpg": DDPGConfig, "ddpg_auto": DDPGConfig}
    known |= {"maskable_ppo": MaskablePPOConfig, "ppo": PPOConfig, "ppo_auto": PPOConfig, "sac": SACConfig}
    known |= {"cmaes": CmaEsConfig, "reinforce": ReinforceConfig, "td3": TD3Config}
    policies = {"auto": AutoConfig, "pathwise": PathwiseConfig, "setwise": SetwiseConfig, "weights": WeightsConfig}
    assert type(config.algorithm) is known[algorithm]
    assert type(config.policy) is policies.get(policy, FlatConfig)


def test_evolution_takes_its_own_policy_and_as_many_decisions_as_the_environment_wants() -> None:
    slots, numbers = composed("algorithm=cmaes"), composed("env=tafe_thresholds", "algorithm=cmaes", own=())
    assert [type(each.policy) for each in (slots, numbers)] == [WeightsConfig, WeightsConfig]
    assert [each.decisions for each in (slots, numbers)] == [20_000_000, 40_000]
    assert [each.evaluation.interval for each in (slots, numbers)] == [2_000_000, 4_000]
    assert composed("total_timesteps=500000").evaluation.interval == 100_000


def test_the_thesis_is_configured_as_it_says() -> None:
    config = composed("experiment=thesis")

    algorithm, policy = config.algorithm, config.policy
    assert (algorithm.n_steps, algorithm.gamma, algorithm.gae_lambda) == (8, 0.99, 1.0)
    assert (policy.shared, policy.separate) == ([16], [])
    expected = {"f": 10, "transport": "tcp", "observation": "paper", "reward": "lagged"}
    assert environment_arguments(config.env)[1] == expected
    assert (config.env.k, config.workload["name"]) == (10, "gather-a1")


@pytest.mark.parametrize(
    "names", [[*WORKLOADS][::6], pytest.param([*WORKLOADS], marks=pytest.mark.exhaustive)], ids=len
)
def test_every_named_workload_reaches_the_environment(names: list[str]) -> None:
    for name in names:
        assert environment_arguments(composed(f"workload={name}").env)[1].get("workload", "gather-a1") == name


@pytest.mark.parametrize("file", [*options("experiment")])
def test_every_experiment_composes(file) -> None:
    config = composed(f"experiment={file}", own=())
    env_id = environment_arguments(config.env)[0]
    assert isinstance(config, TrainConfig)
    assert set(config.evaluation.baselines) <= set(find_environment(env_id).heuristics)
    assert config.evaluation.metric in METRIC_NAMES


@pytest.mark.parametrize("choice", [("ddpg_auto", "auto"), ("sac", "thresholds"), ("td3", "flat")])
def test_the_thresholds_are_learned_by_other_algorithms_too(choice) -> None:
    algorithm, policy = choice
    config = composed("experiment=auto_thresholds_clusters", f"algorithm={algorithm}", f"policy={policy}", own=())
    assert (config.algorithm.gamma, config.policy.start, config.env.clusters) == (0.0, "mismatched", 4)


@pytest.mark.parametrize(("setting", "agent"), AGENTS)
def test_the_agents_of_the_leaderboard_are_trained_in_their_settings(setting, agent) -> None:
    config = composed(*AGENTS[setting, agent].split(), own=())
    environment, kwargs = environment_arguments(config.env)
    played = SimpleNamespace(environment=environment.removeprefix("flowsched_gym:"), kwargs=kwargs)

    assert SUITE.settings[setting].holds(played), (SUITE.settings[setting].kwargs, kwargs)  # type: ignore[arg-type]
    assert config.evaluation.metric in (None, SUITE.settings[setting].metric)


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
        ("algorithm=ddpg policy=auto policy.critic=[]", r"policy\.critic is \[\]"),
        ("algorithm=ddpg policy=auto policy.actor=[0]", r"policy\.actor is \[0\]"),
    ):
        with pytest.raises(ConfigError, match=message) as error:
            composed(*overrides.split())
        assert "\n" not in str(error.value)


def test_every_file_says_what_it_is_for() -> None:
    for path in sorted(CONFIGS.rglob("*.yaml")):
        comments = [line for line in path.read_text(encoding="utf-8").splitlines()[:2] if line.startswith("# ")]
        assert [line for line in comments if not line.startswith("# @package")], path
