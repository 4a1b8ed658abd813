"""Trained agents that come with the package, by name: ``model:SETTING/AGENT``.

Headline and calibration settings of the newest suite have one, the training that did best in validation episodes;
AuTO's own agents are first trainings of their experiments. A model file is ``agents/SETTING/AGENT.zip``;
``agents/cards.json`` says what it was trained for and how its agent does on the leaderboard. ``python -m
benchmarks.kept_agents`` writes both, packed into ``agents.tar.xz``.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import gymnasium

from flowsched_gym.core.errors import ConfigError, shown, similar
from flowsched_gym.core.files import read_json, write_bytes, write_text
from flowsched_gym.core.packed import is_file, read_bytes
from flowsched_gym.registration import find_environment, load_target

MODEL_PREFIX: Final = "model:"
"""Stands before the name of a trained agent of the package."""
MODEL_SUFFIX: Final = ".zip"
"""What the path of a model ends with."""
SCHEMA: Final = "flowsched-agents/1"
CARDS: Final = "cards.json"
MODEL_FILE: Final = "model.zip"
BEST_FILE: Final = "best.zip"
"""Beside it in the folder of a run: what the same training had learned when it was best in validation episodes."""
CARD_FILE: Final = "README.md"
CONFIG_FILE: Final = "config.json"


@dataclass(frozen=True, kw_only=True)
class KeptAgent:
    """A trained agent of the package.

    Attributes:
        name: ``SETTING/AGENT``.
        environment: Id of the environment that it was trained for.
        kwargs: Arguments with which it was trained, and acts.
        path: Its model file, in a packed folder where it is of the package (`flowsched_gym.core.packed`).
        results: What the leaderboard says of all trainings of its agent: ``suite``, ``metric``, its ``mean``, ``label``
            and the text that is ``shown``, ``trainings``, ``score``, ``reference`` (score 1), ``rule`` (the best with
            the same actions and information), the text of the ``difference`` from it, ``verdict``; and the training
            ``seed`` of this one. Empty for a model that is none of the package's.
        command: What trained it, as a command line; empty where that is not known.
    """

    name: str
    environment: str
    kwargs: Mapping[str, Any]
    path: Path
    results: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""

    def make_env(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:
        """Makes the environment that it was trained for; other arguments may be added or replaced."""
        return gymnasium.make(self.environment, **{**self.kwargs, **kwargs})

    def policy(self, env: Any) -> Any:
        """Loads it to act in an environment, single or vector: its ``predict`` is Stable-Baselines3's.

        Raises:
            MissingDependencyError: It needs the extra ``train``.
            SpaceMismatchError: It was trained with other spaces.
        """
        return load_target("flowsched_gym.integrations.models:load_policy")(self.path, env)  # in a layer above

    def play_command(self) -> str:
        """Returns the command that plays it beside the heuristics that it is compared with."""
        rule = [f"--policy={self.results['rule']}"] if self.results.get("rule") else []
        model = f"{MODEL_PREFIX}{self.name}" if self.results else MODEL_FILE
        words = [
            f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in self.kwargs.items()
        ]
        pairs = [] if self.results else [word for pair in words for word in ("--kwarg", pair)]
        return shlex.join(["flowsched", "evaluate", self.environment, f"--policy={model}", *rule, *pairs])


def kept_agents() -> dict[str, KeptAgent]:
    """Returns the trained agents of the package by their names, in the order of the suite."""
    return dict(_read())


def load_agent(name: str) -> KeptAgent:
    """Returns a trained agent of the package: where it plays, how it does, and its policy.

    Args:
        name: ``SETTING/AGENT``, as ``flowsched models`` lists them; the prefix ``model:`` may stand before it.

    Raises:
        ConfigError: There is no such agent.
    """
    agents, wanted = _read(), name.removeprefix(MODEL_PREFIX)
    if wanted not in agents:
        known = similar(wanted, agents) or " (`flowsched models` lists them)"
        raise ConfigError(f"model is {shown(name)}: the package has no such agent{known}")
    return agents[wanted]


def agent_of(model: str) -> KeptAgent:
    """Describes an agent of the package by its name, or another model file by the JSON file beside it.

    Raises:
        ConfigError: There is no such agent or file, or no file beside it that says what it was trained for.
    """
    if model.startswith(MODEL_PREFIX) or not model.endswith(MODEL_SUFFIX):
        return load_agent(model)
    path = Path(model)
    beside = path.with_suffix(".json")
    for each in (path, beside):
        if not is_file(each):
            raise ConfigError(f"model is {shown(str(path))}: there is no file {each}")
    content = read_json(beside)
    try:
        spec = find_environment(str(content["environment"]).rpartition(":")[2])
        return KeptAgent(name=path.stem, environment=spec.id, kwargs=dict(content["kwargs"]), path=path)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{beside}: this is not what flowsched-train writes beside a model: {error!r}") from None


def export_card(agent: KeptAgent, folder: Path) -> None:
    """Writes a model, its card and what it was trained for into a folder, as model hubs expect them.

    The folder has ``model.zip``, ``README.md``, whose head is YAML with tags and results, and ``config.json``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_bytes(read_bytes(agent.path), folder / MODEL_FILE)
    config = {"environment": agent.environment, "kwargs": agent.kwargs, "results": agent.results}
    write_text(json.dumps(config, indent=2) + "\n", folder / CONFIG_FILE)
    write_text(card_text(agent), folder / CARD_FILE)


