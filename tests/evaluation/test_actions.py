"""Holds the actions in result files to those that were taken, and to few bytes."""

import base64
import zlib

import numpy as np
import pytest
from gymnasium import spaces

from flowsched_gym.core.errors import ConfigError, InvalidAction
from flowsched_gym.evaluation import evaluate, make_environment, read_result, repeat_actions, write_result
from flowsched_gym.evaluation.actions import check_action, pack_actions, unpack_actions
from tests.envs.episodes import SHORT, each_environment

DISCRETE, BOX = spaces.Discrete(5), spaces.Box(-1.0, 1.0, (2,))


@each_environment
def test_the_actions_in_a_file_give_the_same_numbers_bit_by_bit(spec, tmp_path):
    kwargs = SHORT[spec.id]
    result = evaluate(spec.id, spec.policies[0].name, episodes=2, seed=5, kwargs=kwargs)
    write_result(result, tmp_path / "result.json")
    env = make_environment(spec.id, kwargs)
    for episode in read_result(tmp_path / "result.json").episodes:
        assert repr(repeat_actions(env, episode.actions, seed=episode.seed)) == repr(episode)


def test_actions_are_kept_in_the_smallest_type_that_holds_them():
    small = np.random.default_rng(0).integers(0, 10, 10_000)
    packed = pack_actions([small[:4000], small[4000:]])
    assert (packed["dtype"], packed["shape"]) == ("uint8", [])
    assert len(packed["data"]) < 6000
    for given, name in (
        (np.array([300]), "uint16"),
        (np.array([70_000]), "uint32"),
        (np.array([[0.5, -0.25]]), "float32"),
        (np.array([[0.1, -0.2]]), "float64"),
    ):
        packed = pack_actions([given])
        assert packed["dtype"] == name
        assert unpack_actions(packed, [1])[0].tolist() == given.tolist()


def test_what_holds_no_actions_is_refused() -> None:
    for change, lengths, message in (
        ({"dtype": "object"}, [3], "dtype is 'object'"),
        ({"shape": [0]}, [3], r"shape is \[0\]"),
        ({"shape": [1, 1]}, [3], r"shape is \[1, 1\]"),
        ({"data": "%"}, [3], "data is '%'"),
        ({"data": "AAAA"}, [3], "data is 'AAAA'"),
        ({}, [2], "does not hold the actions of 2 decisions"),
        ({}, [4], "does not hold the actions of 4 decisions"),
        ({}, [10**12], "take too much memory"),
        ({"data": base64.b64encode(zlib.compress(bytes(10**7))).decode()}, [3], "does not hold the actions of 3"),
    ):
        packed = pack_actions([np.arange(3)]) | change
        with pytest.raises(ConfigError, match=message):
            unpack_actions(packed, lengths)


def test_what_is_no_action_is_refused_before_it_is_taken():
    for wrong in (1.7, np.nan, "a", None, np.array([1])):
        with pytest.raises(InvalidAction, match=r"policy chose .*: it must be an integer"):
            check_action(wrong, DISCRETE)
    for row in ([0.1, np.nan], [0.1], [[0.1], 2]):
        with pytest.raises(InvalidAction, match=r"it must be finite numbers of shape \(2,\)"):
            check_action(row, BOX)


def test_actions_that_do_not_reach_the_end_or_pass_it_are_refused():
    kwargs = {"workload": "gather-heavy", "k": 3, "f": 10, "bursts": 2}
    episode = evaluate("flowsched/Artemis-v0", "edf", episodes=1, seed=0, kwargs=kwargs).episodes[0]
    env = make_environment("flowsched/Artemis-v0", kwargs)
    with pytest.raises(InvalidAction, match="goes on after its 19 actions"):
        repeat_actions(env, episode.actions[:-1], seed=0)
    with pytest.raises(InvalidAction, match="ends after 20 of 21 actions"):
        repeat_actions(env, np.append(episode.actions, 0), seed=0)
