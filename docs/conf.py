"""Settings of Sphinx: ``make docs`` builds docs/, benchmarks/ and notebooks/ into docs/_build/html."""

import sys
from pathlib import Path
from typing import Any, Final

from nbclient import NotebookClient
from sphinx.application import Sphinx

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import flowsched_gym
from benchmarks.leaderboard import RESULTS, SUITE
from benchmarks.papers_tier import kept_digests
from docs.catalogue_pages import write_catalogue
from flowsched_gym.leaderboard import group_results, read_results
from flowsched_gym.leaderboard.page import write_site

project = "flowsched-gym"
copyright = "the flowsched-gym contributors"
version = release = flowsched_gym.__version__

# Pages are read where they lie, from the root of the repository, so that links between them hold on a forge too.
root_doc = "docs/index"
PLACES: Final = ("docs", "benchmarks", "notebooks", "baselines", "flowsched_gym", "CONTRIBUTING.md", "CHANGELOG.md")
include_patterns = [
    "docs/**.md",
    "benchmarks/**.md",
    "notebooks/*.ipynb",
    "notebooks/README.md",
    "baselines/README.md",
    "flowsched_gym/workload/data/README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
]
exclude_patterns = [
    *(path.name for path in ROOT.iterdir() if path.name not in PLACES),
    "docs/_build",
    "**/.*",
]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
# What is typed can be copied, what is printed cannot.
copybutton_selector = "div:not(.highlight-text):not(.output) > div.highlight > pre"
myst_heading_anchors = 4
nb_execution_mode = "cache"  # runs a notebook again only where it has changed
nb_execution_timeout = 600
nb_execution_raise_on_error = True
# What a slider shows becomes an output of its cell. A widget of nbclient would write to the kernel while it waits for a
# reply, and at times not see the reply before the time limit (nbclient, issue 312).
NotebookClient.on_comm_open_jupyter_widget = lambda self, message: None  # type: ignore[method-assign]
default_role = "code"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
napoleon_use_ivar = True

html_theme = "furo"
html_theme_options = {"light_logo": "logo.svg", "dark_logo": "logo-dark.svg"}
html_title = "flowsched-gym"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_extra_path = ["_static/index.html"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False


def skip_fields(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Skips the fields of named tuples, which the docstring of the class describes."""
    return True if (getattr(member, "__doc__", None) or "").startswith("Alias for field number") else None


def write_leaderboard(app: Sphinx, exception: Exception | None) -> None:
    """Writes the page of the published results beside the others."""
    if exception is None and app.config.complete:
        results = read_results(ROOT / "benchmarks" / RESULTS, kept_digests())
        groups = group_results(results, list(SUITE.settings.values()))
        models, home = ROOT / "benchmarks" / "models", "../docs/index.html"
        write_site(groups, Path(app.outdir) / "leaderboard", suite=SUITE.name, models=models, home=home)


def link_leaderboard(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Puts the page of the leaderboard, which is none of Sphinx's, before all others in the navigation."""
    if app.config.complete and "furo_navigation_tree" in context:
        address = context["pathto"]("leaderboard/index.html", 1)
        link = f'<ul><li class="toctree-l1"><a class="reference" href="{address}">Leaderboard: who wins</a></li></ul>'
        context["furo_navigation_tree"] = link + context["furo_navigation_tree"]


def setup(app: Sphinx) -> None:
    """Has the pages that are made from the code written before Sphinx looks for pages, and the leaderboard after."""
    app.add_config_value("complete", True, "")
    app.connect("builder-inited", lambda app: write_catalogue(complete=app.config.complete))
    app.connect("html-page-context", link_leaderboard, priority=900)  # once Furo has made the navigation
    app.connect("build-finished", write_leaderboard)
    app.connect("autodoc-skip-member", skip_fields)
