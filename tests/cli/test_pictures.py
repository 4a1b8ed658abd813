"""Commands that show episodes and runs: what they write, and what they say where they cannot."""

from flowsched_gym.cli.picture_commands import CLEAR
from flowsched_gym.envs.drawing import render_modes
from tests.processes import check_refusal

EDF = ("flowsched/Artemis-v0", "--policy", "edf", "--kwarg", "bursts=2")


def test_an_episode_is_recorded_and_watched(flowsched, tmp_path, monkeypatch) -> None:
    film = tmp_path / "film.gif"
    outcome = flowsched("record", *EDF, "--frames", 2, "--seed", 5, "--out", film)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out == f"{film}: edf on flowsched/Artemis-v0, 2 decisions of seed 5\n"
    assert film.read_bytes().startswith(b"GIF89a")

    monkeypatch.chdir(tmp_path)
    assert flowsched("record", *EDF, "--frames", 2).out.startswith("artemis.gif: edf on ")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(render_modes.Window, "show", lambda *_: None)
    watched = flowsched("watch", *EDF, "--frames", 2, "--seed", 5, "--out", "watched.gif").out.splitlines()
    assert watched[0].startswith("deadlines met, %: 100.0 after ")
    assert (tmp_path / "watched.gif").read_bytes() == film.read_bytes()
    assert flowsched("watch", *EDF).out == "deadlines met, %: 100.0 after 20 decisions\n"
    monkeypatch.setattr("flowsched_gym.cli.picture_commands.window_is_closed", lambda: True)
    assert flowsched("watch", *EDF).out.endswith(" after 1 decisions\n")


def test_without_a_display_nothing_is_watched(flowsched, monkeypatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name in render_modes.DISPLAYS:
        monkeypatch.delenv(name, raising=False)
    check_refusal(flowsched("watch", *EDF), "there is no display for a window: `flowsched record`")
    render_modes.PYGAME.load().display.quit()
    monkeypatch.setenv("SDL_VIDEODRIVER", "absent")
    check_refusal(flowsched("watch", *EDF), "there is no display for a window")


def test_a_film_that_cannot_be_written_is_refused(flowsched, tmp_path) -> None:
    for words, message in (
        ((*EDF, "--out", tmp_path / "film.txt"), "the extension '.txt': it must be one of .gif, .mp4, .png"),
        ((*EDF, "--out", tmp_path / "no" / "film.gif"), "does not exist"),
        ((*EDF[:2], "clairvoyant-bound", "--out", tmp_path / "film.gif"), "it takes no actions"),
    ):
        check_refusal(flowsched("record", *words), message)


def test_the_demonstration_without_its_extra_names_the_pip_command(flowsched, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    outcome = flowsched("demo", "--folder", tmp_path / "demo")
    check_refusal(outcome, "hydra is needed to run the demonstration: pip install 'flowsched-gym[train]'")
    assert list(tmp_path.iterdir()) == []


def test_trainings_are_plotted(flowsched, tmp_path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "curve.csv").write_text("seed,decisions,metric,mean\n0,0,mean_fct,0.1\n0,9,mean_fct,0.3")
    figure = tmp_path / "curves.pdf"
    assert flowsched("plot", tmp_path, "--out", figure).out == f"{figure}: 1 agent, 1 training\n"
    assert figure.read_bytes().startswith(b"%PDF")
    check_refusal(flowsched("plot", tmp_path, "--out", tmp_path / "curves.txt"), "the extension '.txt'")
    check_refusal(flowsched("plot", tmp_path / "none", "--out", figure), "none has no progress.csv")


def test_a_person_is_asked_where_there_is_a_choice_and_stands_among_the_rules(flowsched, monkeypatch) -> None:
    check_refusal(flowsched("play", "flowsched/MERPOrder-v0"), "play needs a terminal")
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)
    check_refusal(flowsched("play", "flowsched/QCluster-v0"), "QCluster-v0 has no slots to choose from: play one of fl")
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "99" if len(asked) == 1 else "0"

    monkeypatch.setattr("builtins.input", answer)
    outcome = flowsched("play", "flowsched/MERPOrder-v0", "--flows", 8)
    assert outcome.status == 0, outcome.err
    assert asked[0] == asked[1] == "slot, 0 to 1 (Ctrl-C ends): "
    rows = [line.split() for line in outcome.out.split(CLEAR)[-1].splitlines()]
    found = {name: float(value) for name, value in rows[1:]}
    assert found["you"] == found["fifo"], "slot 0 has the oldest flow"
    assert list(found.values()) == sorted(found.values())
    assert list(found).index("you") < list(found).index("fifo")

    def end(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", end)
    assert flowsched("play", "flowsched/MERPOrder-v0", "--flows", 8).status == 130
