"""Writes the folder of a page: ``index.html``, and the animated episodes that it opens.

An animation shows some decisions of a policy in a setting. Learning curves, the means of validation episodes while
agents were trained, are read from ``curve.csv`` beside models.
"""

import contextlib
import csv
import math
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np

from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.files import replace_when_written, write_text
from flowsched_gym.evaluation import Progress, make_environment, resolve_policy, rollout
from flowsched_gym.evaluation.result_files import digest_of
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard.comparison import column_of, reference_of
from flowsched_gym.leaderboard.page.charts import Curve
from flowsched_gym.leaderboard.page.document import Film, page_html
from flowsched_gym.leaderboard.play import Entrant, entrants_of, players
from flowsched_gym.leaderboard.suite import Groups, Setting
from flowsched_gym.registration import MODEL_SUFFIX
from flowsched_gym.version import __version__

PAGE_FILE: Final = "index.html"
CURVE_FILE: Final = "curve.csv"
CURVE_COLUMNS: Final = ("seed", "decisions", "metric", "mean")
MIN_SEEDS: Final = 2

EPISODES_FOLDER: Final = "episodes"
SKIPPED: Final = 30
"""Decisions at the beginning that are not shown, where an episode is long enough: little competes yet."""
FRAMES: Final = 36
FRAME_MS: Final = 250
LAST_FRAME_MS: Final = 2000
COLOURS: Final = 48
MOST_BYTES: Final = 300_000
WEBP: Final[Any] = {"format": "WEBP", "save_all": True, "loop": 0, "lossless": True, "quality": 50, "method": 3}
"""How frames are written: a third of the bytes of a GIF, within a second."""
DIGEST_BYTES: Final = 4


def write_site(
    groups: Groups,
    folder: Path,
    *,
    suite: str,
    yours: Collection[tuple[str, str]] = (),
    models: Path | None = None,
    films: Sequence[tuple[Setting, Entrant]] = (),
    progress: Progress | None = None,
) -> Path:
    """Writes the page, with links to the animations that are there; returns its path.

    ``models`` has a folder for each setting, in which each agent has a folder with models and ``curve.csv``. The other
    arguments are those of `page_html`.
    """
    paths = [film_path(folder, setting, entrant) for setting, entrant in films]
    shown = [
        Film(setting.name, entrant.label, path.relative_to(folder).as_posix())
        for (setting, entrant), path in zip(films, paths, strict=True)
        if path.exists()
    ]
    learning = {
        setting.name: read_learning_curves(models / setting.name, setting.metric)
        for setting, _ in groups
        if models is not None and setting.name
    }
    page = page_html(groups, suite=suite, yours=yours, films=shown, learning=learning, progress=progress)
    write_text(page, folder / PAGE_FILE)
    return folder / PAGE_FILE


def _find_models(models: Path | None, setting: Setting) -> dict[str, Path]:
    """Finds the agents of a setting: the folders with their models, by name."""
    if models is None or not setting.name:
        return {}
    if not models.is_dir():
        raise ConfigError(f"--models is {str(models)!r}: there is no such folder")
    return {path.name: path for path in sorted((models / setting.name).glob("*")) if any(path.glob(f"*{MODEL_SUFFIX}"))}


def players_to_film(groups: Groups, models: Path | None, names: Sequence[str]) -> Iterator[tuple[Setting, Entrant]]:
    """Yields whose episodes are shown: those named, else each setting's best heuristic and best learned agent.

    Those that do not play in a setting, and learned agents without ``models`` there, are left out; a name that plays in
    none is refused.
    """
    found = set()
    for setting, members in groups:
        agents = _find_models(models, setting)
        heuristics = setting.spec.heuristics
        chosen = list(names)
        if not names:
            learned = [member for member in members if member.learned and member.policy in agents]
            learned.sort(key=lambda member: -merit(setting.metric, member.interval(setting.metric).mean))
            best = reference_of([member for member in members if member.policy in heuristics], setting.metric)
            chosen = [name for name in (best, *(member.policy for member in learned[:1])) if name is not None]
        for name in chosen:
            if name in agents or name in heuristics:
                found.add(name)
                yield setting, entrants_of([str(agents.get(name, name))], label=name)[0]
    for name in names:
        if name not in found:
            raise ConfigError(f"--episodes-of is {name!r}: no setting has such a policy, or its models in --models")


