"""Versioned suites: the settings in which policies are compared, and the seeds of training, validation and test.

A suite is a JSON file, so that it can be written down, quoted and extended without code::

    schema    "flowsched-suite/2"
    name      name and version, such as "standard-v3"
    seeds     first and last seed of "training", "validation" and "test"; the three do not overlap
    settings  by name: "environment" (id), "kwargs" (its arguments), "metric" (what its table is ordered by), "tier"
              (one of `TIERS`), "actions" and "information" (what its agents may do and know, in the words of
              `flowsched_gym.systems.Ability`) and "reference" (the row whose mean has the score 1)

Calibration settings, where random is close to the best that is known, are shown and not counted; headline settings make
the score of a suite, and those of shift, whose traffic no agent was trained on, one of their own. Settings of papers
are as a paper has them, whatever their range, and not counted; the score 1 has what the paper compares with. Suites of
the schema ``flowsched-suite/1`` have neither tiers nor the keys that follow: their agents may do and know what any may.

The suites of the package never change; what changes becomes a new version. `Suite.digest` tells two suites apart that
have the same name.

Results belong to one table when their environments show the same flows under the same rules. What an agent sees, is
rewarded for and may do besides (`VIEW_ARGUMENTS`) is its own business: a policy that learned from another reward still
meets, or misses, the same deadlines.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from flowsched_gym.core.arrays import is_whole
from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.core.files import read_json
from flowsched_gym.core.packed import is_file, is_folder
from flowsched_gym.evaluation import BOUND_POLICY, EvaluationResult, SuiteReference, read_result, result_paths
from flowsched_gym.evaluation.result_files import digest_of
from flowsched_gym.evaluation.results import check_name, check_printable
from flowsched_gym.flows.metrics import METRIC_NAMES
from flowsched_gym.leaderboard.secret_seeds import mark
from flowsched_gym.players import Kind, Player, find_player
from flowsched_gym.registration import check_arguments, find_environment, widest_ability
from flowsched_gym.systems import OPTIONS, Ability, EnvironmentSpec
from flowsched_gym.workload import is_workload_name, read_workload

SCHEMAS: Final = ("flowsched-suite/1", "flowsched-suite/2")
SUFFIX: Final = ".json"
PHASES: Final = ("training", "validation", "test")
KEYS: Final = ("schema", "name", "seeds", "settings")
SETTING_KEYS: Final = ("environment", "kwargs", "metric")
COMPARISON_KEYS: Final = ("tier", "actions", "information", "reference")
"""Keys that a setting has besides since the second schema."""
CALIBRATION, HEADLINE, SHIFT, PAPERS = TIERS = ("calibration", "headline", "shift", "papers")
VERSION: Final = re.compile(r".+-v[1-9][0-9]*")

_FOLDER: Final = resources.files("flowsched_gym.leaderboard") / "suites"
SUITES: Final = tuple(sorted(entry.name.removesuffix(SUFFIX) for entry in _FOLDER.iterdir()))
VIEW_ARGUMENTS: Final = (
    *("observation", "information", "typical_kb"),
    *("reward", "reward_scale_ms", "tail_weight", "defer", "engine"),
)
"""Arguments of environments that change neither the flows nor what the network does with them."""
COMPARED: Final = ("deadline_hit_ratio", "mean_fct", "p99_fct")
"""Metrics that a comparison needs; of the bound the first one alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """An environment and the arguments under which policies are compared.

    Attributes:
        name: Its name in its suite; empty for a setting of no suite.
        spec: The environment.
        kwargs: Its arguments, those of `VIEW_ARGUMENTS` left out.
        metric: Metric that its table is ordered by.
        tier: One of `TIERS`; empty in suites that have none.
        ability: What its agents may do and know; ``None`` where none is named.
        reference: Policy whose mean has the score 1; empty for the best rule with the ability.
    """

    name: str = ""
    spec: EnvironmentSpec
    kwargs: Mapping[str, object]
    metric: str
    tier: str = ""
    ability: Ability | None = None
    reference: str = ""

    @property
    def summary(self) -> str:
        """What a list of settings has beside its name: two settings of a suite differ in it, or not at all."""
        first = f"{self.spec.id}  {self.title}"
        return first if self.ability is None else "{}  actions: {}; information: {}".format(first, *self.ability.words)

    @property
    def title(self) -> str:
        """What stands above the table, such as ``gather-heavy, k = 3, f = 10``."""
        workload = self.kwargs.get("workload")
        others = [f"{name} = {value}" for name, value in self.kwargs.items() if name != "workload"]
        if workload is None:
            return ", ".join(others) or "default arguments"
        # A result file may be of a version that has other names.
        label = workload if is_workload_name(workload) else read_workload(workload).label
        return ", ".join([label, *others])

    def arguments(self, player: Player) -> dict[str, object]:
        """The arguments, and those that let a heuristic see and do what it needs where their defaults do not.

        A planner may do what the agents of the setting may.
        """
        defaults = check_arguments(self.spec, ())
        needed = player.arguments({})
        if self.ability is not None and player.kind is Kind.PLANNER:
            offers = [(name, *offer) for name, values in self.spec.abilities.items() for offer in values.items()]
            offered = {name: value for name, value, adds in offers if adds.actions and self.ability.covers(adds)}
            needed = offered | needed
        return {**self.kwargs, **{name: value for name, value in needed.items() if defaults[name].default != value}}

    def holds(self, result: EvaluationResult) -> bool:
        """Returns whether a result was played in this setting; arguments left out have their defaults."""
        return result.environment == self.spec.id and (
            self._whole(result.kwargs) == self._whole({**self.kwargs, **self.settings_of(result.source)})
        )

    def settings_of(self, source: str | None) -> Mapping[str, object]:
        """Arguments that options of a rule stand for, its own business: ``edf:queue=whole`` has a larger ``f``."""
        if source is None or OPTIONS not in source or not self.spec.names(source):
            return {}
        return find_player(source, self.spec).settings

    def _whole(self, kwargs: Mapping[str, object]) -> dict[str, object]:
        """Fills in defaults of arguments and leaves out the agent's own business; files have lists for tuples."""
        return {
            name: tuple(value) if isinstance(value := kwargs.get(name, parameter.default), list) else value
            for name, parameter in check_arguments(self.spec, kwargs).items()
            if name not in VIEW_ARGUMENTS
        }


