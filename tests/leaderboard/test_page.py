"""Reads the page of a leaderboard as a browser does, and holds its films and curves to the episodes behind them."""

import json
import re
import shutil
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError, MissingDependencyError
from flowsched_gym.evaluation import ModelFile, evaluate, read_result
from flowsched_gym.leaderboard import claims_of, compare, compare_settings, group_results, load_suite, score_line
from flowsched_gym.leaderboard.page import page_html, read_learning_curves, write_site
from flowsched_gym.leaderboard.page.episodes import Player, draw_film, lead, outcome_of, typical_episode
from flowsched_gym.leaderboard.scores import num_collapsed
from tests.leaderboard.test_claims import GRANT, RULES, TRAININGS
from tests.leaderboard.test_leaderboard import SPREAD, make_result
from tests.processes import run
from tests.repository import ROOT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SUITE = load_suite("standard")
USE = """
const table = document.querySelector(".setting table");
const heads = all("thead th", table);
heads[1].querySelector("button").click();
const [time] = all(".film input");
time.value = 7000;
time.dispatchEvent(new Event("input"));
const [passing] = document.querySelector(".sweep").getAnimations();
const film = [passing.playState, passing.currentTime, document.querySelector(".film button").textContent];
environment.value = "flowsched/MERPRoute-v0";
environment.dispatchEvent(new Event("change"));
parent.postMessage({
  width: innerWidth, content: document.documentElement.scrollWidth, sorted: heads[1].ariaSort, film,
  values: [...table.querySelectorAll("tbody tr")].map((row) => parseFloat(row.cells[1].textContent)),
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


def group_of(name: str, *policies: str):
    """Reads results of a setting, with their actions; the last one stands for a trained agent."""
    found = [read_result(ROOT / "benchmarks" / "results" / SUITE.name / name / f"{policy}.json") for policy in policies]
    runs = (replace(found[-1].runs[0], model=ModelFile(name="seed0.zip", digest="", seed=0)),)
    found[-1] = replace(found[-1], policy="agent", source="models/agent", runs=runs)
    return group_results(found, [SUITE.settings[name]])[0]


@pytest.fixture(scope="module")
def groups():
    return [
        group_of("artemis-heavy", "clairvoyant-bound", "random", "edf", "skip-late", "lifo"),
        group_of("merp-route", "random", "memr", "ecmp"),
    ]


class Reader(HTMLParser):
    """What a page holds: links, ids, tags, and its text with the tags left out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(page)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.links += [value for name in ("href", "src") if (value := found.get(name))]
        self.ids += [value] if (value := found.get("id")) else []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def trained(name, *gains):
    return make_result(name, *(SPREAD + gain for gain in gains), learned=True)


def page_of(*agents, rules=RULES):
    """Returns what is claimed of agents beside rules of given gains, by their names, and the page that says so."""
    groups = [(GRANT, [*(make_result(name, SPREAD + gain) for name, gain in rules.items()), *agents])]
    compared = compare_settings(groups)
    claims = claims_of(compared)
    page = page_html(groups, suite="tiny-v1", with_films=False)
    return {claim.row.policy: claim for claim in claims}, score_line(compared, claims), page


def test_without_its_package_nothing_is_compared_and_the_error_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingDependencyError, match=re.escape("pip install 'flowsched-gym[plot]'")):
        page_html([], suite="tiny-v1")


def test_the_first_screen_has_the_score_of_the_tables_and_how_many_agents_win() -> None:
    strong, weak = (trained(name, *(gain + each for each in TRAININGS)) for name, gain in (("s", 0.2), ("w", -0.08)))

    claims, line, page = page_of(strong, weak)

    score, interval = re.search(r"\*\*(\S+) (\[.+?\])\*\*", line).groups()
    top = Reader(page.partition("<details>")[0]).text
    assert f"{score} {interval}, 95 % interval" in top
    assert "in 1 of 1 headline settings (0: random choice" in top
    assert "1 better than the best rule 1 worse than the best rule" in top
    text = Reader(page).text
    better, worse = text.index("Better than the best rule 1"), text.index("Worse than the best rule 1")
    for name, lists in (("s", text[better:worse]), ("w", text[worse:])):
        row = claims[name].row
        assert f"{100 * row.estimate.mean:.1f}" in lists
        assert (
            f"{100 * row.difference.mean:+.1f} [{100 * row.difference.low:+.1f}, {100 * row.difference.high:+.1f}]"
            in lists
        )
    assert claims["w"].reason == "not found"
    assert "not found: a policy with the same actions and information is better" in text[worse:]