class _Filmed(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose last frames are kept, and whose episode is cut off after enough of them."""

    def __init__(self, env: gymnasium.Env[Any, Any], progress: Progress | None) -> None:
        super().__init__(env)
        self.frames: deque[Any] = deque(maxlen=FRAMES)
        self._progress = progress
        self._decisions = 0

    def reset(self, **arguments: Any) -> Any:
        """Begins the episode with a frame."""
        outcome = self.env.reset(**arguments)
        self.frames.append(self.env.render())
        return outcome

    def step(self, action: Any) -> Any:
        """Takes a decision, and keeps a frame of what has become of it."""
        observation, reward, over, truncated, info = self.env.step(action)
        self._decisions += 1
        self.frames.append(self.env.render())
        if self._progress is not None:
            self._progress(self._decisions, SKIPPED + FRAMES)
        return observation, reward, over, truncated or self._decisions == SKIPPED + FRAMES, info


def film_path(folder: Path, setting: Setting, entrant: Entrant) -> Path:
    """Returns where the animation of a policy lies: its name changes with what is played."""
    played = repr((__version__, setting.spec.id, sorted(setting.kwargs.items()), entrant.source)).encode()
    digest = digest_of(b"".join([played, *(model.read_bytes() for model in entrant.models[:1])]), DIGEST_BYTES)
    label = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in entrant.label.lower())
    return folder / EPISODES_FOLDER / f"{setting.name}_{label}-{digest}.webp"


def write_film(
    setting: Setting, entrant: Entrant, path: Path, *, seed: int, trust: bool = False, progress: Progress | None = None
) -> None:
    """Writes the beginning of an episode, of an agent's first model, as an animation; ``progress`` counts decisions."""
    with contextlib.closing(players(setting, entrant, {}, trust=trust)) as playing:
        _, policy, arguments = next(playing)
        env = _Filmed(make_environment(setting.spec, {**arguments, "render_mode": "rgb_array"}), progress)
        with contextlib.closing(env):
            rollout(env, resolve_policy(policy, env, seed=seed) if isinstance(policy, str) else policy, seed=seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(list(env.frames), path)


def _write(frames: list[Any], path: Path) -> None:
    """Writes frames in few colours; the first ones are left out as long as the file is too large."""
    from PIL import Image  # noqa: PLC0415 - optional; without it there would be no frames

    pictures = [Image.fromarray(frame) for frame in frames]
    palette = pictures[-1].quantize(COLOURS, dither=Image.Dither.NONE)
    pictures = [picture.quantize(palette=palette, dither=Image.Dither.NONE).convert("RGB") for picture in pictures]
    while pictures:
        first, *others = pictures
        durations = [FRAME_MS] * len(others) + [LAST_FRAME_MS]
        with replace_when_written(path) as temporary:
            first.save(temporary, append_images=others, duration=durations, **WEBP)
        if path.stat().st_size <= MOST_BYTES:
            return
        pictures = pictures[max(1, len(pictures) // 4) :]
    raise ConfigError(f"{path}: a single frame takes more than {MOST_BYTES:,} bytes")


def read_learning_curves(models: Path, metric: str) -> list[Curve]:
    """Reads the curves of a setting's agents, a folder each: mean and range, as a band, of their training seeds."""
    curves = []
    for path in sorted(models.glob(f"*/{CURVE_FILE}")):
        by_decisions: dict[float, dict[str, float]] = defaultdict(dict)
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            heads = rows.fieldnames
            if heads is None or not set(CURVE_COLUMNS) <= set(heads):
                raise ConfigError(f"{path} has the columns {shown(heads)}: it needs {', '.join(CURVE_COLUMNS)}")
            for row in rows:
                if row["metric"] == metric:
                    by_decisions[_number(path, row["decisions"])][row["seed"]] = _number(path, row["mean"])
        seeds = {seed for means in by_decisions.values() for seed in means}
        # Where a training ended sooner than the others, the mean would jump.
        complete = sorted(at for at, means in by_decisions.items() if len(means) == len(seeds))
        if not complete:
            continue
        scale = column_of(metric).scale
        values = scale * np.array([list(by_decisions[at].values()) for at in complete])
        x, y, low, high = np.array(complete), values.mean(axis=1), values.min(axis=1), values.max(axis=1)
        if len(seeds) < MIN_SEEDS:
            low = high = np.full(len(x), np.nan)
        curves.append(Curve(name=path.parent.name, learned=True, x=x, y=y, low=low, high=high))
    return curves


def _number(path: Path, text: str | None) -> float:
    with contextlib.suppress(ValueError):
        if math.isfinite(value := float(text or "")):
            return value
    raise ConfigError(f"{path} holds {shown(text)}: decisions and means must be finite numbers")
