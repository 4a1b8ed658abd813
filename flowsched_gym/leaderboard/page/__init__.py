"""A page of a leaderboard: scores, films of episodes, curves and tables, in one file that needs no network."""

from flowsched_gym.leaderboard.page.document import page_html
from flowsched_gym.leaderboard.page.site import read_learning_curves, write_site

__all__ = ["page_html", "read_learning_curves", "write_site"]
