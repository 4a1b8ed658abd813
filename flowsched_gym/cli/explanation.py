"""Explains what a model does: effects of what it sees, and the rule of a few numbers that says the same.

An effect is how a score changes from the 10th to the 90th percentile of a column over played decisions. Columns that
follow from others, as the slack does from the time left and the size, are found by least squares: they move with these,
and have no effect of their own. The numbers of the rule are its usual ones, or those with which it chooses as the model
does most often. It is fitted to some episodes and judged in others, all of them with training seeds.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from flowsched_gym.core.arrays import BoolArray, FloatArray
from flowsched_gym.core.seeding import FIRST_TRAINING_SEED
from flowsched_gym.core.tables import Table
from flowsched_gym.envs.columns import Column, Encoding
from flowsched_gym.envs.policies import Policy
from flowsched_gym.envs.policies.scores import ONE, POSITION, RULE, Feature, LinearScores
from flowsched_gym.evaluation.rollout import Watched, rollout
from flowsched_gym.evaluation.tuning import agreement, fit_rule, rule_in
from flowsched_gym.evaluation.written import column_of
from flowsched_gym.flows.metrics import merit
from flowsched_gym.integrations.few_weights import FewWeights
from flowsched_gym.players import find_player
from flowsched_gym.systems import OPTIONS, EnvironmentSpec

FITTED: Final = range(FIRST_TRAINING_SEED, FIRST_TRAINING_SEED + 2)
JUDGED: Final = range(FITTED.stop, FITTED.stop + 8)
"""Seeds of the episodes to which a rule is fitted, and of those in which it is judged."""
PERCENTILES, GRID = (10, 90), 33
"""Between which a column varies, and the number of its values at which the score is looked at."""
SMALL: Final = 0.05
"""Share of the largest effect below which one has no line."""
FOLLOWS, CONSTANT = 0.02, 1e-4
"""What least squares leave of a column that follows from others, over its standard deviation, at most; and its standard
deviation over its median below which it is constant: that is float32 alone."""
UNITS: Final = {"s": ("ms", 1e3), "B": ("KB", 1e-3), "1": ("", 1.0)}
"""How units are shown, and by what values are multiplied."""
LEAST_GAIN: Final = 0.9
"""Share of a model's gain that a rule must have to stand for it."""


class Seen(NamedTuple):
    """Decisions: observations (n, size), masks (n, num_actions), actions (n, ...); and the episodes' mean metric."""

    observations: npt.NDArray[Any]
    masks: BoolArray
    actions: npt.NDArray[Any]
    mean: float


class Effect(NamedTuple):
    """Change of a score from a column's 10th to its 90th percentile, and its range between them; what is shown."""

    change: float
    swing: float
    name: str
    cells: tuple[str, str, str, str]


def explain(env: Any, model: Policy, spec: EnvironmentSpec, rules: Sequence[str] = ()) -> str:
    """Writes what a model does, for a person to read.

    Args:
        env: The environment in which it plays.
        model: A model of a few weights, or a network, of which the rule alone is told.
        spec: The environment's entry in the registry.
        rules: Rules that play there, of which the best is what the model gains over.
    """
    seen, text = watch(env, model, FITTED, spec.metric), "a network: its weights say nothing to a reader\n"
    if isinstance(model, FewWeights) and isinstance(model.shape, LinearScores):
        text = _written(*effects(env, model, model.shape, seen), len(seen.actions))
    elif isinstance(model, FewWeights):
        terms = model.terms(env.unwrapped.layout)
        rows = tuple((each.action, each.column, each.meaning, f"{each.weight:+.3g}") for each in terms)
        text = f"weights\n\n{Table(columns=('number', 'seen', 'x', 'times x'), rows=rows).text()}"
    return text + (_paraphrase(env, model, spec, rules, seen) if isinstance(env.action_space, spaces.Discrete) else "")


def watch(env: Any, policy: Policy, seeds: Sequence[int], metric: str) -> Seen:
    """Plays episodes, and keeps what a policy saw and did."""
    watched = Watched(policy)
    values = [rollout(env, watched, seed=seed).metrics[metric] for seed in seeds]
    masks = [np.ones(getattr(env.action_space, "n", 0)) if mask is None else mask for mask in watched.masks]
    observations, actions = np.array(watched.observations), np.array(watched.actions)
    return Seen(observations, np.array(masks, dtype=np.bool_), actions, float(np.nanmean(values)))


