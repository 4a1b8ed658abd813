"""Runs the examples of training code for a moment, and checks what they make of episodes."""

import re

import gymnasium as gym
import pytest
import torch

from flowsched_gym.baselines import ppo_without_sb3
from flowsched_gym.baselines.ppo_without_sb3 import ENV_ID, Agent, Options, advantages_of, improve, main, train
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


def test_a_run_that_ends_before_the_first_update_is_refused(capsys) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--total-steps", "8191"])
    assert "--total-steps is 8,191: the first update comes after 256 * 32 = 8,192" in capsys.readouterr().err
