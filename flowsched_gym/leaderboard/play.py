"""Plays policies in the settings of a suite.

A result file is named by its setting and policy. What has been played already is not played again: a run that was
interrupted goes on where it stopped.
"""

import io
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from flowsched_gym import evaluation
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.packed import files_in, folder_of, folders_in, is_folder, packed_file, read_bytes
from flowsched_gym.evaluation import EvaluationResult, ModelFile, Progress, Provenance, Run, evaluate
from flowsched_gym.evaluation.engines import with_faster_engine
from flowsched_gym.evaluation.result_checks import builtin_names
from flowsched_gym.evaluation.result_files import digest_of, file_name
from flowsched_gym.evaluation.results import check_own_name
from flowsched_gym.integrations.archive import is_archive
from flowsched_gym.integrations.models import read_model
from flowsched_gym.leaderboard.policy_process import NO_LIMITS, Limits, acting
from flowsched_gym.leaderboard.published import published_names
from flowsched_gym.leaderboard.suite import VIEW_ARGUMENTS, Setting, Suite
from flowsched_gym.players import Kind, Player, check_once
from flowsched_gym.players.kept import MODEL_SUFFIX
from flowsched_gym.systems import OPTIONS, EnvironmentSpec

WEIGHTS: Final = "policy.pth"
"""Where a file of Stable-Baselines3 has its weights."""


def check_names(players: Sequence[Player], *, label: str | None = None) -> list[Player]:
    """Names policies as a leaderboard does: a class without its module, the only one by the label if there is one.

    Raises:
        ConfigError: A name is not allowed, or two are called alike.
    """
    named = []
    for player in players:
        name = player.name if label is None else label
        if player.kind is Kind.CLASS and label is None and (target := name.rpartition(":")[2]).isidentifier():
            name = target
        known, builtin = name.partition(OPTIONS)[0], builtin_names()
        is_builtin = player.is_heuristic or player.kind is Kind.BOUND
        if known.casefold() in builtin and not (is_builtin and str(player.source).partition(OPTIONS)[0] == known):
            raise ConfigError(
                f"--policy {shown(player.source)} would have the name {shown(name)} of a policy of the package: give "
                "it another one by --label"
            )
        if known not in builtin:
            check_own_name("--policy" if label is None else "--label", name, builtin | published_names())
        named.append(replace(player, name=name))
    check_once([player.name for player in named])
    check_once([file_name(player.name) for player in named])
    return named


def result_path(folder: str | Path, setting: Setting, label: str) -> Path:
    """Returns where the result of a policy in a setting lies: in the file of the setting, where there is one."""
    packed = Path(folder) / Path(file_name(setting.name)).stem
    return packed / file_name(label) if packed_file(packed).is_file() else Path(folder) / file_name(setting.name, label)


def play(
    suite: Suite,
    setting: Setting,
    player: Player,
    *,
    kwargs: Mapping[str, object] | None = None,
    seeds: Sequence[int] | None = None,
    trust: bool = False,
    limits: Limits = NO_LIMITS,
    command: str | None = None,
    progress: Progress | None = None,
) -> EvaluationResult:
    """Plays episodes of a setting with a policy, once for each of its models.

    A model sees what it was trained to see: arguments of `VIEW_ARGUMENTS` come from its file, unless they are among
    ``kwargs``. The seeds are by default those of the suite's test; ``trust`` allows models that bring code; each
    policy that is not of the package, and each model, keeps within the ``limits``; the command
    line is kept with the result; ``progress`` is called with the number of episodes done and of all.

    Raises:
        ConfigError: The policy does not play in this environment, a model cannot be read, or an argument would change
            the setting.
        InvalidAction: The policy chose something other than an action.
        PolicyError: The policy fails.
        SpaceMismatchError: A model was trained with other spaces.
    """
    begun = time.monotonic()
    kwargs = kwargs or {}
    check_arguments(kwargs)
    seeds = suite.test if seeds is None else seeds
    runs: list[Run] = []
    arguments: dict[str, object] = {}
    each = [replace(player, models=(path,)) for path in player.models] or [player]

    def tell(done: int, _: int) -> None:
        if progress is not None:
            progress(len(runs) * len(seeds) + done, len(each) * len(seeds))

    episodes: Any = {"episodes": len(seeds), "seed": seeds, "progress": tell}
    for one in each:
        before, arguments = arguments, arguments_of(setting, one, kwargs)
        if runs and arguments != before:
            raise ConfigError(f"{player.source}: its models were trained with different arguments of the environment")
        if player.kind is Kind.BOUND:
            result = evaluation.evaluate_bound(setting.spec, kwargs=arguments, **episodes)
        else:
            sooner = with_faster_engine(setting.spec, arguments, compile_first=True)
            with acting(one, arguments, seed=seeds[0], trust=trust, limits=limits) as policy:
                result = evaluate(setting.spec, policy, kwargs=sooner, label=player.name, repeat=True, **episodes)
        runs.append(Run(model=model_file(one.model) if one.learned else None, episodes=result.episodes))
    made = Provenance.here(command=command, seconds=time.monotonic() - begun, with_models=player.learned)
    return EvaluationResult(
        environment=setting.spec.id,
        kwargs=arguments,
        policy=player.name,
        source=player.source,
        runs=tuple(runs),
        reference=None if seeds != suite.test else suite.reference(setting),
        made=replace(made, versions={**made.versions, **file_version(player)}),
    )


