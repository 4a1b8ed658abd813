"""Experiment files that keep what a study has found, and how the command line names such a file."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from omegaconf import OmegaConf

from flowsched_gym.core.errors import ConfigError

EXPERIMENT: Final = "experiment"
SUFFIX: Final = ".yaml"
GROUPS: Final = ("env", "workload", "policy", "algorithm")
"""Groups of configuration files that decide what is trained."""
METRIC: Final = "evaluation.metric"
"""The one setting of the evaluation that an experiment keeps: its episodes are for validation."""
OF_THE_COMMAND: Final = frozenset(
    {"study", "trials", "run_name", "resume", "overwrite", "seed", "logger", "checkpoints", "progress_bar"}
)
"""Settings of a study, or of how its runs are kept, that are none of the trained agent's."""


def problem_overrides(overrides: Sequence[str]) -> list[str]:
    """Returns the overrides of a command line that say what is trained, and how.

    Raises:
        ConfigError: One adds or deletes a key.
    """
    kept = []
    for override in OverridesParser.create().parse_overrides(list(overrides)):
        assert override.input_line is not None
        if override.type is not OverrideType.CHANGE:
            raise ConfigError(f"{override.input_line} adds or deletes a key: a study changes settings alone")
        if override.key_or_group.partition(".")[0] not in OF_THE_COMMAND:
            kept.append(override.input_line)
    return kept


def experiment_text(
    overrides: Sequence[str], settings: Mapping[str, Any], choices: Mapping[str, Any], *, note: str
) -> str:
    """Writes an experiment file: overrides, settings that were found, the chosen file of each group, a note on top."""
    found = [f"{key}={value}" for key, value in settings.items()]
    parsed: list[Override] = OverridesParser.create().parse_overrides([*overrides, *found])
    chosen = dict(choices) | {each.key_or_group: each.value() for each in parsed if each.key_or_group in choices}
    defaults: list[Any] = [chosen[EXPERIMENT]] if chosen.get(EXPERIMENT) else []
    defaults += [{f"override /{group}": chosen[group]} for group in GROUPS]
    content = OmegaConf.create({"defaults": defaults})
    for each in parsed:
        key = each.key_or_group
        if key not in choices and (key == METRIC or not key.startswith("evaluation.")):
            OmegaConf.update(content, key, each.value(), force_add=True)
    return f"# @package _global_\n# {note}\n{OmegaConf.to_yaml(content)}"


def name_experiment_file() -> None:
    """Rewrites ``experiment=FOLDER/experiment/NAME.yaml`` in the command line as Hydra names such a file.

    Raises:
        ConfigError: There is no such file, or its folder has another name.
    """
    for index, word in enumerate(sys.argv):
        key, _, value = word.partition("=")
        if key == EXPERIMENT and value.endswith(SUFFIX):
            path = Path(value).absolute()
            if not path.is_file():
                raise ConfigError(f"experiment is {value!r}: there is no such file")
            if path.parent.name != EXPERIMENT:
                raise ConfigError(f"experiment is {value!r}: such a file must lie in a folder named {EXPERIMENT}")
            sys.argv[index] = f"{EXPERIMENT}={path.stem}"
            sys.argv[1:1] = ["--config-dir", str(path.parent.parent)]
            return
