"""Puts policies onto leaderboards by ``flowsched leaderboard``, and reads their pages as a browser does."""

import json
import re
import shutil
from pathlib import Path

import pytest

from benchmarks.leaderboard import pack_results
from flowsched_gym.core.files import write_bytes
from flowsched_gym.core.packed import read_bytes
from flowsched_gym.evaluation import read_result
from flowsched_gym.leaderboard import load_suite, read_results
from tests.cli.test_evaluate import POLICY, untrained
from tests.leaderboard.test_forged_files import TINY, WITH_TIER
from tests.processes import check_refusal

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SUITE = load_suite("standard")


@pytest.fixture
def folder(tiny: Path) -> Path:
    (tiny / "own.py").write_text(POLICY)
    return tiny


def test_a_policy_of_ones_own_gets_onto_a_leaderboard_and_is_verified(flowsched, folder: Path, monkeypatch) -> None:
    # Of honest claims one in a hundred is accused.
    monkeypatch.setattr("flowsched_gym.leaderboard.verification.secret_seeds", lambda _, count: list(range(count)))
    run = ("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "own:Oldest")
    outcome = flowsched(*run, "--policy", "edf")
    path = folder / "leaderboard" / "short_oldest.json"
    assert outcome.status == 0, outcome.err
    assert "minus " in outcome.out
    assert "Yours, which nobody has verified: Oldest, edf" in outcome.out
    result = read_result(path)
    assert result.seeds == list(range(10))
    assert result.made.versions["flowsched-gym"]
    assert result.made.hardware["cores"]

    def verified(file: Path, *words: str) -> str:
        found = flowsched("leaderboard", "verify", file, "--suite", "tiny-v1.json", *words)
        assert found.status == 0, found.err
        return found.out

    alone, played = verified(path), verified(path, "--policy", "own:Oldest")
    assert f"{path}: the actions give every number: Oldest on short, 10 episodes" in alone
    assert "who chose the actions is not known" in alone
    assert "own:Oldest in 10 episodes on secret seeds: deadlines met, % minus " in played
    assert "agrees, p = 1" in played, "the same episodes"
    assert "edf in 10 episodes on secret seeds" in verified(path.with_name("short_edf.json"))

    before = path.stat().st_mtime_ns
    assert "2 were there already" in flowsched(*run, "--policy", "edf").err
    refusal = f"{path.relative_to(folder)} has the result of own:Oldest with reward=default, which would be replaced"
    check_refusal(flowsched(*run, "--kwarg", "reward=lagged"), refusal)
    check_refusal(flowsched(*run, "--kwarg", "k=4"), "--kwarg k would change the setting: allowed are observation, ")
    assert path.stat().st_mtime_ns == before

    table = flowsched("leaderboard", "table", "--suite", "tiny-v1.json", "--json")
    assert {each["policy"] for each in json.loads(table.out)["results"]} == {"Oldest", "edf"}


@pytest.mark.exhaustive
def test_results_of_a_setting_in_one_file_are_read_verified_marked_and_replaced_there(flowsched, folder: Path) -> None:
    run = ("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "edf", "--policy", "own:Oldest")
    verify = ("leaderboard", "verify", "--suite", "tiny-v1.json", "--fresh", 10)
    assert flowsched(*run).status == 0
    assert flowsched(*verify, "leaderboard/short_edf.json", "--mark").status == 0
    table = ("leaderboard", "table", "--suite", "tiny-v1.json", "--json")
    before = flowsched(*table).out

    pack_results(folder / "leaderboard")

    assert list((folder / "leaderboard").rglob("*.json")) == []
    file = folder / "leaderboard" / "short.tar.xz"
    assert flowsched(*table).out == flowsched(*table[:2], file, *table[2:]).out == before
    assert "\nedf (verified) " in flowsched(*table[:-1]).out
    lines = flowsched(*verify, file).out.splitlines()
    assert [line.split(":")[0] for line in lines if not line.startswith(" ")] == [
        f"{folder}/leaderboard/short/edf.json",
        f"{folder}/leaderboard/short/oldest.json",
    ]
    assert sum("on secret seeds that were kept" in line for line in lines) == 1
    one = "leaderboard/short/oldest.json"
    assert flowsched(*verify, one, "--policy", "own:Oldest", "--mark").status == 0
    assert "2 were there already" in flowsched(*run).err
    assert flowsched(*run, "--again").status == 0
    assert [path.name for path in (folder / "leaderboard").iterdir()] == ["short.tar.xz"]
    assert [result.secret is None for result in read_results(file)] == [False, False]
    content = read_bytes(one).replace(b'"policy": "Oldest"', b'"policy": "Newest"')
    write_bytes(content, one)
    check_refusal(flowsched(*verify, one), "short/oldest.json: it was changed after it was written")


def test_tables_of_a_suite_with_tiers_part_what_has_more_actions_and_end_with_what_does_not_fit(
    flowsched, folder: Path
) -> None:
    settings = {"short": TINY["settings"]["short"] | WITH_TIER | {"tier": "calibration", "reference": "sjf"}}
    (folder / "tiny-v1.json").write_text(json.dumps(TINY | {"schema": "flowsched-suite/2", "settings": settings}))
    names = ("random", "sjf", "feasible-first", "postpone-late")
    policies = [word for name in names for word in ("--policy", name)]

    outcome = flowsched("leaderboard", "run", "--suite", "tiny-v1.json", *policies)

    assert outcome.status == 0, outcome.err
    ranked, apart = outcome.out.split("With more actions or information:")
    assert "short (calibration): flowsched/Artemis-v0" in ranked
    assert "feasible-first" in ranked
    assert "postpone-late" in apart
    assert "short: its reference sjf is not better than random" in apart


def test_results_of_a_suite_that_changed_are_refused_in_one_line(flowsched, folder: Path) -> None:
    flowsched("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "edf")
    (folder / "tiny-v1.json").write_text(json.dumps(TINY | {"seeds": TINY["seeds"] | {"validation": [100, 110]}}))
    check_refusal(flowsched("leaderboard", "table"), "holds a result of edf of suite tiny-v1")


def test_bad_input_ends_with_status_2_and_a_clear_line(flowsched, folder: Path) -> None:
    listed = flowsched(
        "leaderboard", "run", "--list", "--suite", SUITE.name, "--env", "flowsched/MERPRoute-v0"
    ).out.splitlines()
    assert [line.split()[0] for line in listed] == [
        "merp-route",
        "merp-route-failures-repaired",
        "merp-route-slow-link",
    ]
    untrained().save(folder / "foreign.zip")
    for words, message in (
        ("run --suite tiny-v1.json --policy foreign.zip", "foreign.zip was not written by flowsched-gym"),
        ("run --policy edf --env artemis-hevy", "--env is 'artemis-hevy': suite standard-v3 has"),
        ("run --policy edf --suite standrad", "suite is 'standrad': it must be"),
        ("run --policy none.zip --env artemis-heavy", "there is no such file"),
        ("run --policy edf --policy fifo --label mine", "it names one policy"),
        ("run --policy own:Oldest --label edf", "the name 'edf' of a policy of the package"),
        ("run --policy own:Oldest --label a(learned,5)", "--label is 'a(learned,5)': the name of a policy must have"),
        ("run --policy own:Oldest --label skip-Iate", "--label is 'skip-Iate': it looks like skip-late"),
        ("run --policy own:Oldest --label PP0", "--label is 'PP0': it looks like ppo"),
        ("run --policy own:Oldest --label ../../x", "--label is '../../x': the name of a policy must have"),
        ("run --policy own:Oldest --label=-rf", "--label is '-rf': the name of a policy must have"),
        ("run --policy own:Oldest --label=", "--label is '': the name of a policy must have"),
        ("run --policy own:Oldest --label nul.txt", "--label is 'nul.txt': the name of a policy must have"),
        ("run --policy none.py --env artemis-heavy", "none.py does not exist"),
        ("run --policy own:Oldest --policy v2:oldest", "'oldest.json' is given twice"),
        ("run --policy nobody --env artemis-heavy", "policy is 'nobody': flowsched/Artemis-v0 has random"),
        ("run --policy edf --env artemis-heavy --kwarg k=4", "would change the setting"),
        ("table none", "there is no such folder"),
        ("verify none.json", "none.json does not exist: a result file, or a folder of them, is needed"),
    ):
        outcome = flowsched("leaderboard", *words.split())
        assert (outcome.status, outcome.out, message in outcome.err) == (2, "", True), words
        assert not list(folder.glob("leaderboard/*")), words


def test_a_page_films_a_policy_of_ones_own_beside_the_best_rule_unless_told_not_to(flowsched, folder: Path) -> None:
    played = ("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "own:Oldest", "--policy", "feasible-first")
    assert flowsched(*played).status == 0
    command = ("leaderboard", "page", "leaderboard", "--suite", "tiny-v1.json", "--out", "site")

    pages = []
    for more in ((), ("--no-episodes",)):
        outcome = flowsched(*command, *more)
        assert outcome.status == 0, outcome.err
        assert outcome.out == "site/index.html: 2 results in 1 settings\n"
        pages.append(Path("site/index.html").read_text())

    assert [page.count('class="film"') for page in pages] == [1, 0]
    assert re.findall(r">([\w-]+): \d+ of 20 in time", pages[0]) == ["Oldest", "feasible-first"]
    assert list(Path("site").iterdir()) == [Path("site/index.html")]
    check_refusal(flowsched(*command, "--models", "nowhere"), "--models is 'nowhere'")


def test_settings_are_listed_so_that_no_two_look_alike(flowsched, folder: Path) -> None:
    short = TINY["settings"]["short"]
    rates = [{"base": "gather-heavy", "burst_rate": rate} for rate in (20, 30)]
    settings = {f"own{rate['burst_rate']}": short | {"kwargs": {"workload": rate}} for rate in rates}
    (folder / "tiny-v1.json").write_text(json.dumps(TINY | {"settings": settings}))
    for suite in (SUITE.name, "tiny-v1.json"):
        lines = flowsched("leaderboard", "run", "--list", "--suite", suite).out.splitlines()
        texts = [line.partition(" ")[2].strip() for line in lines]
        assert len(lines) == len(load_suite(suite).settings)
        assert [text for text in texts if texts.count(text) > 1] == []
    assert "actions: grant, postpone; information: sizes" in flowsched("leaderboard", "run", "--list").out


@pytest.mark.exhaustive
def test_a_policy_file_plays_by_its_path_and_again_when_it_has_changed(flowsched, folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "helper.py").write_text("SLOT = 1")
    for path, slot in (("my-agent.py", "helper.SLOT"), ("other/my-agent.py", "0")):
        text = POLICY.replace("class Oldest", f"{'import helper' * ('helper' in slot)}\nclass Oldest")
        (folder / path).write_text(text)
    run = ("leaderboard", "run", "--suite", "tiny-v1.json", "--policy")

    assert flowsched(*run, "my-agent.py").status == 0
    kept = folder / "leaderboard" / "short_my-agent.json"
    result = read_result(kept)
    assert (result.policy, result.source) == ("my-agent", "my-agent.py")
    assert "1 were there already" in flowsched(*run, "my-agent.py").err
    before = kept.read_bytes()
    check_refusal(flowsched(*run, "other/my-agent.py"), "has the result of my-agent.py, which other/my-agent.py would")
    assert kept.read_bytes() == before
    verified = flowsched(
        "leaderboard", "verify", kept, "--suite", "tiny-v1.json", "--policy", "my-agent.py", "--fresh", 1
    )
    assert "too few episodes to be judged" in verified.out
    assert verified.status == 0

    with (folder / "my-agent.py").open("a") as file:
        file.write("# changed\n")
    assert "were there already" not in flowsched(*run, "my-agent.py").err
    assert kept.read_bytes() != before
