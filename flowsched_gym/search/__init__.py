"""Search as an agent: choices are followed on copies of the episode, over sampled futures."""

from flowsched_gym.search.search import Search, SearchConfig, Tried

__all__ = ["Search", "SearchConfig", "Tried"]
