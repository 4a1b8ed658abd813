"""Plays policies in the settings of a suite.

A result file is named by its setting and policy. What has been played already is not played again: a run that was
interrupted goes on where it stopped.
"""

import ast
import contextlib
import io
import re
import time
import zipfile
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from flowsched_gym import evaluation
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.core.files import open_to_read
from flowsched_gym.core.packed import files_in, folder_of, is_folder, packed_file, read_bytes
from flowsched_gym.envs.policies import Policy
from flowsched_gym.evaluation import BOUND_POLICY, EvaluationResult, ModelFile, Progress, Provenance, Run, evaluate
from flowsched_gym.evaluation.result_checks import builtin_names
from flowsched_gym.evaluation.result_files import digest_of, file_name
from flowsched_gym.evaluation.results import check_own_name
from flowsched_gym.integrations.archive import is_archive
from flowsched_gym.integrations.models import read_model
from flowsched_gym.leaderboard.kept import model_path
from flowsched_gym.leaderboard.policy_process import NO_LIMITS, Limits, played_apart
from flowsched_gym.leaderboard.published import published_names
from flowsched_gym.leaderboard.suite import VIEW_ARGUMENTS, Setting, Suite
from flowsched_gym.machine_code.decorators import compiles
from flowsched_gym.registration import MODEL_SUFFIX, is_model
from flowsched_gym.systems import OPTIONS

Players = Generator[tuple[ModelFile | None, str | Policy, dict[str, object]], None, None]
SEED_IN_NAME: Final = re.compile(r"seed[-_]?(\d+)")
FILE_SUFFIX: Final = ".py"
"""What the path of a policy file ends with."""
WEIGHTS: Final = "policy.pth"
"""Where a file of Stable-Baselines3 has its weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A policy that takes part.

    Attributes:
        label: Its name on the leaderboard.
        source: Name of a heuristic or of the bound, ``module:Class``, path of a policy file (``.py``), name or path of
            a model, or a folder of models.
        models: Model files, one for each training; none for other policies.
    """

    label: str
    source: str
    models: tuple[Path, ...] = ()


def entrants_of(sources: Sequence[str], *, label: str | None = None) -> list[Entrant]:
    """Finds out what each source is: a name, a class, a file, a model, or a folder with a model for each training.

    The label names the only one; by default policies are called as the name, the class, the file or the folder.

    Raises:
        ConfigError: There is no such model, a folder has none, a name is not allowed, or two are called alike.
    """
    if label is not None and len(sources) != 1:
        raise ConfigError(f"--label is {shown(label)}: it names one policy, and {len(sources)} are given")
    entrants = []
    for source in sources:
        path = folder_of(source)
        models: tuple[Path, ...] = ()
        name = source
        if is_model(source):
            models = (model_path(source),)
            name = models[0].stem
        elif is_folder(path):
            models, name = tuple(sorted(files_in(path, MODEL_SUFFIX), key=_seed_and_name)), path.resolve().name
            if not models:
                raise ConfigError(f"--policy is {shown(source)}: the folder has no model (*{MODEL_SUFFIX})")
        elif source.endswith(FILE_SUFFIX):
            name = path.stem
        elif ":" in source:
            target = source.rpartition(":")[2]
            name = target if target.isidentifier() else source
        name = name if label is None else label
        known, builtin = name.partition(OPTIONS)[0], builtin_names()
        if known.casefold() in builtin and (models or source.partition(OPTIONS)[0] != known):
            raise ConfigError(
                f"--policy {shown(source)} would have the name {shown(name)} of a policy of the package: give it "
                "another one by --label"
            )
        if known not in builtin:
            check_own_name("--policy" if label is None else "--label", name, builtin | published_names())
        entrants.append(Entrant(label=name, source=source, models=models))
    check_once([entrant.label for entrant in entrants])
    check_once([file_name(entrant.label) for entrant in entrants])
    return entrants


def check_once(names: Sequence[str]) -> None:
    """Refuses a name that comes twice."""
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--policy gives {name!r} twice: each policy must have a name of its own")


def result_path(folder: str | Path, setting: Setting, label: str) -> Path:
    """Returns where the result of a policy in a setting lies: in the file of the setting, where there is one."""
    packed = Path(folder) / Path(file_name(setting.name)).stem
    return packed / file_name(label) if packed_file(packed).is_file() else Path(folder) / file_name(setting.name, label)


