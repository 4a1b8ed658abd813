"""Vector environments in several threads: the same numbers."""

import os
from typing import Any

import gymnasium as gym
import pytest
from numpy.testing import assert_array_equal

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.systems import EnvironmentSpec
from tests.envs.episodes import SHORT, each_environment
from tests.processes import run_python

NUM_ENVS = 5


@each_environment
def test_any_number_of_threads_gives_the_same_numbers(spec: EnvironmentSpec) -> None:
    def make(num_threads: int) -> gym.vector.VectorEnv[Any, Any, Any]:
        envs = gym.make_vec(spec.id, NUM_ENVS, "vector_entry_point", num_threads=num_threads, **SHORT[spec.id])
        envs.action_space.seed(4)
        return envs

    # Three threads have parts of different sizes; of seven, some have none.
    several = [make(num_threads) for num_threads in (1, 3, 7)]
    shown = [envs.reset(seed=3)[0] for envs in several]
    for _ in range(150):
        assert_array_equal(shown[0], shown[1])
        assert_array_equal(shown[0], shown[2])
        action = several[0].action_space.sample()
        (first, *expected, info), *others = [envs.step(action) for envs in several]
        for observation, *results, other_info in others:
            assert_array_equal(observation, first)
            for result, value in zip(results, expected, strict=True):
                assert_array_equal(result, value)
            assert_array_equal(other_info["time"], info["time"])
            assert [list(each) for each in other_info["finished"]] == [list(each) for each in info["finished"]]
        shown = [first, *(observation for observation, *_ in others)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("env_id", ["flowsched/Artemis-v0", "flowsched/QCluster-v0"])
def test_a_forked_process_has_threads_of_its_own(env_id: str) -> None:
    run_python(f"""
import os, signal, warnings
import gymnasium as gym
import flowsched_gym
from tests.envs.episodes import SHORT
envs = gym.make_vec({env_id!r}, 2, "vector_entry_point", num_threads=2, **SHORT[{env_id!r}])
envs.reset(seed=0)
action = envs.action_space.sample()
envs.step(action)
warnings.simplefilter("ignore")  # Python warns of any fork beside threads
process = os.fork()
if not process:
    signal.alarm(60)  # ends a process that waits for threads that it does not have
    envs.step(action)
    os._exit(0)
assert os.waitpid(process, 0)[1] == 0
envs.step(action)
""")


def test_a_wrong_number_of_threads_is_refused() -> None:
    for num_threads in (0, 1.5, "two", 10**6):
        with pytest.raises(ConfigError, match=r"num_threads is .*: it must be an integer from 1 to 512"):
            gym.make_vec("flowsched/Artemis-v0", 2, "vector_entry_point", num_threads=num_threads)
