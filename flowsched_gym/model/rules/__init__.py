"""Arithmetic and scheduling decisions as pure functions on arrays, compiled by Numba and called by every engine."""

__all__: list[str] = []