def effects(env: Any, model: FewWeights, shape: LinearScores, seen: Seen) -> tuple[list[Effect], list[str]]:
    """Returns the effects of columns on the scores of actions, and notes to them."""
    layout, count = env.unwrapped.layout, shape.num_slots
    features = shape.features(layout, find_player(cast(Policy, model), env).actions)
    weights = dict(zip(features, np.asarray(model.weights).tolist(), strict=True))
    actions = [each.action for each in features if each.name == ONE and not each.action.startswith("unit ")]
    position = Column(name=POSITION, meaning="", unit="slots", encoding=Encoding.PLAIN, scale=float(count))
    found, notes = [], []
    for kind, action in enumerate(actions):
        at = kind * count if kind < shape.num_kinds else shape.num_kinds * (count - 1) + kind
        allowed = seen.masks[:, at : at + (count if kind < shape.num_kinds else 1)]
        columns, values = layout.context, seen.observations[:, np.newaxis, : shape.num_context]
        if kind < shape.num_kinds:
            slots = np.dstack([seen.observations[:, layout.slot_slice(each.name)] for each in layout.slot])
            columns = (*layout.slot, position)
            values = np.dstack([slots, np.broadcast_to(np.arange(count), allowed.shape)])
        pairs = np.array([[weights[Feature(action, each.name, power)] for power in (1, 2)] for each in columns])
        pairs[[each is position for each in columns]] /= (count, count**2)
        rows = np.column_stack([each.decode(x) for each, x in zip(columns, values[allowed].T, strict=True)])
        rows = rows[np.isfinite(rows).all(axis=1)]
        share = np.mean((seen.actions >= at) & (seen.actions < at + allowed.shape[1]))
        notes.append(f"{action}: chosen in {100 * share:.1f} % of decisions")
        if len(rows):
            more, followers = _effects(columns, rows, pairs)
            found += [each._replace(name=f"{action}: {each.name}") for each in more]
            notes += [f"{action}: {each}" for each in followers]
    if shape.rule is not None:
        weight = weights[Feature(actions[0], RULE)]
        found.append(Effect(weight, abs(weight), f"{actions[0]}: chosen by {model.rule}", ("", "no", "yes", "")))
    notes += [f"a network of {shape.width} hidden units, which is not shown, adds to the scores"] * bool(shape.width)
    return sorted(found, key=lambda each: -each.swing), notes


def _effects(columns: Sequence[Column], values: FloatArray, pairs: FloatArray) -> tuple[list[Effect], list[str]]:
    """Returns the effects of columns on one score, and which follow from others.

    ``values`` are decoded, (num_rows, num_columns); ``pairs`` weigh an encoded column and its square, (num_columns, 2).
    """

    def score(i: int, decoded: FloatArray) -> FloatArray:
        x = columns[i].encode(decoded if columns[i].encoding is Encoding.SIGNED else np.maximum(decoded, 0.0))
        weighed: FloatArray = x * (pairs[i, 0] + x * pairs[i, 1])
        return weighed

    low, centre, high = np.percentile(values, (PERCENTILES[0], 50, PERCENTILES[1]), axis=0)
    deviation, rare = values.std(axis=0), low == high  # rare is, for example, that a request was postponed
    low, high = np.where(rare, values.min(axis=0), low), np.where(rare, values.max(axis=0), high)
    varying = [i for i in range(len(columns)) if deviation[i] > CONSTANT * abs(centre[i])]
    grids, units = np.linspace(low, high, GRID), Counter(columns[i].unit for i in varying)
    shown = [UNITS.get(each.unit, (each.unit, 1.0)) for each in columns]
    kept: list[int] = []
    follow: list[tuple[int, FloatArray]] = []
    # What alone has its unit, as a size has, stays: times follow from it and from other times.
    for i in sorted(varying, key=lambda i: (units[columns[i].unit], -float(np.ptp(score(i, grids[:, i]))))):
        basis = np.column_stack([(values[:, kept] - centre[kept]) / deviation[kept], np.ones(len(values))])
        slopes = np.linalg.lstsq(basis, values[:, i] / deviation[i], rcond=None)[0]
        if kept and (values[:, i] / deviation[i] - basis @ slopes).std() < FOLLOWS:
            follow.append((i, slopes))
        else:
            kept.append(i)
    found, notes = [], []
    for place, j in enumerate(kept):
        scores, steps = score(j, grids[:, j]), (grids[:, j] - centre[j]) / deviation[j]
        for i, slopes in follow:
            slope = slopes[place] if place < len(slopes) - 1 else 0.0
            scores = scores + score(i, deviation[i] * (slopes[-1] + slope * steps))
        top, (unit, factor), swing = int(scores.argmax()), shown[j], float(np.ptp(scores))
        first, last, best = (f"{round(factor * float(grids[k, j]), 3) + 0.0:.3g}" for k in (0, -1, top))
        inside = scores[top] - max(scores[0], scores[-1]) > SMALL * swing
        cells = (unit, first, last, best if inside else "")
        found.append(Effect(float(scores[-1] - scores[0]), swing, columns[j].name, cells))
    for i, slopes in follow:
        terms = ((deviation[i] * slope, deviation[j], j) for slope, j in zip(slopes[:-1], kept, strict=False))
        parts = (
            f"{own / other * shown[i][1] / shown[j][1]:+.3g} {columns[j].name}"
            for own, other, j in terms
            if abs(own) > FOLLOWS * deviation[i]
        )
        notes.append(
            f"{columns[i].name} is folded into these, from which it follows by least squares: {' '.join(parts)}"
        )
    return found, notes


