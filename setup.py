"""Lists the packages, two of which lie beside the others, and describes them for an index.

The description is the README, whose relative links and pictures lead to the repository: the address ``Repository`` in
the table ``[project.urls]`` of pyproject.toml. Without one, they are left out.
"""

import re
import tomllib
from pathlib import Path

from setuptools import find_packages, setup

BRANCH = "main"
folder = Path(__file__).resolve().parent
own = find_packages(include=["flowsched_gym", "flowsched_gym.*"])
beside = find_packages(include=["baselines", "baselines.*", "configs"])
readme = (folder / "README.md").read_text(encoding="utf-8")
project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
address = project.get("urls", {}).get("Repository", "").rstrip("/")
readme = re.sub(
    r"!\[([^]]*)\]\((?!https:)([^)]*)\)(\n*)", rf"![\1]({address}/raw/{BRANCH}/\2)\3" if address else "", readme
)
readme = re.sub(
    r"\[([^]]*)\]\((?!https:|#)([^)]*)\)", rf"[\1]({address}/blob/{BRANCH}/\2)" if address else r"\1", readme
)
setup(
    packages=own + [f"flowsched_gym.{name}" for name in beside],
    long_description=readme,
    long_description_content_type="text/markdown",
)
