"""Sharing of links among flows."""
