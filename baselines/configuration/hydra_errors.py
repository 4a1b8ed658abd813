"""Rewrites what Hydra finds wrong with a command line as one line that names the key and what is allowed.

Hydra's own messages advise to add an unknown key by a plus sign, which gives a key that nothing reads.
"""

import re
from collections.abc import Collection, Iterable
from typing import Final

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from flowsched_gym.core.errors import MissingDependencyError, listed

UNKNOWN: Final = re.compile(r"Could not override '(?P<key>[^']+)'")
ADVICE: Final = re.compile(r"\s*(To append to your|Either remove \+|Or add a second).*", re.DOTALL)
SCHEMA: Final = "_schema"
"""End of the names of schemas, which no command line names."""
FILE_SUFFIX: Final = ".yaml"
LAUNCHERS: Final = "hydra/launcher"
PACKAGES: Final = {"ray": "hydra-ray-launcher", "submitit": "hydra-submitit-launcher"}
"""Packages that bring launchers, by the first word of these."""


def explain(error: HydraException, known: Collection[str]) -> str:
    """Writes a fault in one line; known are the keys and groups of the configuration, those of its parts with dots."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file and error.options is not None:
        group, _, option = error.missing_cfg_file.rpartition("/")
        if group == LAUNCHERS and option.startswith(tuple(PACKAGES)):
            package = PACKAGES[option.partition("_")[0]]
            return str(MissingDependencyError(package, extra="cluster", purpose="run a sweep on a cluster"))
        if option.endswith(FILE_SUFFIX):
            stem = option.removesuffix(FILE_SUFFIX)
            return (
                f"{group} is {option!r}: it must be a name; --config-dir FOLDER {group}={stem} reads "
                f"FOLDER/{group}/{option}"
            )
        options = [name for name in error.options if not name.endswith(SCHEMA)]
        return f"{group or 'the configuration'} is {option!r}: it must be one of {listed(option, options)}"
    if isinstance(error, OverrideParseException):
        return f"{error.override!r} is no override key=value: {str(error).splitlines()[0]}"
    cause = error.__cause__
    unknown = UNKNOWN.search(str(error))
    if unknown:
        last = unknown["key"].rpartition(".")[2]
        namesakes = [name for name in known if name.rpartition(".")[2] == last and name != unknown["key"]]
        if namesakes:
            return f"the configuration has no key {unknown['key']!r}: it is {' or '.join(namesakes)} here"
        key, parent = unknown["key"], getattr(cause, "parent_node", None)
        if isinstance(parent, DictConfig):
            key = str(cause.key) if isinstance(cause, OmegaConfBaseException) else key
            within = parent._get_full_key(None)
            names = [str(name) for name in parent]
            return f"{within or 'the configuration'} has no key {key!r}: it has {listed(key, _visible(names))}"
        return f"the configuration has no key {key!r}: it has {listed(key, _visible(known))}"
    reason = f": {str(cause).splitlines()[0]}" if isinstance(cause, OmegaConfBaseException) and str(cause) else ""
    return " ".join(ADVICE.sub("", str(error)).split()) + reason


def _visible(names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name != "hydra" and "." not in name})
