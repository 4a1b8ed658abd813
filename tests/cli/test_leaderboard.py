"""Puts policies onto leaderboards by ``flowsched leaderboard``, and reads their pages as a browser does."""

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from flowsched_gym.cli import leaderboard_command
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.evaluation import read_result
from flowsched_gym.leaderboard import compare, group_results, load_suite, published_results
from flowsched_gym.leaderboard.page import Film, read_learning_curves, write_site
from flowsched_gym.leaderboard.page.document import page_html
from tests.cli.test_evaluate import POLICY, untrained
from tests.leaderboard.test_forged_files import TINY, WITH_TIER
from tests.processes import check_refusal, run
from tests.repository import ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SUITE = load_suite("standard")


@pytest.fixture
def folder(tiny: Path) -> Path:
    (tiny / "own.py").write_text(POLICY)
    return tiny


def test_a_policy_of_ones_own_gets_onto_a_leaderboard_and_is_verified(flowsched, folder: Path, monkeypatch) -> None:
    monkeypatch.setattr("secrets.randbelow", lambda below: 0)  # of honest claims some differ from fresh episodes
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
    assert "own:Oldest in other episodes, seeds " in played
    assert "agrees" in played
    assert "edf in other episodes" in verified(path.with_name("short_edf.json"))

    before = path.stat().st_mtime_ns
    assert "2 were there already" in flowsched(*run, "--policy", "edf").err
    assert path.stat().st_mtime_ns == before

    table = flowsched("leaderboard", "table", "--suite", "tiny-v1.json", "--json")
    assert {each["policy"] for each in json.loads(table.out)["results"]} == {"Oldest", "edf"}


def test_tables_of_a_suite_with_tiers_part_what_has_more_actions_and_end_with_what_does_not_fit(
    flowsched, folder: Path
) -> None:
    settings = {"short": TINY["settings"]["short"] | WITH_TIER | {"tier": "calibration", "reference": "feasible-first"}}
    (folder / "tiny-v1.json").write_text(json.dumps(TINY | {"schema": "flowsched-suite/2", "settings": settings}))
    names = ("random", "feasible-first", "postpone-late")
    policies = [word for name in names for word in ("--policy", name)]

    outcome = flowsched("leaderboard", "run", "--suite", "tiny-v1.json", *policies)

    assert outcome.status == 0, outcome.err
    ranked, apart = outcome.out.split("With more actions or information:")
    assert "short (calibration): flowsched/Artemis-v0" in ranked
    assert re.search(r"^feasible-first .* 1\.00 ", ranked, re.MULTILINE)
    assert "postpone-late" in apart
    assert "short is of tier calibration, but feasible-first is " in apart