Groups = Sequence[tuple[Setting, Sequence[EvaluationResult]]]
"""Settings and their results, each policy once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """Settings in which policies are compared, by name, and seeds, with a digest of all this.

    Attributes:
        training: Seeds of training, from the first to the last.
        validation: Seeds to choose among agents and their settings.
        test: Seeds of the episodes whose results are compared.
    """

    name: str
    settings: Mapping[str, Setting]
    training: range
    validation: range
    test: range
    digest: str

    @property
    def taken(self) -> tuple[range, range, range]:
        """Seeds that have a purpose: episodes of none of them are secret."""
        return self.training, self.validation, self.test

    def reference(self, setting: Setting) -> SuiteReference:
        """Returns what a result of a setting keeps of the suite."""
        return SuiteReference(suite=self.name, digest=self.digest, setting=setting.name)

    def select(self, names: list[str]) -> list[Setting]:
        """Lists settings by their names or by the ids of environments; all of them where none is named."""
        environments = {setting.spec.id for setting in self.settings.values()}
        for name in names:
            if name not in self.settings and name not in environments:
                known = [*self.settings, *sorted(environments)]
                raise ConfigError(f"--env is {shown(name)}: suite {self.name} has {listed(name, known)}")
        settings = self.settings.values()
        return [each for each in settings if not names or each.name in names or each.spec.id in names]


def load_suite(name: str | Path) -> Suite:
    """Reads a suite of the package, with its version (``standard-v3``) or the newest one, or a suite file (``.json``).

    Raises:
        ConfigError: There is no such suite, or its content is not allowed.
        OSError: The file cannot be read.
    """
    text = str(name)
    if text.endswith(SUFFIX):
        return _read(Path(text), text)
    versions = {int(known.rpartition("-v")[2]): known for known in SUITES if text in (known, known.rpartition("-v")[0])}
    if not versions:
        raise ConfigError(f"suite is {shown(text)}: it must be {listed(text, SUITES)}, or a file *{SUFFIX}")
    newest = versions[max(versions)]
    with resources.as_file(_FOLDER / f"{newest}{SUFFIX}") as path:
        return _read(path, newest)


def read_results(folder: str | Path, models: Collection[str] = ()) -> list[EvaluationResult]:
    """Reads all results of a folder or file (`result_paths`), with the marks of those that were verified.

    ``models`` are the digests of models at hand, which back the results of agents.

    Raises:
        ConfigError: There is no such folder or file, or a file is no result.
    """
    if not is_folder(folder) and not is_file(folder):
        raise ConfigError(f"results is {str(folder)!r}: there is no such folder or file")
    results = []
    for path in result_paths(folder):
        result = read_result(path)
        for name in COMPARED[:1] if result.policy == BOUND_POLICY else COMPARED:
            if name not in result.metric_names:
                needed = ", ".join(COMPARED)
                raise ConfigError(f"{path}: episodes, metrics has no {name!r}: a comparison needs {needed}")
        backed = result.learned and {run.model.digest for run in result.runs if run.model} <= set(models)
        results.append(replace(result, secret=mark(path, result), backed=backed))
    return results


def group_results(
    results: Sequence[EvaluationResult], settings: Sequence[Setting] = ()
) -> list[tuple[Setting, list[EvaluationResult]]]:
    """Sorts results into settings, without empty ones; those of no setting make settings of their own, at the end.

    Two settings may differ in nothing but what their agents may do: a result then says for which of them it was played.
    """
    groups: list[tuple[Setting, list[EvaluationResult]]] = [(setting, []) for setting in settings]
    for result in results:
        holding = [(setting, members) for setting, members in groups if setting.holds(result)]
        said = None if result.reference is None else result.reference.setting
        holding.sort(key=lambda group: group[0].name != said)
        members = holding[0][1] if holding else None
        if members is None:
            kwargs = {key: value for key, value in result.kwargs.items() if key not in VIEW_ARGUMENTS}
            groups.append((Setting(spec=result.spec, kwargs=kwargs, metric=result.spec.metric), members := []))
        members.append(result)
    return [(setting, members) for setting, members in groups if members]


def _read(path: Path, where: str) -> Suite:
    content = read_json(path)
    check_printable(where, content)
    _check_keys(where, "the suite", content, KEYS)
    if content["schema"] not in SCHEMAS:
        allowed = " or ".join(map(repr, SCHEMAS))
        raise ConfigError(f"{where}: schema is {shown(content['schema'])}: it must be {allowed}")
    if not isinstance(content["name"], str) or not VERSION.fullmatch(content["name"]):
        raise ConfigError(f"{where}: name is {shown(content['name'])}: it must end in its version, such as mine-v1")
    check_name("name", content["name"])
    _check_keys(where, "seeds", content["seeds"], PHASES)
    seeds = {phase: _range(where, phase, content["seeds"][phase]) for phase in PHASES}
    for first, second in combinations(PHASES, 2):
        if max(seeds[first][0], seeds[second][0]) <= min(seeds[first][-1], seeds[second][-1]):
            raise ConfigError(f"{where}: the seeds of {first} and {second} overlap: each needs seeds of its own")
    if not isinstance(content["settings"], dict) or not content["settings"]:
        raise ConfigError(f"{where}: settings must be an object with a setting for each name")
    more = COMPARISON_KEYS if content["schema"] == SCHEMAS[1] else ()
    settings = {name: _setting(where, name, value, more) for name, value in content["settings"].items()}
    return Suite(name=content["name"], settings=settings, digest=digest_of(content), **seeds)


def _setting(where: str, name: str, content: Any, more: tuple[str, ...]) -> Setting:
    check_name("the name of a setting", name)
    _check_keys(where, name, content, (*SETTING_KEYS, *more))
    if not isinstance(content["kwargs"], dict):
        raise ConfigError(f"{where}: {name}, kwargs is {shown(content['kwargs'])}: it must be an object")
    if (metric := content["metric"]) not in METRIC_NAMES:
        raise ConfigError(f"{where}: {name}, metric is {shown(metric)}: it must be {listed(metric, METRIC_NAMES)}")
    try:
        spec, kwargs = find_environment(str(content["environment"])), content["kwargs"]
        check_arguments(spec, kwargs)
        if isinstance(kwargs.get("workload"), Mapping):  # in the form in which results keep it
            kwargs = {**kwargs, "workload": read_workload(kwargs["workload"]).plain()}
    except ConfigError as error:
        raise ConfigError(f"{where}: {name}: {error}") from None
    setting = Setting(name=name, spec=spec, kwargs=kwargs, metric=metric)
    if not more:
        return setting
    if (tier := content["tier"]) not in TIERS:
        raise ConfigError(f"{where}: {name}, tier is {shown(tier)}: it must be one of {listed(str(tier), TIERS)}")
    if not isinstance(reference := content["reference"], str) or not reference:
        raise ConfigError(f"{where}: {name}, reference is {shown(reference)}: it must name a policy")
    for key, known in widest_ability(spec, trained=True)._asdict().items():
        found = content[key]
        if not isinstance(found, list) or not set(map(str, found)) <= set(known) or len(set(found)) < len(found):
            allowed = ", ".join(known)
            raise ConfigError(f"{where}: {name}, {key} is {shown(found)}: it must be a list of some of {allowed}")
    ability = Ability.of(content["actions"], content["information"])
    return replace(setting, tier=tier, ability=ability, reference=reference)


def _range(where: str, phase: str, value: Any) -> range:
    """Reads the first and the last of some seeds."""
    if not (isinstance(value, list) and len(value) == 2 and all(map(is_whole, value)) and 0 <= value[0] <= value[1]):
        raise ConfigError(f"{where}: seeds, {phase} is {shown(value)}: it must be the first and the last seed, >= 0")
    return range(value[0], value[1] + 1)


def _check_keys(where: str, what: str, content: Any, keys: tuple[str, ...]) -> None:
    if not isinstance(content, dict) or set(content) != set(keys):
        found = ", ".join(map(str, content)) if isinstance(content, dict) else type(content).__name__
        raise ConfigError(f"{where}: {what} has {found}: it must be an object with {', '.join(keys)}")
