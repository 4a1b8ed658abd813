"""Trains for a moment by TorchRL, and by RLlib on a cluster that loses a node: ``make rllib`` has what they need."""

import importlib.util
import json
import sys

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.evaluation import evaluate
from flowsched_gym.integrations.sb3 import batched, load_policy
from tests.processes import run

KWARGS = {"workload": {"base": "gather-heavy", "bursts": 2}, "k": 3, "f": 5}

ON_TWO_NODES = """
import json
import sys
import time

import ray
from ray.cluster_utils import Cluster

from flowsched_gym.baselines import ppo_on_rllib
from flowsched_gym.baselines.ppo_on_rllib import as_model, make_config, train
from flowsched_gym.integrations.sb3 import save_model

ppo_on_rllib.NUM_ENVS, ppo_on_rllib.NUM_STEPS, ppo_on_rllib.BATCH = 4, 16, 64
kwargs = json.loads(sys.argv[1])
# The head computes nothing, as Ray ends without it.
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
ray.init(address=cluster.address, log_to_driver=False)
seen = []


def report(number, results, algorithm):
    runners = algorithm.env_runner_group.num_healthy_remote_workers()
    decisions = int(results["env_runners"]["num_env_steps_sampled_lifetime"])
    seen.append({"runners": runners, "decisions": decisions})
    if number == 1:
        cluster.remove_node(nodes[0], allow_graceful=False)
    if number == 3:
        cluster.add_node(num_cpus=1)
    if number > 3 and runners < 2:
        time.sleep(2.0)  # the runner starts meanwhile


algorithm = train(make_config(kwargs, num_runners=2), 4, report)
for number in range(5, 60):
    if seen[-1]["runners"] == 2:
        break
    report(number, algorithm.train(), algorithm)
save_model(as_model(algorithm, kwargs), "model.zip", origin={"environment": "flowsched/Artemis-v0", "kwargs": kwargs})
print("SEEN", json.dumps(seen))
algorithm.stop()
ray.shutdown()
cluster.shutdown()
"""
"""Trains on two nodes; one is killed after the first iteration, and another one comes after the third."""
PRIVATE = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"}


with_torchrl = pytest.mark.skipif(
    importlib.util.find_spec("torchrl") is None, reason="torchrl is not installed: make rllib"
)


@with_torchrl
@pytest.mark.filterwarnings("default")
def test_torchrl_makes_environments_by_their_ids_and_takes_vectors_that_it_resets_itself() -> None:
    from torchrl.envs import GymEnv, GymWrapper

    assert GymEnv("flowsched_gym:flowsched/Artemis-v0", **KWARGS).rollout(5)["observation"].shape[0] == 5
    envs = gym.make_vec("flowsched/Artemis-v0", 2, autoreset_mode=gym.vector.AutoresetMode.DISABLED, **KWARGS)
    seen = GymWrapper(envs).rollout(60, break_when_any_done=False)
    assert seen["next", "done"].sum() > 2, "episodes that have ended are followed by others"


@with_torchrl
@pytest.mark.filterwarnings("default")
def test_torchrl_trains_on_masks_and_its_network_plays(monkeypatch) -> None:
    from tensordict.nn import TensorDictModule

    from flowsched_gym.baselines import ppo_on_torchrl as example

    for name, value in {"NUM_ENVS": 2, "NUM_STEPS": 32, "NUM_EPOCHS": 1, "BATCH": 32}.items():
        monkeypatch.setattr(example, name, value)
    env = example.make_env(KWARGS)
    first = TensorDictModule(lambda mask: mask.int().argmax(dim=-1), in_keys=["action_mask"], out_keys=["action"])
    seen = env.rollout(12, policy=first)
    assert seen["action_mask"].shape == (12, 5)
    assert not seen["action_mask"].all(), "some slots are empty"

    actor, shape, rewards = example.train(KWARGS, iterations=2)

    assert len(rewards) == 2
    model = example.as_model(actor, shape, KWARGS)
    played = evaluate("flowsched/Artemis-v0", batched(model), episodes=3, seed=0, kwargs=KWARGS)
    assert np.isfinite(played.values("reward")).all()
    told = actor[0](seen.select("observation"))["logits"].detach().masked_fill(~seen["action_mask"], -np.inf)
    chosen, _ = model.predict(seen["observation"].numpy(), deterministic=True)
    assert chosen.tolist() == told.argmax(dim=-1).tolist(), "the model is the network that was trained"


@pytest.mark.exhaustive  # five processes of Ray
@pytest.mark.skipif(
    gym.__version__ != "1.2.2" or importlib.util.find_spec("tree") is None,
    reason="RLlib 2.60 needs Gymnasium 1.2.2 and dm-tree: make rllib",
)
def test_a_training_by_rllib_goes_on_when_a_node_is_lost_and_when_another_one_comes(tmp_path) -> None:
    outcome = run(sys.executable, "-c", ON_TWO_NODES, json.dumps(KWARGS), folder=tmp_path, **PRIVATE)

    seen = json.loads(outcome.out.rpartition("SEEN ")[2])
    runners, decisions = ([each[name] for each in seen] for name in ("runners", "decisions"))
    assert runners[:3] == [2, 1, 1]
    assert runners[-1] == 2
    assert min(np.diff(decisions)) >= 2 * 4 * 16, "every iteration has as many decisions as two runners make"
    policy = load_policy(tmp_path / "model.zip", gym.make("flowsched/Artemis-v0", **KWARGS))
    assert evaluate("flowsched/Artemis-v0", policy, episodes=2, seed=0, kwargs=KWARGS).values("reward").min() >= 0
