"""Makes the pictures of the README and the gallery in ``docs/images``.

They are a frame of Artemis, an animation of one episode, what a learned agent wins, from the result files of the
leaderboard, a frame of each environment, and with ``--learning`` the curves of README's training, which takes minutes.
Run it from the root of the repository: ``python -m docs.make_images``. The same versions give the same files.
"""

import argparse
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import gymnasium as gym
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from benchmarks import pictures
from benchmarks.paper.closeness import learned_rows, learned_table
from flowsched_gym.cli import main as flowsched
from flowsched_gym.envs.drawing import View
from flowsched_gym.envs.drawing.panels import Pair, Table, Text
from flowsched_gym.evaluation import BOUND_POLICY, evaluate
from flowsched_gym.evaluation.figures import LEARNED
from flowsched_gym.evaluation.films import in_few_colours
from flowsched_gym.evaluation.plots import DOTS_PER_INCH, INK, dress
from flowsched_gym.players import make_policy
from flowsched_gym.systems.artemis.env import ArtemisEnv

IMAGES: Final = Path(__file__).resolve().parent / "images"
ARTEMIS: Final = "flowsched/Artemis-v0"
POLICY: Final = "feasible-first"
SEED: Final = 7
PICTURE: Final = {"bursts": 60, "k": 3, "f": 10}
"""The episode that the picture is taken from."""
ANIMATION: Final = {"bursts": 10, "k": 3, "f": 6}
"""The episode that is animated."""
SKIPPED: Final = 62
"""Decisions before it begins: its first frame, all that is seen where pictures do not move, has something to show."""
ANIMATION_SIZE: Final = (750, 450)
FRAME_MS: Final = 150
"""How long the animation shows each decision."""
REST_MS: Final = 2500
"""How long it shows the end."""
GALLERY: Final = {
    "artemis": "Artemis-v0 --policy model:artemis-heavy/distilled --seed 7",
    "merp-order": "MERPOrder-v0 --policy most-delayed --kwarg load=0.95 --kwarg f=8 --seed 1",
    "merp-route": "MERPRoute-v0 --policy model:merp-route-slow-link/distilled",
    "auto-thresholds": "AuTOThresholds-v0 --policy qlas",
    "auto-long-flows": "AuTOLongFlows-v0 --policy least-crowded --seed 2",
    "qcluster": "QCluster-v0 --policy opt",
    "tafe-tasks": "TAFETasks-v0 --policy johnson --kwarg f=8 --seed 3",
    "tafe-thresholds": "TAFEThresholds-v0 --policy constant",
}
"""What ``flowsched record`` is told for each picture of the gallery."""
BARS: Final = {"learned": LEARNED, "heuristic": "#8fa3c4", "bound": "#d9dde3"}
"""Colours of the bars by what they stand for."""
README_TRAINING: Final[dict[str, Any]] = {
    "n_steps": 64,
    "batch_size": 1024,
    "learning_rate": 8e-3,
    "gamma": 0.95,
    "gae_lambda": 0.98,
}
"""Arguments of PPO in the README."""
TRAINED: Final = 81_920
"""Decisions that the curves show."""
SHADES: Final = 5
"""Shades of each colour in the animation, for the edges of letters."""


def play(setting: dict[str, int]) -> Iterator[tuple[Image.Image, int, View]]:
    """Plays an episode of gather-heavy; yields pictures of it, how many flows have finished, and what is shown."""
    env = gym.make(ARTEMIS, render_mode="rgb_array", workload="gather-heavy", **setting)  # type: ignore[arg-type]
    base = env.unwrapped
    assert isinstance(base, ArtemisEnv)
    policy = make_policy(POLICY, env)
    observation, _ = env.reset(seed=SEED)
    over = False
    while True:
        yield Image.fromarray(np.asarray(env.render())), len(base.simulation.delivered), base.panels()
        if over:
            return
        action, _ = policy.predict(observation)
        observation, _, over, _, _ = env.step(int(action))


def richness(num_finished: int, view: View) -> tuple[int, int, int, int]:
    """Rates how much of what may happen is to be seen at once."""
    queue, tokens = (panel for panel in view.panels if isinstance(panel, Table) and panel.slots)
    words = [row[-1].text for row in queue.rows[: PICTURE["f"]] if isinstance(row[-1], Text)]
    counts = [words.count(word) for word in set(words)]
    sending = sum("bit/s" in str(cell.lower) for row in tokens.rows for cell in row if isinstance(cell, Pair))
    return len(counts), sending, min(counts, default=0), num_finished


def write_picture(path: Path) -> None:
    """Writes the richest moment of an episode."""
    picture, *_ = max(play(PICTURE), key=lambda moment: richness(*moment[1:]))
    temporary = path.with_suffix(".tmp")
    in_few_colours(np.asarray(picture)).save(temporary, format="PNG", optimize=True)
    os.replace(temporary, path)


