"""Collects a small dataset, learns from it alone, and compares what was learned with the rules that made it."""

import re

import gymnasium as gym
import numpy as np
import pytest
import torch

from flowsched_gym.baselines.offline import compare, learn, main, make_model, read_dataset
from flowsched_gym.cli import main as flowsched
from flowsched_gym.evaluation import evaluate
from flowsched_gym.integrations.sb3 import batched, load_policy

ENV_ID = "flowsched/Artemis-v0"
KWARGS = {"workload": {"base": "gather-heavy", "bursts": 10}, "k": 3, "f": 5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Holds what one that chooses at random and one that is better have done."""
    out = str(tmp_path_factory.mktemp("offline") / "data")
    arguments = ['workload={"base": "gather-heavy", "bursts": 10}', "k=3", "f=5"]
    words = [word for each in arguments for word in ("--kwarg", each)]
    policies = ["--policy", "feasible-first", "--policy", "random"]
    assert flowsched(["collect", ENV_ID, *policies, "--episodes", "5", "--seed", "5000", "--out", out, *words]) == 0
    return out


def test_returns_are_discounted_to_the_end_of_each_episode(folder) -> None:
    import minari

    data, env_spec, policies = read_dataset(folder, gamma=0.5)

    assert (env_spec.id, policies) == (ENV_ID, ["feasible-first", "random"])
    begin = 0
    for episode in minari.MinariDataset(folder):
        end = begin + len(episode)
        rewards = 0.1 * episode.rewards
        wanted = [sum(0.5**i * each for i, each in enumerate(rewards[step:])) for step in range(len(rewards))]
        assert data.returns[begin:end].tolist() == pytest.approx(wanted, rel=1e-5)
        assert np.array_equal(data.observations[begin:end], episode.observations[:-1])
        begin = end
    assert begin == len(data.actions) == len(data.masks)
    assert data.masks.gather(1, data.actions.unsqueeze(1)).all(), "what was done was allowed"


def test_cloning_repeats_the_rule_and_weights_prefer_what_brought_more(folder) -> None:
    data, env_spec, _ = read_dataset(folder, gamma=0.9)
    half = len(data.actions) // 2
    rule = type(data)(*(column[:half] for column in data))
    torch.manual_seed(0)
    clone = make_model(env_spec, rule)
    learn(clone, rule, updates=150, learning_rate=3e-3, temperature=None)
    chosen, _ = clone.predict(rule.observations.numpy(), action_masks=rule.masks.numpy(), deterministic=True)
    assert np.mean(chosen == rule.actions.numpy()) > 0.8

    # The same decision in all episodes: what each action brought is all that differs, and most were the worst one.
    count = 2000
    same = data.observations[torch.full((count,), 40)]
    masks = data.masks[torch.full((count,), 40)]
    first, second = masks[0].nonzero().flatten()[:2].tolist()
    actions = torch.where(torch.arange(count) % 4 == 0, second, first)
    made_up = type(data)(same, masks, actions, torch.where(actions == second, 1.0, 0.0))
    learned = {}
    for temperature in (None, 0.5):
        model = make_model(env_spec, data)
        learn(model, made_up, updates=40, learning_rate=1e-2, temperature=temperature)
        learned[temperature] = model.predict(same[:1].numpy(), action_masks=masks[:1].numpy(), deterministic=True)[0]
    assert (learned[None], learned[0.5]) == (first, second)


def test_one_that_loses_is_told_to_play_the_rule(folder) -> None:
    data, env_spec, rules = read_dataset(folder, gamma=0.9)
    untrained = make_model(env_spec, data)

    said = compare(untrained, env_spec, rules, episodes=12, seed=1).splitlines()

    ours, theirs = (
        evaluate(ENV_ID, each, episodes=12, seed=1, kwargs=KWARGS) for each in (batched(untrained), rules[0])
    )
    difference = ours.values("deadline_hit_ratio").mean() - theirs.values("deadline_hit_ratio").mean()
    assert f"difference {100 * difference:+.1f} [" in said[0]
    assert said[0].endswith("worse than the rule that made the data")
    assert said[1:] == ["warning: play feasible-first, this agent has not learned to beat it"]


def test_the_command_writes_a_model_that_plays_and_refuses_what_is_no_dataset(folder, tmp_path, capsys) -> None:
    out = tmp_path / "model.zip"

    main([folder, "--updates", "20", "--episodes", "10", "--out", str(out)])

    assert capsys.readouterr().out.startswith("deadlines met, %: ")
    policy = load_policy(out, gym.make(ENV_ID, **KWARGS))
    assert len(evaluate(ENV_ID, policy, episodes=2, seed=0, kwargs=KWARGS).episodes) == 2
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path / "nothing")])
    assert "nothing cannot be read" in capsys.readouterr().err
    for option, value, allowed in (
        ("--updates", "0", "an integer >= 1"),
        ("--seed", "-1", "an integer >= 0"),
        ("--learning-rate", "-1", "a finite number > 0"),
        ("--temperature", "nan", "a finite number > 0"),
        ("--gamma", "2", "at most 1"),
    ):
        with pytest.raises(SystemExit, match="2"):
            main([folder, option, value])
        assert re.search(rf"{option} is {value}(\.0)?: it must be {allowed}", capsys.readouterr().err)
