"""Runs the examples of training code for a moment, and checks what they make of episodes."""

import re

import gymnasium as gym
import numpy as np
import pytest
import torch

from flowsched_gym.baselines import ppo_without_sb3, train_auto
from flowsched_gym.baselines.ppo_without_sb3 import ENV_ID, Agent, Options, advantages_of, improve, main, train
from flowsched_gym.baselines.train_auto import LONG_FLOWS, ThresholdsBeside
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.systems.auto.thresholds.config import SCALE, AuTOThresholdsConfig
from flowsched_gym.workload import draw_flows, make_workload, write_flows

FLOWS = 30
"""Flows of an episode, and so its decisions."""


@pytest.fixture
def flow_file(tmp_path):
    """Holds a short episode in a file."""
    path = tmp_path / "flows.csv"
    write_flows(draw_flows(make_workload("gather-heavy"), num_flows=FLOWS, seed=1), path)
    return path


def small(**changes) -> Options:
    return Options(**{"num_envs": 4, "num_steps": 32, "total_steps": 640, "minibatch_size": 64, "width": 8} | changes)


def test_a_tiny_run_reports_beside_feasible_first(flow_file, capsys) -> None:
    arguments = ["--total-steps", "640", "--num-envs", "4", "--num-steps", "32", "--episodes", "2", "--width", "8"]
    main([*arguments, "--workload", str(flow_file), "--report-every", "2", "--learning-rate", "1e-3"])

    lines = capsys.readouterr().out.splitlines()
    pattern = r" +([\d,]+) decisions, +\d+ s: \d+\.\d % of deadlines met, feasible-first (\d+\.\d) %"
    found = [re.fullmatch(pattern, line) for line in lines]
    assert all(found)
    assert [match[1] for match in found] == ["0", "248", "496", "620"]
    assert len({match[2] for match in found}) == 1


def test_resets_are_no_experience(flow_file, monkeypatch) -> None:
    batches = []
    monkeypatch.setattr(ppo_without_sb3, "improve", lambda agent, optimiser, batch, options: batches.append(batch))
    envs = gym.make_vec(ENV_ID, num_envs=4, workload=str(flow_file), k=3, f=10)

    counted = []
    train(small(), envs, lambda agent, decisions: counted.append(decisions))

    steps, resets = 160, 160 // (FLOWS + 1)
    assert counted[-1] == 4 * (steps - resets)
    assert sum(len(batch[0]) for batch in batches) == counted[-1]
    layout = envs.get_attr("layout")[0]  # type: ignore[attr-defined]
    present = layout.num_context + [column.name for column in layout.slot].index("present")
    oldest = torch.cat([batch[0] for batch in batches])[:, present]
    assert (oldest == 1).all(), "somebody waits whenever the agent is asked, and nobody does at the end"


@pytest.mark.parametrize("for_good", [True, False], ids=["terminated", "truncated"])
def test_advantages_are_those_of_each_episode_alone(for_good) -> None:
    options, generator = Options(gamma=0.9, gae_lambda=0.8), torch.Generator().manual_seed(0)
    rewards, values = torch.rand((8, 1), generator=generator), torch.rand((9, 1), generator=generator)
    terminated, over = torch.zeros((8, 1), dtype=torch.bool), torch.zeros((9, 1), dtype=torch.bool)
    terminated[3], over[4], rewards[4] = for_good, True, 0.0

    advantages = advantages_of(rewards, values, terminated, over, options)

    def alone(begin: int, end: int, promise: float) -> list[float]:
        """Sums the errors of one episode up, each by its definition."""
        following = [*values[begin + 1 : end, 0].tolist(), promise]
        errors = [rewards[begin + i, 0] + 0.9 * v - values[begin + i, 0] for i, v in enumerate(following)]
        return [float(sum((0.9 * 0.8) ** j * error for j, error in enumerate(errors[i:]))) for i in range(len(errors))]

    first = alone(0, 4, 0.0 if for_good else float(values[4, 0]))
    second = alone(5, 8, float(values[8, 0]))
    assert advantages[:4, 0].tolist() == pytest.approx(first, rel=1e-5)
    assert advantages[5:, 0].tolist() == pytest.approx(second, rel=1e-5)


