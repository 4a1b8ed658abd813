"""Tunes rules to the settings of the leaderboard, so that agents meet them as strong as their forms allow.

``python -m benchmarks.rules`` tunes the rules that take the actions of the agents of a headline or shift setting, and
know no more, by ``tune_rule`` on training episodes, and writes them to ``rules.json``, which keeps those that it has;
``--run`` puts them onto the leaderboard, in the test episodes.
"""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import write_json
from flowsched_gym.evaluation.tuning import tune_rule
from flowsched_gym.flows.metrics import merit
from flowsched_gym.leaderboard import Setting, load_suite
from flowsched_gym.leaderboard.suite import CALIBRATION
from flowsched_gym.players import find_player

HERE: Final = Path(__file__).resolve().parent
FOUND: Final = HERE / "rules.json"
SUITE: Final = load_suite("standard")
OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "in-time": ("", "target_ms=6,margin_transmissions=18,margin_ms=-35,transmissions=0,slot_ms=0"),
    "paced": ("",),
    "paced-in-time": ("transmissions=0,slot_ms=0,margin_transmissions=5,margin_ms=3,youngest=true",),
    "postpone-in-time": ("", "transmissions=0,slot_ms=0,margin_ms=3,back_ms=3"),
    "most-delayed": ("",),
    "next-delayed": ("", "so_far=2,if_last=2,waiting=0.6,margin=0.3"),
    "johnson": ("",),
    "johnson-ratio": ("",),
    "same": ("",),
}
"""Rules that are tuned, with the options that each search begins with."""
TRIALS: Final = 96
EPISODES: Final = 16
SLOW_TRIALS, SLOW_EPISODES = 16, 8
"""Where a rule sets thresholds: an episode takes half a second, and there is one number."""


def main() -> None:
    """Tunes, or plays what was found."""
    parser = argparse.ArgumentParser(description="Tune rules to the settings of the leaderboard.")
    parser.add_argument("--only", action="append", default=[], metavar="SETTING", help="setting; may be repeated")
    parser.add_argument("--run", action="store_true", help="play the best ones in the test episodes")
    options = parser.parse_args()
    found = read_json(FOUND) if FOUND.exists() else {}
    for name in options.only or [each.name for each in SUITE.select([]) if each.tier != CALIBRATION]:
        setting = SUITE.settings[name]
        rules = [rule for rule in OPTIONS if rule in setting.spec.named_policies and fits(setting, rule)]
        if options.run:
            play(name, found.get(name, {}))
        elif rules:
            kept = found.get(name, {})
            found[name] = {rule: kept.get(rule) or tune(setting, rule) for rule in rules}
            write_json(found, FOUND)


def fits(setting: Setting, rule: str) -> bool:
    """Returns whether a rule takes the actions of the agents of a setting, and knows no more."""
    ability, theirs = find_player(rule, setting.spec).ability, setting.ability
    return theirs is not None and theirs.covers(ability) and len(ability.actions) == len(theirs.actions)


def tune(setting: Setting, rule: str) -> dict[str, Any]:
    """Tunes a rule with each of its other options; returns the best one."""
    is_slow = "same" in setting.spec.named_policies
    trials, episodes = (SLOW_TRIALS, SLOW_EPISODES) if is_slow else (TRIALS, EPISODES)
    starts = [f"{rule}:{options}".rstrip(":") for options in OPTIONS[rule]]
    how: dict[str, Any] = {"kwargs": setting.kwargs, "metric": setting.metric, "trials": trials, "episodes": episodes}
    tuned = [tune_rule(setting.spec.id, start, **how) for start in starts]
    best = max(tuned, key=lambda each: merit(setting.metric, each.value))
    print(f"{setting.name}: {best.policy} {best.value:.4g}, as given {best.given:.4g}", flush=True)
    return {"policy": best.policy, "value": round(best.value, 6), "as given": round(best.given, 6)}


def tuned_rules(setting: str) -> list[str]:
    """Returns the rules that were tuned to a setting, as policies."""
    return [each["policy"] for each in read_json(FOUND).get(setting, {}).values()]


def play(name: str, found: dict[str, Any]) -> None:
    """Plays the tuned rules of a setting in the test episodes."""
    policies = [word for each in found.values() for word in ("--policy", each["policy"])]
    if not policies:
        return
    command = ["flowsched", "leaderboard", "run", "--suite", SUITE.name, "--env", name, *policies]
    command += ["--out", str(HERE / "results" / SUITE.name)]
    print(shlex.join(command), flush=True)
    subprocess.run([Path(sys.executable).with_name(command[0]), *command[1:]], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
