"""Compiles rules and engines by Numba: decorators, machine code on disk, and what is said meanwhile."""
