"""Writes the pages into docs/catalogue: ``python -m docs.catalogue_pages [--no-pictures]``."""

import sys

from docs.catalogue_pages.writing import write_catalogue

write_catalogue(pictures="--no-pictures" not in sys.argv)
