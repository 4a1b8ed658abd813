"""Who plays: names, options, classes, files, models and objects, all read in one place."""

from functools import partial

from flowsched_gym.players.kept import KeptAgent, kept_agents, load_agent
from flowsched_gym.players.player import (
    BOUND_POLICY,
    Kind,
    Player,
    arguments_of_agents,
    check_once,
    find_player,
    make_policy,
    told_apart,
)

__all__ = [
    "BOUND_POLICY",
    "KeptAgent",
    "Kind",
    "Player",
    "arguments_of_agents",
    "check_once",
    "find_player",
    "kept_agents",
    "load_agent",
    "make_policy",
    "told_apart",
]
__dir__ = partial(sorted, __all__)
