"""Describes the package for an index: the README without what leads nowhere there, relative links and pictures."""

import re
from pathlib import Path

from setuptools import setup

readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
readme = re.sub(r"!\[[^]]*\]\((?!https:)[^)]*\)\n+", "", readme)
readme = re.sub(r"\[([^]]*)\]\((?!https:|#)[^)]*\)", r"\1", readme)
setup(long_description=readme, long_description_content_type="text/markdown")
