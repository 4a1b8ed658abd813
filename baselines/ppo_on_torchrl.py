"""Trains the set-wise policy by TorchRL's PPO: its environment with action masks, its collector, its losses.

The mask comes from the infos of the single environment, which runs in machine code; `SerialEnv` steps several of them.
``make rllib`` makes an environment in which TorchRL is installed::

    python -m flowsched_gym.baselines.ppo_on_torchrl --iterations 20
"""

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import gymnasium as gym
import torch
from stable_baselines3 import PPO
from torch import nn

from flowsched_gym.core.errors import MissingDependencyError
from flowsched_gym.evaluation import evaluate
from flowsched_gym.integrations.sb3 import SetwisePolicy, batched, save_model, setwise_policy
from flowsched_gym.integrations.setwise import SetwiseNetwork, SetwiseShape

try:
    from tensordict.nn import ProbabilisticTensorDictSequential, TensorDictModule
    from torchrl.collectors import Collector
    from torchrl.data import Binary, Composite
    from torchrl.envs import DTypeCastTransform, EnvBase, GymWrapper, SerialEnv, TransformedEnv
    from torchrl.envs.gym_like import default_info_dict_reader
    from torchrl.modules import MaskedCategorical, ProbabilisticActor, ValueOperator
    from torchrl.objectives import ClipPPOLoss
    from torchrl.objectives.value import GAE
except ImportError as error:
    raise MissingDependencyError(error.name or "torchrl", extra="torchrl", purpose="train by TorchRL") from None

ENV_ID: Final = "flowsched_gym:flowsched/Artemis-v0"
EVALUATION_SEED: Final = 10_000
NUM_ENVS: Final = 8
NUM_STEPS: Final = 128
NUM_EPOCHS: Final = 10
BATCH: Final = 256


def make_env(kwargs: dict[str, Any]) -> EnvBase:
    """Makes one environment, whose tensordicts have ``action_mask``, (num_actions,) bool, beside ``observation``."""
    env = gym.make(ENV_ID, engine="compiled", **kwargs)
    masks = Composite(action_mask=Binary(int(env.action_space.n), dtype=torch.int8))  # type: ignore[attr-defined]
    wrapped = GymWrapper(env, categorical_action_encoding=True)
    wrapped.set_info_dict_reader(default_info_dict_reader(["action_mask"], spec=masks))
    return TransformedEnv(wrapped, DTypeCastTransform(torch.int8, torch.bool, in_keys=["action_mask"]))


def make_policy(kwargs: dict[str, Any]) -> tuple[ProbabilisticTensorDictSequential, ValueOperator, dict[str, Any]]:
    """Makes actor and critic of one set-wise network; returns them and the ``policy_kwargs`` of its shape."""
    env = gym.make(ENV_ID, **kwargs)
    _, found = setwise_policy(env, width=16, num_blocks=0, standardise=True)
    network = SetwiseNetwork(SetwiseShape(**found["shape"]), int(env.action_space.n))  # type: ignore[attr-defined]
    logits = TensorDictModule(_Part(network.forward_actor, network), in_keys=["observation"], out_keys=["logits"])
    actor = ProbabilisticActor(
        logits,
        in_keys={"logits": "logits", "mask": "action_mask"},
        out_keys=["action"],
        distribution_class=MaskedCategorical,
        return_log_prob=True,
    )
    value = nn.Sequential(_Part(network.forward_critic, network), nn.Linear(network.latent_dim_vf, 1))
    return actor, ValueOperator(value, in_keys=["observation"]), found


def train(
    kwargs: dict[str, Any], *, iterations: int, seed: int = 0
) -> tuple[ProbabilisticTensorDictSequential, dict[str, Any], list[float]]:
    """Trains; returns the actor, the ``policy_kwargs`` of its shape, and the mean reward of each iteration's steps."""
    torch.manual_seed(seed)
    actor, critic, shape = make_policy(kwargs)
    envs = SerialEnv(NUM_ENVS, partial(make_env, kwargs))
    envs.set_seed(2**31 + seed)
    frames = NUM_ENVS * NUM_STEPS
    # The policy has no memory, for which the environments would need more transforms.
    how = {"frames_per_batch": frames, "total_frames": iterations * frames, "auto_register_policy_transforms": False}
    collector = Collector(envs, actor, **how)
    advantage = GAE(gamma=0.95, lmbda=0.98, value_network=critic, average_gae=True)
    loss = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_coeff=0.005, critic_coeff=0.5)
    optimiser = torch.optim.Adam(loss.parameters(), lr=3e-3)
    rewards = []
    for data in collector:
        with torch.no_grad():
            advantage(data)
        flat = data.reshape(-1)
        for _ in range(NUM_EPOCHS):
            for rows in torch.split(torch.randperm(frames), BATCH):
                parts = loss(flat[rows])
                total = sum(value for name, value in parts.items() if name.startswith("loss_"))
                optimiser.zero_grad()
                total.backward()
                nn.utils.clip_grad_norm_(loss.parameters(), 0.5)
                optimiser.step()
        rewards.append(float(data["next", "reward"].mean()))
        print(f"iteration {len(rewards)}: reward {rewards[-1]:.3f} a decision", flush=True)
    collector.shutdown()
    return actor, shape, rewards


def as_model(actor: ProbabilisticTensorDictSequential, shape: dict[str, Any], kwargs: dict[str, Any]) -> PPO:
    """Makes a model of Stable-Baselines3 of the network that TorchRL has trained."""
    env = gym.make(ENV_ID, **kwargs)
    model = PPO(SetwisePolicy, env, policy_kwargs=shape, n_steps=8, batch_size=8, device="cpu")
    model.policy.mlp_extractor.load_state_dict(actor[0].module.network.state_dict())
    return model


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains and compares; without arguments, by those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=20, help="%(default)s")
    parser.add_argument("--workload", default="gather-heavy", help="%(default)s")
    parser.add_argument("--episodes", type=int, default=20, help="episodes that it is compared in (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="%(default)s")
    parser.add_argument("--out", help="model to write (.zip)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    kwargs = {"workload": options.workload, "k": 3, "f": 10}
    actor, shape, _ = train(kwargs, iterations=options.iterations, seed=options.seed)
    model = as_model(actor, shape, kwargs)
    for label, policy in (("torchrl", batched(model)), ("feasible-first", "feasible-first")):
        result = evaluate(ENV_ID, policy, episodes=options.episodes, seed=EVALUATION_SEED, kwargs=kwargs, label=label)
        print(f"{label}: {100 * result.values('deadline_hit_ratio').mean():.1f} % of deadlines met")
    if options.out:
        save_model(model, options.out, origin={"environment": ENV_ID.partition(":")[2], "kwargs": kwargs})


class _Part(nn.Module):
    """One of the two outputs of a network as a module, for observations with any number of batch dimensions."""

    def __init__(self, forward: Any, network: SetwiseNetwork) -> None:
        super().__init__()
        self.network, self._forward = network, forward

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self._forward(observation.reshape(-1, observation.shape[-1]))
        return found.reshape(*observation.shape[:-1], -1)


if __name__ == "__main__":
    main()
