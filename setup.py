"""Lists the packages, two of which lie beside the others, and describes them for an index.

The description is the README without what leads nowhere there, relative links and pictures.
"""

import re
from pathlib import Path

from setuptools import find_packages, setup

own = find_packages(include=["flowsched_gym", "flowsched_gym.*"])
beside = find_packages(include=["baselines", "baselines.*", "configs"])
readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
readme = re.sub(r"!\[[^]]*\]\((?!https:)[^)]*\)\n+", "", readme)
readme = re.sub(r"\[([^]]*)\]\((?!https:|#)[^)]*\)", r"\1", readme)
setup(
    packages=own + [f"flowsched_gym.{name}" for name in beside],
    long_description=readme,
    long_description_content_type="text/markdown",
)
