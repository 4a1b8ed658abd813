"""Schemas of the configuration files, their registration with Hydra, and error messages."""
