"""Films of episodes: which decisions they show, and that what is drawn afterwards is what was there."""

from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.evaluation import films, make_environment
from flowsched_gym.players import make_policy

image = pytest.importorskip("PIL.Image")

ARTEMIS = {"workload": "gather-heavy", "k": 3, "f": 10, "bursts": 12}


def record(path: Path, *, frames: int) -> int:
    with closing(make_environment("flowsched/Artemis-v0", ARTEMIS)) as env:
        return films.record_film(env, make_policy("edf", env), path, seed=3, frames=frames)


def rendered() -> list[np.ndarray]:
    """Draws a whole episode while it is played."""
    env: Any = gym.make("flowsched/Artemis-v0", render_mode="rgb_array", **ARTEMIS)
    policy = make_policy("edf", env)
    observation, _ = env.reset(seed=3)
    frames, over = [env.render()], False
    while not over:
        observation, _, over, _, _ = env.step(int(policy.predict(observation)[0]))
        frames.append(env.render())
    return frames


def shown(film: Path) -> list[np.ndarray]:
    with image.open(film) as opened:
        found = []
        for frame in range(getattr(opened, "n_frames", 1)):
            opened.seek(frame)
            found.append(np.asarray(opened.convert("RGB")))
        return found


def test_a_film_shows_the_episode_as_it_was_from_where_queues_are_full_or_its_end(tmp_path, monkeypatch) -> None:
    played = rendered()
    expected = [np.asarray(films.in_few_colours(frame).convert("RGB")) for frame in played]
    for skipped, frames, kept in ((20, 5, slice(20, 25)), (len(played), 4, slice(-4, None))):
        monkeypatch.setattr(films, "SKIPPED", skipped)
        assert record(tmp_path / "film.gif", frames=frames) == frames
        assert all(map(np.array_equal, shown(tmp_path / "film.gif"), expected[kept]))
        assert len(shown(tmp_path / "film.gif")) == frames
    record(tmp_path / "frame.PNG", frames=4)
    assert np.array_equal(shown(tmp_path / "frame.PNG")[0], expected[-2])
    assert np.abs(expected[-2].astype(int) - played[-2]).mean() < 1, "few colours are enough"


def test_a_film_as_mp4_has_its_frames_and_rests_at_its_end(tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    record(tmp_path / "film.mp4", frames=3)
    assert ffmpeg.count_frames_and_secs(str(tmp_path / "film.mp4"))[0] == 3 + films.FRAMES_OF_THE_END - 1
    assert [path.name for path in tmp_path.iterdir()] == ["film.mp4"]


def test_other_extensions_and_missing_packages_are_refused_before_anything_is_played(tmp_path, monkeypatch) -> None:
    with pytest.raises(ConfigError, match=r"the extension '\.avi': it must be one of \.gif, \.mp4, \.png"):
        films.check_film(tmp_path / "film.avi")
    monkeypatch.setattr(films, "find_spec", lambda name: None if name == "imageio_ffmpeg" else name)
    films.check_film(tmp_path / "film.gif")
    with pytest.raises(MissingDependencyError, match=r"imageio-ffmpeg is needed to write .*flowsched-gym\[video\]"):
        films.check_film(tmp_path / "film.mp4")