def test_a_collapsed_training_is_drawn_and_counted_as_the_scores_count_it() -> None:
    claims, _, page = page_of(replace(trained("agent", 0.1, 0.1, 0.1, 0.1, -0.4), backed=True))

    scores = claims["agent"].scores
    assert num_collapsed(scores) == 1
    picture = page.partition("Scores of all trainings")[2].partition("</svg>")[0]
    assert (picture.count("dot learned"), picture.count("dot missed")) == (4, 1)
    assert re.search(r'path class="dot missed" d="M[\d.]+ \S+v8l-5', picture), "below all scores that are drawn"
    assert "agent, trainings: 2 distinct of 5, 1 collapsed" in Reader(page).text
    assert "dot missed" not in page_of(trained("agent", 0.1, 0.1))[2]


def test_a_page_has_every_result_with_its_number_and_no_link_outside(tmp_path: Path, groups) -> None:
    text = write_site(groups, tmp_path, suite=SUITE.name, yours={("merp-route", "random")}).read_text()

    page = Reader(text)
    for setting, members in groups:
        for row in compare(members, metric=setting.metric):
            scale, digits = (100, 1) if setting.name == "artemis-heavy" else (1, 2)
            assert re.search(rf">{row.policy}\b.*?</th>\s*<td>{scale * row.estimate.mean:.{digits}f}\b", text)
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert "http" not in text
    assert text.count('class="film"') == 2, "an agent and what is yours, beside the best rule"
    assert "random yours" in page.text


def test_a_page_that_is_part_of_a_site_leads_back_to_it(groups) -> None:
    pages = [page_html(groups, suite=SUITE.name, with_films=False, home=home) for home in ("../docs/index.html", None)]

    found = [[link for link in Reader(page).links if not link.startswith("#")] for page in pages]
    assert found == [["../docs/index.html"], []]


def test_names_from_files_stay_text(groups) -> None:
    setting, members = groups[1]
    evil = '"><script>alert(1)</script>'

    text = page_html([(replace(setting, name=evil), members)], suite=evil, yours={(evil, "random")})

    assert Reader(text).tags.count("script") == 1
    assert "<script>alert" not in text
    assert 'class="film"' in text


@pytest.mark.parametrize(
    ("environment", "kwargs", "metric", "policies"),
    [
        ("Artemis", {"workload": "gather-heavy", "k": 3, "bursts": 20}, "deadline_hit_ratio", ("edf", "lifo")),
        ("MERPOrder", {"flows": 80}, "max_slowdown", ("fifo", "srpt")),
        ("MERPOrder", {"flows": 80}, "mean_fct", ("fifo", "srpt")),
        ("QCluster", {"workload": "qcluster-w4", "flows": 60}, "mean_slowdown", ("constant", "opt")),
        ("TAFETasks", {"workload": "tafe-log", "tasks": 12, "information": "full"}, "mean_tct", ("fifo", "stf")),
    ],
)
def test_who_is_ahead_at_the_end_of_an_episode_is_the_difference_of_its_measure(
    environment, kwargs, metric, policies
) -> None:
    results = [evaluate(f"flowsched/{environment}-v0", each, episodes=3, seed=5, kwargs=kwargs) for each in policies]
    ours, theirs = results

    run, number = typical_episode(ours, theirs, metric)

    apart = ours.values(metric) - theirs.values(metric)
    assert (run, abs(apart[number] - apart.mean())) == (0, np.abs(apart - apart.mean()).min())
    outcomes = [outcome_of(each, metric, run=0, number=number) for each in results]
    assert apart[number] != 0.0
    assert lead(*outcomes, metric)[-1] == pytest.approx(apart[number], abs=1e-9)
    film = draw_film(
        [Player(name=name, learned=False, outcome=each) for name, each in zip(policies, outcomes, strict=True)],
        metric,
        title="",
    )
    assert film.count("<text") == 2 + 3, "two policies, and three times"
    count = min(20, len(outcomes[0].begin))
    drawn = re.findall(r'class="bar ([a-z ]+)" d="([^"]+)"', film)
    rows = {re.search(r"\S+ ([\d.]+)", bar)[1] for kind, path in drawn if kind != "due" for bar in path.split("M")[1:]}
    assert len(rows) == 2 * count
    assert {"met", "missed", "due"} <= {kind.removesuffix(" late") for kind, _ in drawn}
    if metric == "deadline_hit_ratio":
        told = [int(found) for found in re.findall(rf"(\d+) of {count} in time", film)]
        assert told[0] != told[1]
        assert (told[0] > told[1]) == (apart[number] > 0), "it shows where the better one gains"


