"""Writes the folder of a page: ``index.html``, and the animated episodes that it opens."""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import write_text
from flowsched_gym.evaluation import BOUND_POLICY, EvaluationResult
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard.comparison import reference_of
from flowsched_gym.leaderboard.page.document import Film, page_html
from flowsched_gym.leaderboard.page.episodes import film_path
from flowsched_gym.leaderboard.page.learning import read_learning_curves
from flowsched_gym.leaderboard.play import Entrant, entrants_of
from flowsched_gym.leaderboard.settings import Setting
from flowsched_gym.registration import policy_specs

PAGE_FILE: Final = "index.html"
MODEL_PATTERN: Final = "*.zip"

Groups = Sequence[tuple[Setting, Sequence[EvaluationResult]]]


def write_site(
    groups: Groups,
    folder: Path,
    *,
    suite: str,
    own: Collection[tuple[str, str]] = (),
    models: Path | None = None,
    films: Sequence[tuple[Setting, Entrant]] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Writes the page, with links to the animations that are there; returns its path.

    Args:
        groups: Settings and their results, each policy once.
        folder: Where to.
        suite: Name of the suite.
        own: Settings and policies whose results are not published ones.
        models: Folder with a folder for each setting, in which each agent has a folder with models and ``curve.csv``.
        films: Animations that may be there.
        progress: Called with the number of settings that have been compared, and of all.

    Raises:
        ConfigError: Results cannot be compared, or a learning curve is not what it should be.
        OSError: A file cannot be read or written.
    """
    made = [(setting, entrant, film_path(folder, setting, entrant)) for setting, entrant in films]
    page = page_html(
        groups,
        suite=suite,
        own=own,
        films=[
            Film(setting.name, entrant.label, path.relative_to(folder).as_posix())
            for setting, entrant, path in made
            if path.exists()
        ],
        learning={
            setting.name: read_learning_curves(models / setting.name, setting.metric)
            for setting, _ in groups
            if models is not None and setting.name
        },
        progress=progress,
    )
    path = folder / PAGE_FILE
    write_text(page, path)
    return path


def find_models(models: Path | None, setting: Setting) -> dict[str, Path]:
    """Finds the agents of a setting: the folders with their models, by name.

    Raises:
        ConfigError: The folder does not exist.
    """
    if models is None or not setting.name:
        return {}
    if not models.is_dir():
        raise ConfigError(f"--models is {str(models)!r}: there is no such folder")
    return {path.name: path for path in sorted((models / setting.name).glob("*")) if any(path.glob(MODEL_PATTERN))}


def players_to_film(groups: Groups, models: Path | None, names: Sequence[str]) -> Iterator[tuple[Setting, Entrant]]:
    """Yields whose episodes are shown: those named, else each setting's best heuristic and best learned agent.

    Args:
        groups: Settings and their results.
        models: As in `write_site`; a learned agent without models there is left out.
        names: Names of policies or agents; those that do not play in a setting are left out there.

    Raises:
        ConfigError: No setting has a policy of a name.
    """
    found = set()
    for setting, members in groups:
        agents = find_models(models, setting)
        heuristics = policy_specs(setting.environment)
        chosen = list(names)
        if not names:
            learned = [member for member in members if member.learned and member.policy in agents]
            learned.sort(key=lambda member: -merit(setting.metric, member.interval(setting.metric).mean))
            known = [member for member in members if member.policy in (*heuristics, BOUND_POLICY)]
            best = reference_of(known, setting.metric)
            chosen = [*([best] if best is not None else []), *(member.policy for member in learned[:1])]
        for name in chosen:
            if name in agents or name in heuristics:
                found.add(name)
                yield setting, entrants_of([str(agents.get(name, name))], label=name)[0]
    for name in names:
        if name not in found:
            raise ConfigError(f"--episodes-of is {name!r}: no setting has such a policy, or its models in --models")
