"""Trains, evaluates and compares policies as Hydra applications; imported as ``flowsched_gym.baselines``."""
