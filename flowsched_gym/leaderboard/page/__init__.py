"""A page of a leaderboard: tables, curves and animated episodes, in a folder that needs no network and no server."""

from flowsched_gym.leaderboard.page.document import Film, page_html
from flowsched_gym.leaderboard.page.site import film_path, players_to_film, read_learning_curves, write_film, write_site

__all__ = ["Film", "film_path", "page_html", "players_to_film", "read_learning_curves", "write_film", "write_site"]