def test_results_of_a_suite_that_changed_are_refused_in_one_line(flowsched, folder: Path) -> None:
    flowsched("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "edf")
    (folder / "tiny-v1.json").write_text(json.dumps(TINY | {"seeds": TINY["seeds"] | {"validation": [100, 110]}}))
    check_refusal(flowsched("leaderboard", "table"), "holds a result of edf of suite tiny-v1")


def test_bad_input_ends_with_status_2_and_a_clear_line(flowsched, folder: Path) -> None:
    listed = flowsched(
        "leaderboard", "run", "--list", "--suite", SUITE.name, "--env", "flowsched/MERPRoute-v0"
    ).out.splitlines()
    assert [line.split()[0] for line in listed] == ["merp-route", "merp-route-failures"]
    untrained().save(folder / "foreign.zip")
    for words, message in (
        ("run --suite tiny-v1.json --policy foreign.zip", "foreign.zip was not written by flowsched-gym"),
        ("run --policy edf --env artemis-hevy", "--env is 'artemis-hevy': suite standard-v2 has"),
        ("run --policy edf --suite standrad", "suite is 'standrad': it must be"),
        ("run --policy none.zip --env artemis-heavy", "there is no such file"),
        ("run --policy edf --policy fifo --label mine", "it names one policy"),
        ("run --policy own:Oldest --label edf", "the name 'edf' of a policy of the package"),
        ("run --policy own:Oldest --label a(learned,5)", "the name of a policy must have"),
        ("run --policy nobody --env artemis-heavy", "policy 'nobody' does not play here"),
        ("run --policy edf --env artemis-heavy --kwarg k=4", "would change the setting"),
        ("table none", "there is no such folder"),
        ("verify none.json", "none.json"),
    ):
        outcome = flowsched("leaderboard", *words.split())
        assert (outcome.status, outcome.out, message in outcome.err) == (2, "", True), words
        assert not list(folder.glob("leaderboard/*")), words


def groups_of(*names: str):
    groups = group_results(published_results(SUITE), list(SUITE.settings.values()))
    return [(setting, members) for setting, members in groups if setting.name in names]


GROUPS = groups_of("artemis-heavy", "merp-route")
LEARNING = "seed,decisions,metric,mean\n" + "".join(
    f"{seed},{decisions},deadline_hit_ratio,{0.4 + decisions / 4e6 + seed / 100}\n"
    for seed in range(3)
    for decisions in (0, 500_000, 1_000_000)
)
USE = """
const heads = all("thead th", document.querySelectorAll("table")[1]);
heads[1].querySelector("button").click();
const order = all("table")[1].querySelectorAll("tbody tr");
document.querySelector("a.film").click();
const opened = player.open && picture.getAttribute("src");
player.close();
environment.value = "flowsched/MERPRoute-v0";
environment.dispatchEvent(new Event("change"));
parent.postMessage({
  width: innerWidth, content: document.documentElement.scrollWidth, opened, sorted: heads[1].ariaSort,
  values: [...order].map((row) => Number(row.cells[1].dataset.value)),
  sections: all("section.setting").filter((each) => !each.hidden).map((each) => each.querySelector("h2").textContent),
}, "*");
"""
FRAMES = """<!doctype html><body><script>
const found = [];
onmessage = (event) => { found.push(event.data); document.body.dataset.found = JSON.stringify(found); };
</script>
<iframe src="index.html" width="1280" height="800"></iframe>
<iframe src="index.html" width="380" height="800"></iframe>
</body>"""
"""A page in which another one is shown at two widths: windows of a browser have a smallest width."""


class Reader(HTMLParser):
    """What a page holds: the rows of its tables with the values to sort by, links, ids, and text within scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str | None]] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append(found.get("data-value"))
        self.links += [value for name in ("href", "src") if (value := found.get(name))]
        self.ids += [value] if (value := found.get("id")) else []


def test_a_page_has_every_result_with_its_number_and_no_link_outside(tmp_path: Path) -> None:
    models = tmp_path / "models"
    (models / "artemis-heavy" / "ppo").mkdir(parents=True)
    (models / "artemis-heavy" / "ppo" / "curve.csv").write_text(LEARNING)

    text = write_site(GROUPS, tmp_path, suite=SUITE.name, models=models).read_text()

    page = Reader(text)
    rule, agent, difference, _, _ = page.rows[1]
    assert float(agent) - float(rule) == pytest.approx(float(difference), abs=0.11), "three rounded numbers"
    values = iter(page.rows[1 + len(GROUPS) :])  # below the overview
    for setting, members in GROUPS:
        next(values)
        for row in compare(members, metric=setting.metric):
            scale, digits = (100, 1) if setting.name == "artemis-heavy" else (1, 2)
            assert next(values)[0] == f"{scale * row.estimate.mean:.{digits}f}"
            assert f'<th scope="row">{row.policy}' in text
    assert page.tags.count("svg") == len(GROUPS) + 1
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert "http" not in text

    (curve,) = read_learning_curves(models / "artemis-heavy", "deadline_hit_ratio")
    assert curve.y == pytest.approx([41.0, 53.5, 66.0])
    assert np.all(curve.high - curve.low == pytest.approx(2.0))
    (models / "artemis-heavy" / "ppo" / "curve.csv").write_text("seed,decisions,metric,mean\n0,1,nan,x\n")
    assert read_learning_curves(models / "artemis-heavy", "deadline_hit_ratio") == []
    with pytest.raises(ConfigError, match="finite numbers"):
        read_learning_curves(models / "artemis-heavy", "nan")


def test_the_overview_tells_what_is_better_where_trainings_collapsed_and_the_sign_of_small_differences() -> None:
    text = page_html(groups_of("artemis-heavy", "auto-long-flows", "merp-order-tree"), suite=SUITE.name)
    heavy, tree, flows = text.partition("<tbody>")[2].partition("</tbody>")[0].splitlines()[1:]

    for row, texts in (
        (heavy, ["more is better", 'data-head="search"']),
        (tree, ["less is better", "collapses <small>2 of 5 trainings worse than random", "12.60 to 530.93 in 5 train"]),
        (flows, ["less is better", ">-0.003 <small>[-0.003, -0.003]"]),
    ):
        assert all(text in row for text in texts)
        assert re.search(r"[+-]0\.0+(?!\d)", row) is None
    assert "open" not in tree


def test_names_from_files_stay_text() -> None:
    setting, members = GROUPS[1]
    evil = '"><script>alert(1)</script>'

    text = page_html([(replace(setting, name=evil), members)], suite=evil, films=[Film(evil, members[0].policy, evil)])

    assert Reader(text).tags.count("script") == 1
    assert "<script>alert" not in text


def test_an_episode_is_animated_once_and_small(flowsched, tiny: Path) -> None:
    pytest.importorskip("PIL")
    flowsched("leaderboard", "run", "--suite", "tiny-v1.json", "--policy", "edf")
    command = ("leaderboard", "page", "leaderboard", "--suite", "tiny-v1.json", "--out", "site")

    outcome = flowsched(*command)
    assert outcome.status == 0, outcome.err
    assert "1 results in 1 settings, 1 animated episodes" in outcome.out
    (film,) = Path("site").glob("episodes/short_edf-*.webp")
    assert 1_000 < film.stat().st_size <= 300_000
    page = Path("site/index.html").read_text()
    assert [link for link in Reader(page).links if not link.startswith("#")] == [f"episodes/{film.name}"]
    made = film.stat().st_mtime_ns
    assert flowsched(*command).status == 0
    assert film.stat().st_mtime_ns == made

    check_refusal(flowsched(*command, "--episodes-of", "nobody"), "--episodes-of is 'nobody'")
    check_refusal(flowsched(*command, "--models", "nowhere"), "--models is 'nowhere'")


def test_only_settings_that_were_played_are_animated_unless_asked_for(flowsched, tmp_path: Path, monkeypatch) -> None:
    own = tmp_path / "own"
    own.mkdir()
    shutil.copy(ROOT / "benchmarks" / "results" / SUITE.name / "artemis-heavy_edf.json", own)
    monkeypatch.setattr(leaderboard_command, "write_film", lambda *_, **__: None)
    monkeypatch.setattr(leaderboard_command, "write_site", lambda _, site, **__: site)
    page = ("leaderboard", "page", "--suite", SUITE.name, "--out", tmp_path / "site")

    counts = [
        re.search(r"(\d+) animated", flowsched(*page, *more).out)[1]
        for more in ((own,), (), ("--all-episodes",), (own, "--episodes-of", "memr"))
    ]

    assert counts == ["1", "0", str(len(SUITE.settings)), "2"]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_browser_sorts_filters_and_plays_at_any_width(tmp_path: Path) -> None:
    films = [Film("artemis-heavy", "ppo", "episodes/one.webp")]
    text = page_html(GROUPS, suite=SUITE.name, films=films)
    (tmp_path / "index.html").write_text(text.replace("</script>", f"{USE}</script>"))
    (tmp_path / "frames.html").write_text(FRAMES)

    shown = run(
        *(str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"),
        *("--hide-scrollbars", "--virtual-time-budget=5000", "--dump-dom", (tmp_path / "frames.html").as_uri()),
    ).out

    # The script wrote into an attribute.
    found = shown.partition('data-found="')[2].partition('"')[0].replace("&quot;", '"')
    wide, narrow = sorted(json.loads(found), key=lambda each: -each["width"])
    assert (wide["width"], wide["content"]) == (1280, 1280)
    assert (narrow["width"], narrow["content"]) == (380, 380)
    for each in (wide, narrow):
        assert each["opened"] == "episodes/one.webp"
        assert (each["sorted"], each["sections"]) == ("descending", ["merp-route"])
        assert each["values"] == sorted(each["values"], reverse=True)
