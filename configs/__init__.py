"""Holds the Hydra configuration files of the training commands; imported as ``flowsched_gym.configs``."""
