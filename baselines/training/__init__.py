"""Training of Stable-Baselines3's algorithms and REINFORCE: environments, callbacks, checkpoints and loggers."""