def _written(found: Sequence[Effect], notes: Sequence[str], num_decisions: int) -> str:
    """Lays effects out, the largest range as 100."""
    largest = max((each.swing for each in found), default=0.0) or 1.0
    small = [each.name for each in found if each.swing < SMALL * largest]
    rows = tuple(
        (each.name, *each.cells[:3], *(f"{100 * x / largest:.0f}" for x in (each.change, each.swing)), each.cells[3])
        for each in found
        if each.name not in small
    )
    heads = ("score of: by", "unit", "10th", "90th percentile", "change", "range", "highest at")
    lines = [f"below {100 * SMALL:.0f}: {', '.join(small)}"] * bool(small) + [*notes]
    return (
        f"how scores change with what is seen, in {num_decisions} decisions; the largest range is 100, and the highest "
        f"score wins\n\n{Table(columns=heads, rows=rows).text()}" + "".join(f"{line}\n" for line in lines)
    )


def _paraphrase(env: Any, model: Policy, spec: EnvironmentSpec, rules: Sequence[str], seen: Seen) -> str:
    """Writes the rule that chooses most often as a model does, one that stands for it if there is, and its loss."""
    plain, texts = [each.name for each in spec.policies if not each.options], []
    for each in (each for each in spec.policies if each.ranges):
        fixed = [{"base": base} for base in plain] if "base" in each.options else [{}]
        fits = (fit for more in fixed for fit in fit_rule(env, each, seen.observations, seen.actions, fixed=more))
        texts += [text for _, text in sorted(fits)[-2:]]
    made = {text: policy for text in (*texts, *(rules or plain)) if (policy := rule_in(env, text)) is not None}
    bases = [name for name in rules or plain if name in made]
    if not texts or not bases:
        return "no rule of this environment has numbers to fit\n"
    told, shown = watch(env, model, JUDGED, spec.metric), column_of(spec.metric)
    means = {text: watch(env, policy, JUDGED, spec.metric).mean for text, policy in made.items()}
    same = {text: agreement(made[text], told.observations, told.actions) for text in texts}
    base = max(bases, key=lambda name: merit(spec.metric, means[name]))
    gain = merit(spec.metric, told.mean - means[base])
    kept = {text: merit(spec.metric, means[text] - means[base]) / gain if gain > 0 else 0.0 for text in texts}
    best = max(texts, key=lambda text: (kept[text] >= LEAST_GAIN, same[text]))
    judged = f"and loses {100 * (1 - kept[best]):.0f} % of the gain over {base}, and does not stand for the model"
    if gain <= 0:
        judged = f"but the model gains nothing over {base}"
    elif kept[best] >= LEAST_GAIN:
        judged = f"and says {min(10, math.floor(10 * kept[best]))} of 10 of the gain over {base}"
    values = ", ".join(f"{name} {shown.write(mean)}" for name, mean in (("it", means[best]), (base, means[base])))
    return (
        f"nearest rule of a few numbers: {best}, {spec.named_policies[best.partition(OPTIONS)[0]].description}\n"
        f"it chooses the same in {100 * same[best]:.1f} % of the decisions in {len(JUDGED)} episodes, {judged}\n"
        f"{shown.label}: the model {shown.write(told.mean)}, {values}\n"
    )
