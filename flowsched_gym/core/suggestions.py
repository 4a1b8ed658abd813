"""Suggests the name that was probably meant, for messages about names that do not exist."""

import difflib
from collections.abc import Iterable


def similar(name: object, known: Iterable[str]) -> str:
    """Returns `` (did you mean 'edf'?)`` with the most similar known name, or nothing where none is similar.

    Upper and lower case, and ``_``, ``-`` and spaces, count as the same.
    """
    if not isinstance(name, str):
        return ""
    plain = {_plain(each): str(each) for each in known}
    found = difflib.get_close_matches(_plain(name), plain, n=1)
    return f" (did you mean {plain[found[0]]!r}?)" if found else ""


def listed(name: object, known: Iterable[str]) -> str:
    """Lists known names for a message, ``none`` if there is none, and suggests the one that was probably meant."""
    names = list(known)
    return f"{', '.join(names) or 'none'}{similar(name, names)}"


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(" ", "-")
