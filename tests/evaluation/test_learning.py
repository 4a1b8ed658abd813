"""Learning curves: which trainings are one curve, what is drawn of them, and what is no training."""

import json
from pathlib import Path

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation.learning import draw_learning, read_runs

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from flowsched_gym.evaluation.figures import CURVES, HEURISTIC, LEARNED

HEADS = "timesteps,evaluation/deadline_hit_ratio,evaluation/ratio_to_edf,train/loss"


def write_run(folder: Path, seed: int, rows: tuple[str, ...], *, algorithm: str = "ppo", **config) -> Path:
    folder.mkdir(parents=True)
    run = {"env": {"environment_id": "flowsched/Artemis-v0", "workload": "gather-heavy"}, "seed": seed, **config}
    (folder / "run.json").write_text(json.dumps({**run, "algorithm": {"name": algorithm}}))
    (folder / "progress.csv").write_text("\n".join([HEADS, *rows]))
    return folder


def test_seeds_of_an_agent_are_one_curve_with_the_rules_of_its_episodes(tmp_path: Path) -> None:
    write_run(tmp_path / "sweep" / "a", 0, ("0,0.4,0.8,", "50,,,1.5", "100,0.6,1.2,"))
    write_run(tmp_path / "sweep" / "b", 1, ("0,0.2,0.4,", "50,0.4,0.8,", "200,0.7,1.4,"))
    other = write_run(tmp_path / "other", 0, ("0,0.3,0.6,", "2000,0.9,1.8,"), total_timesteps=9)

    together, alone = read_runs([tmp_path / "sweep", other])
    axes = Figure(layout="constrained").add_subplot()
    draw_learning(axes, [together, alone])

    assert together.decisions.tolist() == [0, 50, 100]
    assert together.values == pytest.approx(np.array([[0.4, 0.5, 0.6], [0.2, 0.4, 0.5]]))
    assert (together.metric, together.rules) == ("deadline_hit_ratio", {"edf": 0.5})
    curve, second, rule = axes.get_lines()
    assert curve.get_ydata() == pytest.approx([30, 45, 55])
    assert (curve.get_color(), second.get_color(), rule.get_color()) == (LEARNED, CURVES[0], HEURISTIC)
    assert rule.get_ydata() == pytest.approx([50, 50])
    assert {text.get_text() for text in axes.texts} >= {"ppo (a) (2 seeds)", "ppo (other)", "edf"}
    assert (axes.get_xscale(), axes.get_ylabel()) == ("symlog", "deadlines met, %")


def test_what_is_no_training_and_other_metrics_are_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 0, ("0,0.4,0.8,",))
    early = write_run(tmp_path / "early", 0, ("0,,,1.5",))
    wrong = write_run(tmp_path / "wrong", 0, ("many,0.4,0.8,",))
    kept = tmp_path / "agent"
    kept.mkdir()
    (kept / "curve.csv").write_text("seed,decisions,metric,mean\n0,0,mean_fct,0.1\n1,0,mean_fct,0.3")
    assert read_runs([kept])[0].values.tolist() == [[0.1], [0.3]]
    for folders, message in (
        ([tmp_path / "absent"], "has no progress.csv: it must be the folder of a run"),
        ([early], "has no evaluation yet"),
        ([wrong], "does not hold the curves of a training"),
        ([run, kept], "measured by deadline_hit_ratio, mean_fct: plot those of one metric"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_runs(folders)
