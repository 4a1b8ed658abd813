"""Refuses texts of result files that would be more than text where they are shown: in Markdown, HTML or a terminal."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from flowsched_gym.core.errors import ConfigError, shown

NAME: Final = re.compile(r"[\w .,:/+=%()-]{1,200}")
"""Letters, digits, and marks that no format gives a meaning."""
LABEL: Final = re.compile(r"[A-Za-z0-9_ .,:/+=%-]{1,200}")
"""What the name of a policy may have: no letters that look like others, and no brackets, as tables add in some."""
CONTROLS: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of control and format characters, surrogates, and ends of lines and paragraphs."""
LINK: Final = re.compile(r"://|www\.", re.IGNORECASE)
"""What makes a link of a plain text."""


def check_name(name: str, value: str) -> None:
    """Refuses a name that Markdown or HTML would read as more than a text.

    Args:
        name: What is named, for the message.
        value: The name.

    Raises:
        ConfigError: It has other characters, or is a link.
    """
    if not NAME.fullmatch(value) or not value.isprintable():
        raise ConfigError(
            f"{name} is {shown(value)}: it must have 1 to 200 letters, digits, spaces and . , : / + = % ( ) _ -"
        )
    if LINK.search(value):
        raise ConfigError(f"{name} is {shown(value)}: it must not be a link")


def check_label(name: str, value: str) -> None:
    """Refuses a name of a policy that could be taken for another policy's, or for what a table adds to names.

    Args:
        name: What is named, for the message.
        value: The name.

    Raises:
        ConfigError: It could.
    """
    check_name(name, value)
    if not LABEL.fullmatch(value) or value != value.strip():
        raise ConfigError(
            f"{name} is {shown(value)}: the name of a policy must have letters from a to z, digits, spaces and "
            ". , : / + = % _ - (--label gives one)"
        )


def check_printable(where: str, content: object) -> None:
    """Refuses control characters, such as escape codes of a terminal, in all texts of a JSON document.

    Args:
        where: Where the content stands, for the message.
        content: The document, or a part of it.

    Raises:
        ConfigError: A text has one.
    """
    if isinstance(content, str):
        if any(unicodedata.category(letter) in CONTROLS for letter in content):
            raise ConfigError(f"{where} has the text {shown(content)}: it must have no control characters")
    elif isinstance(content, Mapping):
        for key, value in content.items():
            check_printable(where, key)
            check_printable(where, value)
    elif isinstance(content, (list, tuple)):
        for value in content:
            check_printable(where, value)