def write_animation(path: Path) -> None:
    """Writes a short episode but for its beginning, one smaller picture for each decision, in few colours."""
    shown = (picture for picture, *_ in islice(play(ANIMATION), SKIPPED, None))
    small = (picture.resize(ANIMATION_SIZE, Image.Resampling.LANCZOS) for picture in shown)
    first, *others = (in_few_colours(np.asarray(picture)) for picture in small)
    durations = [FRAME_MS] * len(others) + [REST_MS]
    temporary = path.with_suffix(".tmp")
    first.save(temporary, format="GIF", save_all=True, append_images=others, duration=durations, loop=0, optimize=True)
    os.replace(temporary, path)


def write_learned(path: Path) -> None:
    """Draws the deadlines met by a learned agent, heuristics and the bound, with 95 % intervals.

    The file carries the table that it was drawn from, so that a test can tell whether it is stale.
    """
    rows = learned_rows()[::-1]
    means, low, high = (100 * np.array([getattr(row.estimate, end) for row in rows]) for end in ("mean", "low", "high"))
    kinds = ["bound" if row.policy == BOUND_POLICY else "heuristic" for row in rows]
    kinds = ["learned" if row.learned else kind for row, kind in zip(rows, kinds, strict=True)]
    figure = Figure(figsize=(7.5, 2.6), layout="constrained")
    axes = figure.add_subplot()
    dress(axes)
    names = [f"{row.policy}{' (learned)' * row.learned}: {', '.join(row.ability.actions)}" for row in rows]
    axes.barh(names, means, color=[BARS[kind] for kind in kinds], height=0.62)
    axes.errorbar(means, range(len(rows)), xerr=(means - low, high - means), fmt="none", ecolor=INK, capsize=3)
    for index, (row, mean) in enumerate(zip(rows, means, strict=True)):
        axes.text(1.0, index, f"{mean:.1f} %", va="center", color="white" if row.learned else INK)
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, 100)
    axes.set_xlabel("deadlines met (%), with 95 % intervals")
    pictures.save(figure, path, dpi=DOTS_PER_INCH, description=learned_table())


def write_learning(path: Path) -> None:
    """Trains as the README does, with five seeds, and draws the deadlines met in the test episodes beside rules."""
    from sb3_contrib import MaskablePPO  # noqa: PLC0415 - the other pictures need no torch

    from flowsched_gym.integrations.sb3 import batched, make_sb3_vec_env, setwise_policy  # noqa: PLC0415

    def met(policy: Any) -> float:
        found = evaluate(ARTEMIS, policy, episodes=30, seed=60_000, kwargs={"engine": "compiled"})
        return 100 * found.interval("deadline_hit_ratio").mean

    figure = Figure(figsize=(7.5, 3.0), layout="constrained")
    axes = figure.add_subplot()
    dress(axes)
    for rule in ("random", "edf", "feasible-first", "in-time"):
        level = met(rule)
        axes.axhline(level, color=BARS["heuristic"], linewidth=1, linestyle="--")
        axes.text(TRAINED * 1.01, level, rule, va="center", color=INK, fontsize=9)
    for seed in range(5):
        envs = make_sb3_vec_env(ARTEMIS, 64, seed=seed)
        policy, policy_kwargs = setwise_policy(envs, maskable=True, width=16, num_blocks=0)
        model = MaskablePPO(policy, envs, policy_kwargs=policy_kwargs, seed=seed, **README_TRAINING)
        curve = [(0, met(batched(model)))]
        while model.num_timesteps < TRAINED:
            model.learn(64 * 64, reset_num_timesteps=False)
            curve.append((model.num_timesteps, met(batched(model))))
        axes.plot(*zip(*curve, strict=True), color=BARS["learned"], linewidth=1.6, alpha=0.8)
    axes.set_xlim(0, TRAINED)
    axes.set_xlabel("decisions (PPO, five seeds; 50,000 take 8 CPU-seconds)")
    axes.set_ylabel("deadlines met, %")
    pictures.save(figure, path, dpi=DOTS_PER_INCH)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the pictures of the README.")
    parser.add_argument("--learning", action="store_true", help="train, and draw the curves, and nothing else")
    IMAGES.mkdir(parents=True, exist_ok=True)
    if parser.parse_args().learning:
        write_learning(IMAGES / "learning.png")
        raise SystemExit
    write_picture(IMAGES / "artemis.png")
    write_animation(IMAGES / "artemis.gif")
    write_learned(IMAGES / "learned.png")
    for name, words in GALLERY.items():
        flowsched(["record", *f"flowsched/{words} --out {IMAGES}/gallery-{name}.png".split()])
