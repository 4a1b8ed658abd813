"""Settings in which policies are compared, and the result files that belong to each.

Results belong to one table when their environments show the same flows under the same rules. What an agent
sees, is rewarded for and may do besides (`VIEW_ARGUMENTS`) is its own business: a policy that learned from another
reward still meets, or misses, the same deadlines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import BOUND_POLICY, EvaluationResult, read_result
from flowsched_gym.registration import check_arguments, heuristic_arguments, system_of
from flowsched_gym.workload import workload_label

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
        environment: Id of the environment.
        kwargs: Its arguments, those of `VIEW_ARGUMENTS` left out.
        metric: Metric that its table is ordered by.
    """

    name: str = ""
    environment: str
    kwargs: Mapping[str, object]
    metric: str

    @property
    def title(self) -> str:
        """What stands above the table, such as ``gather-heavy, k = 3, f = 10``."""
        first = [workload_label(self.kwargs["workload"])] if self.kwargs.get("workload") is not None else []
        others = [f"{name} = {value}" for name, value in self.kwargs.items() if name != "workload"]
        return ", ".join(first + others) or "default arguments"

    def heuristic_kwargs(self, policy: str) -> dict[str, object]:
        """The arguments, and those besides that let a heuristic see and do what it needs, where these are no defaults.

        Raises:
            ConfigError: There is no such heuristic, or it has no such option.
        """
        defaults = check_arguments(self.environment, ())
        needed = heuristic_arguments(self.environment, {}, policy)
        return {**self.kwargs, **{name: value for name, value in needed.items() if defaults[name].default != value}}

    def holds(self, result: EvaluationResult) -> bool:
        """Returns whether a result was played in this setting; arguments left out have their defaults."""
        if result.environment != self.environment:
            return False
        return _complete(self.environment, result.kwargs) == _complete(self.environment, self.kwargs)


def read_results(folder: str | Path) -> list[EvaluationResult]:
    """Reads all result files of a folder, in the order of their names.

    Raises:
        ConfigError: The folder does not exist, or a file is no result.
        OSError: A file cannot be read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ConfigError(f"results is {str(folder)!r}: there is no such folder")
    results = []
    for path in sorted(folder.glob("*.json")):
        result = read_result(path)
        for name in COMPARED[: 1 if result.policy == BOUND_POLICY else None]:
            if name not in result.metric_names:
                raise ConfigError(
                    f"{path}: episodes, metrics has no {name!r}: a comparison needs {', '.join(COMPARED)}"
                )
        results.append(result)
    return results


def group_results(
    results: Sequence[EvaluationResult], settings: Sequence[Setting] = ()
) -> list[tuple[Setting, list[EvaluationResult]]]:
    """Sorts results into settings; those of no setting make settings of their own, behind the others.

    Args:
        results: The results.
        settings: The settings, such as those of a suite.

    Returns:
        Settings with at least one result, and their results.

    Raises:
        ConfigError: A result is of an unknown environment.
    """
    groups: list[tuple[Setting, list[EvaluationResult]]] = [(setting, []) for setting in settings]
    for result in results:
        for setting, members in groups:
            if setting.holds(result):
                members.append(result)
                break
        else:
            own = {key: value for key, value in result.kwargs.items() if key not in VIEW_ARGUMENTS}
            metric = default_metric(result)
            groups.append((Setting(environment=result.environment, kwargs=own, metric=metric), [result]))
    return [(setting, members) for setting, members in groups if members]


def default_metric(result: EvaluationResult) -> str:
    """Returns the metric that tables of a result's environment are ordered by.

    Raises:
        ConfigError: The environment is not known.
    """
    return system_of(result.environment)[1].metric


def _complete(env_id: str, kwargs: Mapping[str, object]) -> dict[str, object]:
    """Fills in the defaults of an environment's arguments and leaves out the agent's own business; files have lists."""
    return {
        name: tuple(value) if isinstance(value := kwargs.get(name, parameter.default), list) else value
        for name, parameter in check_arguments(env_id, kwargs).items()
        if name not in VIEW_ARGUMENTS
    }
