"""The version of the package, where every layer can read it."""

from typing import Final

__all__ = ["__version__"]

__version__: Final = "0.1.0"
