"""Artemis for libraries of several agents: each destination is one, by PettingZoo's parallel interface."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from flowsched_gym.core.checks import check_choice
from flowsched_gym.core.errors import InvalidAction, MissingDependencyError, shown
from flowsched_gym.systems.artemis.env import ArtemisEnv

try:
    from pettingzoo import ParallelEnv
except ImportError as error:
    missing = error.name or "pettingzoo"
    raise MissingDependencyError(missing, extra="pettingzoo", purpose="let each destination be an agent") from None


Observation = np.ndarray[Any, np.dtype[np.float32]]


class ParallelArtemis(ParallelEnv):  # type: ignore[misc]  # without type arguments of its own
    """Artemis with an agent for each destination.

    ## Description
    The model is ``flowsched/Artemis-v0``, event for event. A destination decides when it has a free token and a request
    waits, so that at each step one agent is asked; the others have nothing to decide. ``infos[agent]["asked"]`` and the
    action mask say who is asked.

    ## Agents
    ``destination_0``, ``destination_1``, ...: the destinations of the workload. All of them take part until the episode
    ends for all at once.

    ## Action Space
    ``Discrete(n + 1)``: the n actions of the single environment, then *nothing*. ``infos[agent]["action_mask"]`` shows
    an agent that is not asked *nothing* alone; what it chooses has no effect. *Nothing* from the agent that is asked
    grants its oldest request, as every action does that cannot do what it says.

    ## Observation Space
    That of the single environment. An agent that is not asked sees zeros.

    ## Rewards
    1 for each flow to the agent's own destination that met its deadline since the last step: all rewards of a step
    together are the reward of the single environment. ``reward="lagged"``, which keeps one queue for all destinations,
    is refused.

    ## Episode End
    As in the single environment; ``infos[agent]["episode_metrics"]`` then holds the metrics of all flows.

    ## Arguments
    Those of ``flowsched/Artemis-v0``, ``engine`` among them.

    Raises:
        ConfigError: An argument is not allowed.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "flowsched_artemis_v0",
        "render_modes": ["rgb_array"],
        "render_fps": 4,
    }

    def __init__(self, /, **kwargs: Any) -> None:
        if kwargs.get("reward") is not None:
            check_choice("reward", kwargs["reward"], ("on_completion",))
        env = self.env = ArtemisEnv(**kwargs)
        self.render_mode = env.render_mode
        count = getattr(env.source, "num_destinations", None) or env.source.num_hosts
        self.possible_agents = [f"destination_{host}" for host in range(count)]
        self.agents: list[str] = []
        self._nothing = env.num_actions
        self._observation_spaces = dict.fromkeys(self.possible_agents, env.observation_space)
        self._action_spaces = {agent: spaces.Discrete(env.num_actions + 1) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the space of an agent's observations."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the space of an agent's actions."""
        return self._action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begins an episode with the flows that the single environment draws from the seed; it takes no options."""
        observation, info = self.env.reset(seed=seed)
        self.agents = self.possible_agents[:]
        self._rows = {int(flow): row for row, flow in enumerate(self.env.workload.flow_id)}
        return self._observations(observation, info), self._infos(info)

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Lets the agent that is asked act, and runs on to the next decision; refuses what is not its action."""
        asked = self._asked
        if asked not in actions or not self._action_spaces[asked].contains(actions[asked]):
            given = actions.get(asked, "missing")
            raise InvalidAction(f"the action of {asked} is {shown(given)}: it must be an integer, 0 to {self._nothing}")
        action = int(actions[asked])
        observation, _, terminated, truncated, info = self.env.step(0 if action == self._nothing else action)
        rewards = dict.fromkeys(self.agents, 0.0)
        if info["finished"]:
            met = self.env.records().deadline_met
            for flow in info["finished"]:
                row = self._rows[flow]
                rewards[f"destination_{self.env.workload.destination[row]}"] += float(met[row])
        observations, infos = self._observations(observation, info), self._infos(info)
        ended = [dict.fromkeys(self.agents, flag) for flag in (terminated, truncated)]
        if terminated or truncated:
            self.agents = []
        return observations, rewards, ended[0], ended[1], infos

    def render(self) -> Any:
        """Draws the episode as the single environment does."""
        return self.env.render()

    def close(self) -> None:
        """Closes the single environment."""
        self.env.close()

    def _observations(self, observation: Observation, info: dict[str, Any]) -> dict[str, Observation]:
        self._asked = f"destination_{info['destination']}"
        return {agent: observation if agent == self._asked else np.zeros_like(observation) for agent in self.agents}

    def _infos(self, info: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Tells each agent the time and what it may do, and the end to all."""
        infos = {}
        for agent in self.agents:
            asked = agent == self._asked
            mask = np.append(info["action_mask"] & asked, not asked).astype(np.int8)
            infos[agent] = {"time": info["time"], "asked": asked, "action_mask": mask}
            if "episode_metrics" in info:
                infos[agent]["episode_metrics"] = info["episode_metrics"]
        return infos
