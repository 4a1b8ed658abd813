"""Trains the set-wise policy by RLlib's PPO, with environment runners on the nodes of a Ray cluster.

Each runner steps a native vector environment. A runner whose node is lost is started again where a CPU is free, and the
training goes on meanwhile with those that are left. At the end the network becomes a model that `flowsched evaluate`
plays. RLlib 2.60 wants Gymnasium 1.2.2: `make rllib` makes an environment of its own for it, `.venv-rllib`::

    python -m flowsched_gym.baselines.ppo_on_rllib --iterations 40 --runners 2 --out rllib.zip
    python -m flowsched_gym.baselines.ppo_on_rllib --address HOST:6379 --runners 32
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, Final

import gymnasium as gym
import torch
from stable_baselines3 import PPO

from flowsched_gym.core.errors import MissingDependencyError
from flowsched_gym.evaluation import evaluate
from flowsched_gym.integrations.sb3 import SetwisePolicy, batched, save_model, setwise_policy
from flowsched_gym.integrations.setwise import SetwiseNetwork, SetwiseShape

try:
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module.apis import ValueFunctionAPI
    from ray.rllib.core.rl_module.rl_module import RLModuleSpec
    from ray.rllib.core.rl_module.torch import TorchRLModule
except ImportError as error:
    raise MissingDependencyError(error.name or "ray", extra="rllib", purpose="train by RLlib") from None

ENV_ID: Final = "flowsched_gym:flowsched/Artemis-v0"
EVALUATION_SEED: Final = 10_000
NUM_ENVS: Final = 32
NUM_STEPS: Final = 64
BATCH: Final = 512
"""Environments of a runner, steps of each in an iteration, and decisions of a gradient step."""


class SetwiseModule(TorchRLModule, ValueFunctionAPI):
    """The set-wise network as RLlib knows networks; ``model_config["shape"]`` has the fields of ``SetwiseShape``.

    The network itself gives slots where nobody waits a probability of zero, so that RLlib needs no masks.
    """

    def setup(self) -> None:
        """Makes the network and the layer that gives values."""
        config: Any = self.model_config
        space: Any = self.action_space
        shape = SetwiseShape(**config["shape"])
        self.network = SetwiseNetwork(shape, int(space.n))
        self.value = torch.nn.Linear(shape.width, 1)

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self.network.forward_actor(batch[Columns.OBS])}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Returns the values of observations, (batch,)."""
        values: torch.Tensor = self.value(self.network.forward_critic(batch[Columns.OBS])).squeeze(-1)
        return values


def make_config(kwargs: dict[str, Any], *, num_runners: int, seed: int = 0) -> Any:
    """Describes the training: the environment's arguments, and how many runners step it, on one CPU each."""
    config: Any = PPOConfig()  # type: ignore[no-untyped-call]
    config.environment(ENV_ID, env_config=kwargs)
    _, found = setwise_policy(gym.make(ENV_ID, **kwargs), width=16, num_blocks=0, standardise=True)
    config.rl_module(rl_module_spec=RLModuleSpec(module_class=SetwiseModule, model_config=found))
    config.env_runners(
        num_env_runners=num_runners,
        num_envs_per_env_runner=NUM_ENVS,
        rollout_fragment_length=NUM_STEPS,
        gym_env_vectorize_mode=gym.VectorizeMode.VECTOR_ENTRY_POINT,
        sample_timeout_s=30.0,
    )
    config.fault_tolerance(restart_failed_env_runners=True, max_num_env_runner_restarts=100)
    config.training(
        train_batch_size_per_learner=num_runners * NUM_ENVS * NUM_STEPS,
        minibatch_size=BATCH,
        num_epochs=10,
        lr=3e-3,
        gamma=0.95,
        lambda_=0.98,
        clip_param=0.2,
        vf_clip_param=float("inf"),
        entropy_coeff=0.005,
        grad_clip=0.5,
    )
    return config.debugging(seed=seed, log_level="ERROR")


def train(config: Any, iterations: int, report: Callable[[int, dict[str, Any], Any], None]) -> Any:
    """Trains; after each iteration, ``report`` gets its number, from 1, RLlib's results and the algorithm.

    Returns RLlib's algorithm, to be stopped.
    """
    algorithm = config.build_algo()
    for number in range(1, iterations + 1):
        report(number, algorithm.train(), algorithm)
    return algorithm


def as_model(algorithm: Any, kwargs: dict[str, Any]) -> PPO:
    """Makes a model of Stable-Baselines3 of the network that RLlib has trained."""
    module = algorithm.get_module()
    env = gym.make(ENV_ID, **kwargs)
    shape = {"shape": module.model_config["shape"]}
    model = PPO(SetwisePolicy, env, policy_kwargs=shape, n_steps=8, batch_size=8, device="cpu")
    model.policy.mlp_extractor.load_state_dict(module.network.state_dict())
    return model


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains and compares; without arguments, by those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="auto or HOST:PORT of a Ray cluster (default: Ray is started here)")
    parser.add_argument("--runners", type=int, default=2, help="environment runners (%(default)s)")
    parser.add_argument("--iterations", type=int, default=40, help="%(default)s")
    parser.add_argument("--workload", default="gather-heavy", help="%(default)s")
    parser.add_argument("--episodes", type=int, default=20, help="episodes that it is compared in (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="%(default)s")
    parser.add_argument("--out", help="model to write (.zip)")
    options = parser.parse_args(arguments)
    ray.init(address=options.address or "local", log_to_driver=False)
    kwargs = {"workload": options.workload, "k": 3, "f": 10}

    def report(number: int, results: dict[str, Any], algorithm: Any) -> None:
        runners = algorithm.env_runner_group.num_healthy_remote_workers()
        found = results["env_runners"]
        decisions, reward = int(found["num_env_steps_sampled_lifetime"]), found.get("episode_return_mean", float("nan"))
        print(f"iteration {number}: {decisions:,} decisions, reward {reward:.1f}, {runners} runners", flush=True)

    algorithm = train(make_config(kwargs, num_runners=options.runners, seed=options.seed), options.iterations, report)
    model = as_model(algorithm, kwargs)
    algorithm.stop()
    ray.shutdown()
    for label, policy in (("rllib", batched(model)), ("feasible-first", "feasible-first")):
        result = evaluate(ENV_ID, policy, episodes=options.episodes, seed=EVALUATION_SEED, kwargs=kwargs, label=label)
        print(f"{label}: {100 * result.values('deadline_hit_ratio').mean():.1f} % of deadlines met")
    if options.out:
        save_model(model, options.out, origin={"environment": ENV_ID.partition(":")[2], "kwargs": kwargs})


if __name__ == "__main__":
    main()
