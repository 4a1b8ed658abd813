"""Offers published datacenter flow-scheduling problems as Gymnasium environments on one model of the network."""

from typing import Final

__all__ = ["__version__"]

__version__: Final = "0.1.0"
