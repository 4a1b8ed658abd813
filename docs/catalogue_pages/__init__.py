"""Pages of the documentation that are made from the code when it is built: a page for each thing that has a name."""

import shutil
from pathlib import Path
from typing import Final

from docs.catalogue_pages.environments import write_environments
from docs.catalogue_pages.networks import write_networks
from docs.catalogue_pages.policies import write_policies
from docs.catalogue_pages.reference import write_reference
from docs.catalogue_pages.rules import write_disciplines, write_schedulers
from docs.catalogue_pages.workloads import write_workloads

__all__ = ["write_catalogue"]

FOLDER: Final = Path(__file__).resolve().parents[1] / "catalogue"


def write_catalogue(*, complete: bool = True, folder: Path = FOLDER) -> None:
    """Writes the pages of everything that has a name, and of the interfaces, in the place of those written before.

    Args:
        complete: Whether to draw pictures, and to play an episode of each environment; otherwise of Artemis alone.
        folder: Where to.
    """
    shutil.rmtree(folder, ignore_errors=True)
    write_environments(folder / "environments", complete=complete)
    write_disciplines(folder / "disciplines", complete=complete)
    write_schedulers(folder / "schedulers", complete=complete)
    write_policies(folder / "policies")
    write_workloads(folder / "workloads", complete=complete)
    write_networks(folder / "networks.md")
    write_reference(folder)
