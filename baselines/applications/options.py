"""Options among the words of a command line: Hydra takes them before the settings alone."""

from collections.abc import Collection, Sequence
from typing import Final

from hydra._internal.utils import get_args_parser

from flowsched_gym.core.errors import ConfigError, similar

SETTING: Final = "="


def options_first(words: Sequence[str], settings: Collection[str]) -> list[str]:
    """Moves the options of a command line, with their values, before its settings, whose names are known.

    Raises:
        ConfigError: There is no such option.
    """
    known = get_args_parser()._option_string_actions
    options: list[str] = []
    overrides: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            overrides.append(word)
            continue
        name, given, _ = word.partition(SETTING)
        action = known.get(name) or next((known[each] for each in known if each.startswith(name)), None)
        if action is None:
            raise ConfigError(_no_option(word, left, settings))
        options.append(word)
        takes_one = action.nargs is None or (action.nargs == "?" and bool(left) and left[0] in (action.choices or ()))
        if takes_one and not given and left:
            options.append(left.pop(0))
    return options + overrides


def _no_option(word: str, following: Sequence[str], settings: Collection[str]) -> str:
    """Tells that there is no such option, and how the setting is written that may have been meant."""
    name, given, value = word.lstrip("-").partition(SETTING)
    if not given and following and not following[0].startswith("-") and SETTING not in following[0]:
        value = following[0]
    near = similar(name, settings) if name not in settings else ""
    return f"there is no option {word.partition(SETTING)[0]}: settings have no dashes, {name}={value or '...'}{near}"
