"""Writes the pages into docs/catalogue: ``python -m docs.catalogue_pages [--quick]``."""

import sys

from docs.catalogue_pages.writing import write_catalogue

write_catalogue(complete="--quick" not in sys.argv)
