"""Plays the frozen episodes of every id, and computes the frozen numbers, again: not a bit may differ."""

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from flowsched_gym.core.files import read_json
from flowsched_gym.core.packed import files_in, is_file
from flowsched_gym.registration import SYSTEMS
from tests.environments import CASES
from tests.golden.freeze import FOLDER, SHOWN_EVERY, command, file_of, play
from tests.golden.numbers import FILE, numbers

IDS = [environment.id for system in SYSTEMS for environment in system.environments]


def frozen(env_id: str) -> list[dict[str, Any]]:
    """Reads the frozen episodes of an id."""
    path = file_of(env_id)
    assert is_file(path), f"{env_id} has no frozen episodes: {command(env_id)}"
    episodes: list[dict[str, Any]] = read_json(path)["episodes"]
    return episodes


def differences(expected: Any, found: Any, where: str = "") -> Iterator[str]:
    """Yields where two JSON values differ, floats compared exactly."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in [*expected, *(key for key in found if key not in expected)]:
            if key not in expected or key not in found:
                yield f"{where}{key}: only {'frozen' if key in expected else 'played'}"
            else:
                yield from differences(expected[key], found[key], f"{where}{key}.")
    elif isinstance(expected, list) and isinstance(found, list):
        if len(expected) != len(found):
            yield f"{where[:-1]}: {len(found)} long instead of {len(expected)}"
        for number, (one, other) in enumerate(zip(expected, found, strict=False)):
            yield from differences(one, other, f"{where}{number}.")
    elif expected != found or type(expected) is not type(found):
        yield f"{where[:-1]}: {found!r} instead of {expected!r}"


def assert_unchanged(env_id: str, expected: dict[str, Any], found: dict[str, Any]) -> None:
    """Fails with the first differences, and with what to do about a change that is wanted."""
    found_differences = list(differences(expected, found))
    assert not found_differences, (
        f"{env_id} no longer plays the episode frozen in {file_of(env_id).name}. A change of behaviour needs a new "
        "version of the id, a line under Version History and in the changelog, and frozen episodes of its own "
        f"({command(env_id)} with the new id). The first of {len(found_differences)} differences:\n"
        + "\n".join(found_differences[:5])
    )


@pytest.mark.parametrize(
    ("env_id", "number"), [(env_id, number) for env_id in IDS for number in range(len(CASES[env_id].frozen))]
)
def test_a_frozen_episode_is_played_again_to_the_last_bit(env_id: str, number: int) -> None:
    expected = frozen(env_id)[number]
    actions = [step["action"] for step in expected["steps"]]
    found = play(env_id, expected["arguments"], seed=expected["seed"], actions=actions)
    assert_unchanged(env_id, expected, json.loads(json.dumps(found)))


def test_every_id_has_frozen_episodes_of_all_its_cases_and_every_file_an_id() -> None:
    assert set(files_in(FOLDER, ".json")) == {FILE, *map(file_of, IDS)}
    for env_id in IDS:
        assert [episode["arguments"] for episode in frozen(env_id)] == CASES[env_id].frozen


def test_a_change_in_the_last_bit_is_found_and_the_message_says_what_to_do() -> None:
    for key in ("time", "reward"):
        env_id = IDS[0]
        episode = frozen(env_id)[0]
        changed = json.loads(json.dumps(episode))
        changed["steps"][7][key] = math.nextafter(changed["steps"][7][key], math.inf)
        with pytest.raises(AssertionError, match=rf"(?s)new version of the id.*steps\.7\.{key}: .* instead of "):
            assert_unchanged(env_id, episode, changed)


@pytest.mark.parametrize("env_id", IDS)
def test_frozen_episodes_show_what_an_environment_can_do(env_id: str) -> None:
    episodes = frozen(env_id)
    steps = [step for episode in episodes for step in episode["steps"]]

    assert len({str(step["action"]) for step in steps}) > 1
    assert len({step["reward"] for step in steps}) > 1
    assert any("0" in step.get("mask", "0") for step in steps)
    assert any("metrics" in episode for episode in episodes)
    assert all("observation" in step for step in episodes[0]["steps"][SHOWN_EVERY - 1 :: SHOWN_EVERY])


def test_numbers_are_the_frozen_ones_to_the_last_bit() -> None:
    assert list(differences(read_json(FILE), numbers())) == []