def test_a_rule_without_actions_is_played_again_and_an_agent_is_not(groups) -> None:
    rule, agent = (next(each for each in groups[0][1] if each.policy == name) for name in ("edf", "agent"))
    published = [
        replace(
            each,
            runs=tuple(
                replace(run, episodes=tuple(replace(e, actions=None) for e in run.episodes)) for run in each.runs
            ),
        )
        for each in (rule, agent)
    ]

    again, nothing = (outcome_of(each, "deadline_hit_ratio", run=0, number=0) for each in published)

    assert nothing is None
    assert again.value.mean() == rule.episodes[0].metrics["deadline_hit_ratio"]


def test_learning_curves_are_the_median_of_trainings_up_to_where_the_first_ends(tmp_path: Path, groups) -> None:
    agent = tmp_path / "artemis-heavy" / "agent"
    agent.mkdir(parents=True)
    curve = agent / "curve.csv"
    heads, rows = "seed,decisions,metric,mean", [(0, 0, 0.4), (0, 100, 0.5), (1, 0, 0.4), (1, 50, 0.7), (1, 200, 0.9)]
    lines = [f"{seed},{at},deadline_hit_ratio,{mean}" for seed, at, mean in rows]
    curve.write_text("\n".join([heads, *lines, "0,100,mean_fct,1.0"]))

    (found,) = read_learning_curves(agent.parent, "deadline_hit_ratio")

    assert found.x.tolist() == [0, 50, 100]
    assert found.others == pytest.approx(np.array([[40, 45, 50], [40, 70, 70 + 20 / 3]]))
    assert found.y == pytest.approx(found.others.mean(axis=0))
    assert found.episodes is None
    curve.write_text("\n".join([f"{heads},first_seed,episodes", *(f"{line},7,2" for line in lines)]))
    assert read_learning_curves(agent.parent, "deadline_hit_ratio")[0].episodes == range(7, 9)
    text = write_site(groups, tmp_path, suite=SUITE.name, models=tmp_path, with_films=False).read_text()
    assert "dashed: the best rule in these episodes" in Reader(text).text
    assert read_learning_curves(agent.parent, "mean_tct") == []
    curve.write_text(f"{heads}\n0,1,nan,x\n")
    with pytest.raises(ConfigError, match="finite numbers"):
        read_learning_curves(agent.parent, "nan")
    with pytest.raises(ConfigError, match="no such folder"):
        write_site(groups, tmp_path, suite=SUITE.name, models=tmp_path / "none")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_browser_sorts_filters_and_stops_films_at_any_width(tmp_path: Path, groups) -> None:
    text = page_html(groups, suite=SUITE.name)
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
        assert each["film"] == ["paused", 7000, "Play"]
        assert (each["sorted"], each["sections"]) == ("descending", ["merp-route headline"])
        assert each["values"] == sorted(each["values"], reverse=True)
