"""Draws a workload into a flow file: ``flowsched workload``."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from flowsched_gym.cli.arguments import key_values
from flowsched_gym.cli.progress import ProgressBar
from flowsched_gym.errors import ConfigError, MissingDependencyError
from flowsched_gym.files import check_target, read_json
from flowsched_gym.units import BYTES_PER_MEGABYTE
from flowsched_gym.workload import draw_flows, make_workload, parse_variant, write_flows
from flowsched_gym.workload.named import NamedConfig

__all__ = ["run"]

JSON_SUFFIX: Final = ".json"
YAML_SUFFIXES: Final = (".yaml", ".yml")


def run(options: argparse.Namespace) -> None:
    """Draws the flows and writes them."""
    fields = key_values("--param", options.param)
    if options.load is not None:
        if "load" in fields:
            raise ConfigError("load is given twice: by --load and by --param")
        fields |= {"load": options.load}
    config = _find(options.name, fields)
    check_target(options.out)
    workload = draw_flows(config, num_flows=options.flows, seed=options.seed)
    with ProgressBar("writing flows") as progress:
        write_flows(workload, options.out, progress=progress)
    first, last = workload.arrival_time.min(), workload.arrival_time.max()
    load = "" if config.offered_load is None else f", load {config.offered_load:.3g}"
    print(
        f"{options.out}: {workload.num_flows} flows, {workload.size.sum() / BYTES_PER_MEGABYTE:.4g} MB, "
        f"arriving from {first:.4g} s to {last:.4g} s{load}"
    )
    if workload.link_changes is not None:
        print(
            f"{options.out}: a flow file holds flows alone: {workload.link_changes.num_changes} link changes left out"
        )


def _find(name: str, fields: Mapping[str, object]) -> NamedConfig:
    """Finds a workload by its name, or reads the file that describes it, and changes fields."""
    if not name.endswith((JSON_SUFFIX, *YAML_SUFFIXES)):
        return make_workload(name, **fields)
    path = Path(name)
    content = read_json(path) if name.endswith(JSON_SUFFIX) else _read_yaml(path)
    if not isinstance(content, dict):
        raise ConfigError(f"{name}: it must be a mapping with a base or a kind, and fields of the workload")
    try:
        return parse_variant({"name": path.stem, **content, **fields}, path.parent)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _read_yaml(path: Path) -> Any:
    """Reads YAML as the training commands do."""
    try:
        from omegaconf import OmegaConf  # noqa: PLC0415 - optional
        from omegaconf.errors import OmegaConfBaseException  # noqa: PLC0415 - the same
        from yaml import YAMLError  # noqa: PLC0415 - the same
    except ImportError:
        raise MissingDependencyError("omegaconf", extra="train", purpose="read YAML files") from None
    try:
        return OmegaConf.to_container(OmegaConf.create(path.read_text(encoding="utf-8")), resolve=True)
    except (YAMLError, OmegaConfBaseException, RecursionError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: this is not YAML: {error}") from None
