"""Pictures of episodes: a system lists its panels, one renderer draws them and another writes them as text."""

from flowsched_gym.envs.drawing.frame import draw_frame
from flowsched_gym.envs.drawing.panels import View
from flowsched_gym.envs.drawing.scene import Scene
from flowsched_gym.envs.drawing.text import write_text

__all__ = ["Scene", "View", "draw_frame", "write_text"]