def test_what_went_better_than_expected_becomes_likelier_and_masked_actions_never_are_taken() -> None:
    torch.manual_seed(0)
    envs = gym.make_vec(ENV_ID, num_envs=4, workload="gather-heavy", k=3, f=10)
    observations, infos = envs.reset(seed=0)
    for _ in range(40):
        observations, *_, infos = envs.step(infos["action_mask"].argmax(axis=1))
    agent = Agent(envs.get_attr("layout")[0], width=8)  # type: ignore[attr-defined]
    seen, masks = torch.as_tensor(observations), torch.as_tensor(infos["action_mask"]) != 0
    masks[:, 1] = False
    chosen = masks.float().argmax(dim=1)
    before = agent(seen, masks)[0]
    advantages = torch.tensor([1.0, -1.0, 1.0, -1.0])
    batch = [seen, masks, chosen, before.log_prob(chosen).detach(), advantages, torch.zeros(4)]

    improve(agent, torch.optim.Adam(agent.parameters(), lr=1e-2), batch, small(num_epochs=20, ent_coef=0.0))

    after = agent(seen, masks)[0]
    assert ((after.log_prob(chosen) - before.log_prob(chosen)) * advantages).sum() > 0.02
    assert (after.probs[~masks] == 0).all()


def small_env(choose, learn=None):
    config = AuTOThresholdsConfig(hosts=4, period_flows=50, link_gbps=3.0)
    return ThresholdsBeside(gym.make(LONG_FLOWS, hosts=4, flows=300), config, choose, learn)


def test_the_agent_beside_sets_thresholds_once_per_period_and_is_paid_for_the_flows_since() -> None:
    asked: list[np.ndarray] = []
    told: list[tuple] = []

    def choose(observation):
        asked.append(observation)
        return np.array([-0.5, 0.0, 0.5], dtype=np.float32) + np.float32(0.1 * len(asked))

    env, over = small_env(choose, lambda *transition: told.append(transition)), False
    env.reset(seed=0)
    set_now = attribute_of(env.unwrapped, "decision")().record.thresholds.copy()
    while not over:
        *_, over, _, _ = env.step(np.zeros(env.action_space.shape, dtype=np.int64))

    # It is asked before the next long flow is steered, so that some periods have more flows.
    assert 2 <= len(asked) <= 300 // 50
    assert len(told) == len(asked)
    assert set_now.tolist() == SCALE.thresholds_of(told[0][1].astype(np.float64)[None]).tolist()
    assert [ended for *_, ended in told] == [False] * (len(told) - 1) + [True]
    for number, (before, action, _, after, ended) in enumerate(told):
        assert np.array_equal(before, asked[number])
        assert action[0] == pytest.approx(-0.5 + 0.1 * (number + 1))
        assert ended or np.array_equal(after, asked[number + 1])
    # Minus the logarithm of a mean completion time over what the flows would take alone.
    assert all(-10 < reward < 0 for _, _, reward, _, _ in told)


def test_both_agents_are_trained_kept_and_compared(tmp_path, capsys) -> None:
    small = ["--hosts", "4", "--flows", "300", "--period-flows", "50", "--decisions", "256", "--episodes", "1"]

    train_auto.main([*small, "--folder", str(tmp_path / "models")])

    assert {path.name for path in (tmp_path / "models").iterdir()} == {"thresholds.zip", "long_flows.zip"}
    printed = capsys.readouterr().out.splitlines()[1:]
    assert [line.partition("  ")[0] for line in printed] == [
        *("ecmp, mismatched", "learned, mismatched", "ecmp, qlas", "learned, qlas", "ecmp, learned", "learned, learned")
    ]


def test_a_run_in_which_an_agent_learns_nothing_is_refused(tmp_path, capsys) -> None:
    small = f"--hosts 4 --folder {tmp_path / 'models'} --decisions"
    for command, words, message in (
        (main, "--total-steps 8191", "--total-steps is 8,191: the first update comes after 256 * 32 = 8,192"),
        (train_auto.main, f"{small} 255", "decisions is 255: the agent of long flows first updates"),
        (train_auto.main, f"{small} 256 --period-flows 9000 --flows 9000", "no period of 9,000 (period_flows)"),
    ):
        with pytest.raises(SystemExit, match="2"):
            command(words.split())
        assert message in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []
