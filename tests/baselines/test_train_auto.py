"""Trains both agents of AuTO for a moment, and watches the one that is asked beside the other."""

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.baselines.train_auto import LONG_FLOWS, ThresholdsBeside, main
from flowsched_gym.envs.policies.policy import attribute_of
from flowsched_gym.systems.auto.thresholds.config import SCALE, AuTOThresholdsConfig

CONFIG = AuTOThresholdsConfig(hosts=4, period_flows=50, link_gbps=3.0)
FLOWS = 300


def small_env(choose, learn=None):
    return ThresholdsBeside(gym.make(LONG_FLOWS, hosts=4, flows=FLOWS), CONFIG, choose, learn)


def play_to_the_end(env) -> None:
    """Plays an episode, with the first choice for every long flow."""
    env.reset(seed=0)
    ended = False
    while not ended:
        *_, ended, _, _ = env.step(np.zeros(env.action_space.shape, dtype=np.int64))


def test_the_thresholds_are_those_that_the_agent_beside_chooses() -> None:
    action = np.array([-0.5, 0.0, 0.5], dtype=np.float32)
    env = small_env(lambda _: action)
    env.reset(seed=0)
    set_now = attribute_of(env.unwrapped, "view")().thresholds()
    assert set_now.tolist() == SCALE.thresholds_of(action.astype(np.float64)[None]).tolist()


def test_the_agent_beside_is_asked_once_per_period_and_paid_for_the_flows_since() -> None:
    asked: list[np.ndarray] = []
    told: list[tuple] = []

    def choose(observation):
        asked.append(observation)
        return np.full(3, 0.1 * len(asked), dtype=np.float32)

    play_to_the_end(small_env(choose, lambda *transition: told.append(transition)))

    # It is asked before the next long flow is steered, so that some periods have more flows.
    assert 2 <= len(asked) <= FLOWS // 50
    assert len(told) == len(asked)
    assert [ended for *_, ended in told] == [False] * (len(told) - 1) + [True]
    for number, (before, action, _, after, ended) in enumerate(told):
        assert np.array_equal(before, asked[number])
        assert action[0] == pytest.approx(0.1 * (number + 1))
        assert ended or np.array_equal(after, asked[number + 1])
    # Minus the logarithm of a mean completion time over what the flows would take alone.
    assert all(-10 < reward < 0 for _, _, reward, _, _ in told)


def test_both_agents_are_trained_kept_and_compared(tmp_path, capsys) -> None:
    small = ["--hosts", "4", "--flows", str(FLOWS), "--period-flows", "50", "--decisions", "256", "--episodes", "1"]

    main([*small, "--folder", str(tmp_path / "models")])

    assert {path.name for path in (tmp_path / "models").iterdir()} == {"thresholds.zip", "long_flows.zip"}
    printed = capsys.readouterr().out.splitlines()[1:]
    assert [line.partition("  ")[0] for line in printed] == [
        *("ecmp, mismatched", "learned, mismatched", "ecmp, qlas", "learned, qlas", "ecmp, learned", "learned, learned")
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--decisions", "255"], "decisions is 255: the agent of long flows first updates its weights after 256"),
        (["--decisions", "256", "--period-flows", "9000", "--flows", "9000"], "no period of 9,000 (period_flows)"),
    ],
)
def test_a_run_in_which_an_agent_learns_nothing_is_refused(words, message, tmp_path, capsys) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--hosts", "4", *words, "--folder", str(tmp_path / "models")])
    assert end.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "models").exists()