def card_text(agent: KeptAgent) -> str:
    """Returns the card of an agent: Markdown below a head of YAML, of which JSON is a part."""
    head: dict[str, Any] = {
        "library_name": "flowsched-gym",
        "tags": ["reinforcement-learning", "gymnasium", "datacenter", "flow-scheduling", agent.environment],
    }
    results = agent.results
    if results:
        metric = {"type": results["metric"], "name": results["metric"], "value": results["mean"], "verified": False}
        task = {"type": "reinforcement-learning", "name": "reinforcement-learning"}
        dataset = {"name": f"{results['suite']}/{agent.name.partition('/')[0]}", "type": agent.environment}
        shown_results = [{"task": task, "dataset": dataset, "metrics": [metric]}]
        head["model-index"] = [{"name": agent.name, "results": shown_results}]
    lines = ["---", *(f"{key}: {json.dumps(value)}" for key, value in head.items()), "---", "", f"# {agent.name}", ""]
    lines += [f"An agent for `{agent.environment}` of flowsched-gym, trained with the arguments", ""]
    lines += ["```json", json.dumps(agent.kwargs, indent=2), "```", ""]
    if results:
        lines += [results_text(agent), ""]
    lines += ["Play it:", "", "```sh", agent.play_command(), "```", ""]
    if agent.command:
        lines += ["It was trained by", "", "```sh", agent.command, "```", ""]
    return "\n".join(lines)


def results_text(agent: KeptAgent) -> str:
    """Describes in a few lines how an agent does on the leaderboard."""
    found = agent.results
    score, count = found["score"], found["trainings"]
    text = (
        f"{count} training{'s' * (count > 1)} of this agent in the test episodes of {found['suite']}: {found['label']} "
        f"{found['shown']}. Score: {score:.2f} (0: random choice, 1: {found['reference']})."
    )
    if found["rule"]:
        text += f" Minus the best rule, {found['rule']}: {found['difference']}, {found['verdict']}."
    best = ", the best in validation episodes" if count > 1 else ""
    return f"{text} Kept is the training with seed {found['seed']}{best}."


def folder_of_agents() -> Path:
    """Returns the folder of the package's agents."""
    return Path(str(resources.files("flowsched_gym.players"))) / "agents"


@cache
def _read() -> dict[str, KeptAgent]:
    folder = folder_of_agents()
    if not is_file(folder / CARDS):
        return {}
    content = read_json(folder / CARDS)
    if content.get("schema") != SCHEMA:
        raise ConfigError(f"{folder / CARDS} has another schema: it must be {SCHEMA}")
    agents = {}
    for name, card in content["agents"].items():
        found = {key: card[key] for key in ("environment", "kwargs", "results", "command")}
        agents[name] = KeptAgent(name=name, path=folder / f"{name}.zip", **found)
    return agents
