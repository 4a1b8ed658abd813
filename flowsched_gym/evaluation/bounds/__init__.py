"""Bounds of what any scheduler could reach."""
