"""A page of a leaderboard: tables, curves and animated episodes, in a folder that needs no network and no server."""

from flowsched_gym.leaderboard.page.document import Film, page_html
from flowsched_gym.leaderboard.page.episodes import film_path, write_film
from flowsched_gym.leaderboard.page.learning import read_learning_curves
from flowsched_gym.leaderboard.page.site import PAGE_FILE, find_models, players_to_film, write_site

__all__ = [
    "PAGE_FILE",
    "Film",
    "film_path",
    "find_models",
    "page_html",
    "players_to_film",
    "read_learning_curves",
    "write_film",
    "write_site",
]
