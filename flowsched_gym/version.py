"""The version of the package, where every layer can read it."""

from typing import Final

__version__: Final = "0.1.0"
