"""Tunes the rules that skip, wait or postpone, on the validation episodes of each Artemis setting of the leaderboard.

``python -m benchmarks.rules`` plays each of four bases with each value of the other option, writes the best of each
rule and setting to ``rules.json``, and prints what it found; ``--run`` puts those that are better than the rule's
defaults onto the leaderboard, in the test episodes. Calibration settings are left out, and rules that do more than
agents may.
"""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from flowsched_gym.core.files import read_json
from flowsched_gym.evaluation import evaluate, write_json
from flowsched_gym.leaderboard import Setting, load_suite
from flowsched_gym.leaderboard.suite import CALIBRATION
from flowsched_gym.players import find_player

HERE: Final = Path(__file__).resolve().parent
FOUND: Final = HERE / "rules.json"
SUITE: Final = load_suite("standard")
ARTEMIS: Final = "flowsched/Artemis-v0"
BASES: Final = ("feasible-first", "fifo", "lifo", "sjf")
RULES: Final = {"skip-late": "margin_ms", "paced": "active", "postpone-late": "margin_ms"}
"""Rules that are tuned, with the option that is tuned beside the base."""
MARGINS_MS: Final = (0, 2.2, 4, 5, 8)
PERCENT: Final = 100.0
BEST: Final = "deadlines met, %"
DEFAULTS: Final = "with defaults, %"


def main() -> None:
    """Tunes, or plays what was found."""
    parser = argparse.ArgumentParser(description="Tune the rules of Artemis that skip, wait or postpone.")
    parser.add_argument("--only", action="append", default=[], metavar="SETTING", help="setting; may be repeated")
    parser.add_argument("--run", action="store_true", help="play the best ones in the test episodes")
    options = parser.parse_args()
    found = read_json(FOUND) if FOUND.exists() else {}
    names = [each.name for each in SUITE.select([ARTEMIS]) if each.tier != CALIBRATION]
    for name in options.only or names:
        if options.run:
            play(name, found[name])
            continue
        found[name] = {rule: tune(SUITE.settings[name], rule) for rule in RULES if fits(SUITE.settings[name], rule)}
        write_json(found, FOUND)


def fits(setting: Setting, rule: str) -> bool:
    """Returns whether a rule does no more than the agents of a setting may."""
    return setting.ability is None or setting.ability.covers(find_player(rule, setting.spec).ability)


def tune(setting: Setting, rule: str) -> dict[str, object]:
    """Finds the best options of a rule in the validation episodes of a setting."""
    key = RULES[rule]
    values = range(1, int(str(setting.kwargs["k"]))) if key == "active" else MARGINS_MS
    met = {f"{rule}:base={base},{key}={value}": 0.0 for base in BASES for value in values}
    for policy in met:
        met[policy] = share_met(setting, policy)
    without = {base: share_met(setting, base) for base in BASES}
    best, plain = max(met, key=lambda each: met[each]), max(without, key=lambda each: without[each])
    print(f"{setting.name}: {best} {met[best]:.1f} %, {plain} {without[plain]:.1f} %", flush=True)
    default = share_met(setting, rule)
    return {"policy": best, BEST: met[best], DEFAULTS: default, "plain": plain}


def tuned(setting: str, rule: str) -> str:
    """Returns the rule with the options that were found for a setting."""
    return str(read_json(FOUND)[setting][rule]["policy"])


def share_met(setting: Setting, policy: str) -> float:
    """Plays the validation episodes; returns the share of deadlines met, in %."""
    kwargs = {**setting.arguments(find_player(policy, setting.spec)), "engine": "compiled"}
    seeds = SUITE.validation
    result = evaluate(setting.spec, policy, episodes=len(seeds), seed=seeds[0], kwargs=kwargs)
    return round(PERCENT * result.interval(setting.metric).mean, 2)


def play(name: str, found: Mapping[str, Mapping[str, object]]) -> None:
    """Plays the best rules of a setting in the test episodes, where their defaults are not the best."""
    ahead = [each for each in found.values() if float(str(each[BEST])) > float(str(each[DEFAULTS]))]
    policies = [word for each in ahead for word in ("--policy", str(each["policy"]))]
    if not policies:
        return
    command = ["flowsched", "leaderboard", "run", "--suite", SUITE.name, "--env", name, *policies]
    command += ["--out", str(HERE / "results" / SUITE.name)]
    print(shlex.join(command), flush=True)
    subprocess.run([Path(sys.executable).with_name(command[0]), *command[1:]], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