def check_arguments(kwargs: Mapping[str, object]) -> None:
    """Refuses an argument of the command line that would change a setting."""
    for name in kwargs:
        if name not in VIEW_ARGUMENTS:
            raise ConfigError(f"--kwarg {name} would change the setting: allowed are {', '.join(VIEW_ARGUMENTS)}")


def arguments_of(setting: Setting, player: Player, kwargs: Mapping[str, object]) -> dict[str, object]:
    """Returns the arguments of the environment in which a policy, or its first model, plays a setting."""
    view = _view_of(player.models[0], setting.spec) if player.learned else {}
    return {**setting.arguments(player), **view, **kwargs}


def model_file(path: Path) -> ModelFile:
    """Describes a model as results name it."""
    seed = _origin_of(path).get("seed")
    return ModelFile(name=path.name, digest=model_digest(path), seed=seed if isinstance(seed, int) else None)


def model_digest(path: Path) -> str:
    """Returns the digest of a model, of its network and weights: it has the same one in another archive."""
    from flowsched_gym.integrations.archive import is_archive  # noqa: PLC0415 - Stable-Baselines3 is optional
    from flowsched_gym.integrations.models import network_digest, read_model  # noqa: PLC0415 - the same

    try:
        if is_archive(path):
            return network_digest(read_model(path))
        with zipfile.ZipFile(io.BytesIO(read_bytes(path))) as archive:
            return digest_of(archive.read(WEIGHTS))
    except OSError as error:
        raise ConfigError(f"model {path} cannot be read: {error.strerror}") from None
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ConfigError(f"model {path} cannot be read: {error}") from None


def models_by_digest(folder: str | Path) -> dict[str, Path]:
    """Finds the models in a folder and two levels below, packed or not, by their digests (`model_digest`).

    Raises:
        ConfigError: There is no such folder, or a file there is no model.
    """
    if not is_folder(folder := folder_of(folder)):
        raise ConfigError(f"--models is {shown(str(folder))}: there is no such folder")
    below = folders_in(folder)
    folders = [folder, *below, *(each for part in below for each in folders_in(part))]
    return {model_digest(path): path for each in folders for path in files_in(each, MODEL_SUFFIX)}


def file_version(player: Player) -> dict[str, str]:
    """Returns the digest of a policy file by its name, to stand among the versions; nothing of other policies."""
    if player.kind is not Kind.FILE:
        return {}
    path = Path(str(player.source))
    return {path.name: digest_of(path.read_bytes())}


def _view_of(path: Path, spec: EnvironmentSpec) -> dict[str, object]:
    """Returns what a model was trained to see; refuses one of another environment."""
    origin = _origin_of(path)
    trained_for = str(origin.get("environment", spec.id)).rpartition(":")[2]
    if trained_for != spec.id:
        raise ConfigError(f"model {path} was trained for {trained_for}")
    seen = origin.get("kwargs", {})
    return {name: seen[name] for name in VIEW_ARGUMENTS if name in seen}


def _origin_of(path: Path) -> dict[str, Any]:
    """Returns what a model's file says of its training; nothing where the package did not write it."""
    return read_model(path)["origin"] if is_archive(path) else {}