def play(
    suite: Suite,
    setting: Setting,
    entrant: Entrant,
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
    for name in kwargs or ():
        if name not in VIEW_ARGUMENTS:
            raise ConfigError(f"--kwarg {name} would change the setting: allowed are {', '.join(VIEW_ARGUMENTS)}")
    seeds = suite.test if seeds is None else seeds
    runs: list[Run] = []
    played: dict[str, object] = {}

    def tell(done: int, _: int) -> None:
        if progress is not None:
            progress(len(runs) * len(seeds) + done, max(1, len(entrant.models)) * len(seeds))

    with contextlib.closing(players(setting, entrant, kwargs or {}, trust=trust, limits=limits)) as playing:
        for model, policy, arguments in playing:
            if runs and arguments != played:
                raise ConfigError(
                    f"{entrant.source}: its models were trained with different arguments of the environment"
                )
            played = arguments
            episodes: Any = {"episodes": len(seeds), "seed": seeds, "progress": tell}
            if policy == BOUND_POLICY:
                result = evaluation.evaluate_bound(setting.spec, kwargs=arguments, **episodes)
            else:
                sooner = {"engine": "compiled", **arguments} if compiles() else arguments  # the same bits
                result = evaluate(setting.spec, policy, kwargs=sooner, label=entrant.label, repeat=True, **episodes)
            runs.append(Run(model=model, episodes=result.episodes))
    made = Provenance.here(command=command, seconds=time.monotonic() - begun, with_models=bool(entrant.models))
    return EvaluationResult(
        environment=setting.spec.id,
        kwargs=played,
        policy=entrant.label,
        source=entrant.source,
        runs=tuple(runs),
        reference=None if seeds != suite.test else suite.reference(setting),
        made=replace(made, versions={**made.versions, **file_version(entrant)}),
    )


def players(
    setting: Setting, entrant: Entrant, kwargs: Mapping[str, object], *, trust: bool, limits: Limits = NO_LIMITS
) -> Players:
    """Yields who plays, one after the other: the model's file, the policy, and arguments of the environment.

    A policy that is not the package's acts in a process of its own, which ends when the next one is asked for, or the
    generator is closed.
    """
    spec, source = setting.spec, entrant.source
    arguments: dict[str, object] = {**setting.kwargs, **kwargs}
    if entrant.models:
        yield from _models(setting, entrant, kwargs, trust=trust, limits=limits)
    elif source == BOUND_POLICY:
        if not spec.bounded:
            raise ConfigError(f"policy {source!r} does not play here: flows have no deadlines")
        yield None, source, arguments
    elif spec.names(source):
        yield None, source, {**setting.heuristic_kwargs(source), **kwargs}
    elif source.endswith(FILE_SUFFIX):
        target = f"{Path(source).resolve()}:{class_of(Path(source))}"
        with played_apart(entrant.label, target, spec, arguments) as policy:
            yield None, policy, arguments
    elif ":" not in source:
        raise ConfigError(f"policy {source!r} does not play here: {', '.join(spec.named_policies)} do")
    else:
        with played_apart(entrant.label, source, spec, arguments, limits=limits) as policy:
            yield None, policy, arguments


def _models(
    setting: Setting, entrant: Entrant, kwargs: Mapping[str, object], *, trust: bool, limits: Limits
) -> Players:
    """Yields the models of an entrant as `players` does; each sees what it was trained to see."""
    spec = setting.spec
    for path in entrant.models:
        origin = read_model(path)["origin"] if is_archive(path) else {}
        trained_for = str(origin.get("environment", spec.id)).rpartition(":")[2]
        if trained_for != spec.id:
            raise ConfigError(f"model {path} was trained for {trained_for}")
        seen = origin.get("kwargs", {})
        view = {name: seen[name] for name in VIEW_ARGUMENTS if name in seen}
        arguments: dict[str, object] = {**setting.kwargs, **view, **kwargs}
        how: Any = {"is_model": True, "trust": trust, "limits": limits}
        with played_apart(entrant.label, str(path), spec, arguments, **how) as policy:
            seed = origin.get("seed")
            model = ModelFile(name=path.name, digest=model_digest(path), seed=seed if isinstance(seed, int) else None)
            yield model, policy, arguments


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


def file_version(entrant: Entrant) -> dict[str, str]:
    """Returns the digest of a policy file by its name, to stand among the versions; nothing of other policies."""
    if entrant.models or not entrant.source.endswith(FILE_SUFFIX):
        return {}
    with open_to_read(entrant.source, "policy", "a policy file (.py)") as path:
        return {path.name: digest_of(path.read_bytes())}


def class_of(path: Path) -> str:
    """Finds the one class of a policy file that has ``predict``, without running the file."""
    with open_to_read(path, "policy", "a policy file (.py)") as file:
        text = file.read_bytes()
    try:
        tree = ast.parse(text, filename=str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ConfigError(f"{path} is not Python: {error}") from None
    classes = [
        each.name
        for each in tree.body
        if isinstance(each, ast.ClassDef)
        and any(isinstance(part, ast.FunctionDef) and part.name == "predict" for part in each.body)
    ]
    if len(classes) != 1:
        raise ConfigError(f"{path} has {shown(classes)}: it must have one class with a method predict")
    return classes[0]


def _seed_and_name(path: Path) -> tuple[int, str]:
    """Orders models of a folder by their training seeds."""
    match = SEED_IN_NAME.search(path.stem)
    return (int(match[1]) if match else -1, path.name)
