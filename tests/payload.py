"""Puts code into archives that would run if anything of them were unpickled."""

import base64
import json
import pickle
import warnings
import zipfile
from pathlib import Path


class _Payload:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self._marker,)


def add_payload(path: Path, name: str, *, marker: Path) -> None:
    """Adds a member to an archive, pickled as it is and as Stable-Baselines3 keeps pickled parts in its ``data``.

    When it is unpickled, the marker is there.
    """
    pickled = pickle.dumps(_Payload(marker))
    part = {":type:": "<class 'object'>", ":serialized:": base64.b64encode(pickled).decode()}
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")  # a member of this name may be there already
        archive.writestr(name, json.dumps({"payload": part}) if name == "data" else pickled)
