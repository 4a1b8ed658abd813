"""Connects the environments with learning libraries; nothing is imported before it is asked for."""

__all__: list[str] = []
