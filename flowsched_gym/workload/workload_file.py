"""Reads workload files: a user's own workload, described in YAML or JSON (``variants.py`` has the keys)."""

from collections.abc import Mapping
from os import PathLike, fsdecode
from pathlib import Path
from typing import Any, Final, TypeGuard

from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.core.files import open_to_read, read_json
from flowsched_gym.workload.variants import plain_variant

JSON_SUFFIX: Final = ".json"
SUFFIXES: Final = (JSON_SUFFIX, ".yaml", ".yml")


def is_workload_file(workload: object) -> TypeGuard[str | PathLike[str]]:
    """Returns whether a path is one of a workload file, by its extension."""
    return isinstance(workload, (str, PathLike)) and fsdecode(workload).lower().endswith(SUFFIXES)


def read_workload_file(path: str | PathLike[str], changes: Mapping[str, object] | None = None) -> dict[str, object]:
    """Reads a workload file as the mapping that it stands for, which needs no file any more.

    Args:
        path: The file; it names the workload where the content does not, and paths of CDF files start from its folder.
        changes: Fields in place of those of the file.

    Raises:
        ConfigError: The file cannot be read, or describes no workload; the message names it.
        MissingDependencyError: It is YAML and omegaconf is not installed.
    """
    with open_to_read(path, "workload", "a workload file") as file:
        content = read_json(file) if file.suffix.lower() == JSON_SUFFIX else _read_yaml(file)
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: it must be a mapping with a base or a kind, and fields of the workload")
    try:
        return plain_variant({"name": file.stem, **content, **(changes or {})}, file.parent)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def _read_yaml(path: Path) -> Any:
    """Reads YAML as the training commands do."""
    try:
        from omegaconf import OmegaConf  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError("omegaconf", extra="train", purpose="read YAML files") from None
    with path.open(encoding="utf-8") as file:
        try:
            return OmegaConf.to_container(OmegaConf.load(file), resolve=True)
        except Exception as error:  # noqa: BLE001 - PyYAML raises KeyError, IndexError and more for values such as !!bool x
            raise ConfigError(f"{path}: this is not YAML: {error}") from None
