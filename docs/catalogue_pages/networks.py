"""The page of topologies and routings."""

from pathlib import Path
from typing import Final

from docs.catalogue_pages.markdown import example, table, write_page
from flowsched_gym.topology import ROUTINGS, TOPOLOGIES, make_topology
from flowsched_gym.topology.routes import DESCRIPTIONS

__all__ = ["write_networks"]

HOSTS: Final = {"one-link": 4, "tree9": 9, "leaf-spine": 32}


def write_networks(path: Path) -> None:
    """Writes the page."""
    parts = [
        "# Topologies and routings\n\nNetworks that replays and environments use by name. "
        "[Networks](../networks.md) shows how to make one of your own.\n\n## Topologies\n"
    ]
    for name, description in TOPOLOGIES.items():
        topology = make_topology(name, num_hosts=HOSTS.get(name, 16))
        parts.append(f"({'topology-' + name})=\n\n### {name}\n\n{description[0].upper()}{description[1:]}.\n")
        rows = [
            ("hosts", topology.num_hosts),
            ("links, each direction counted", topology.num_links),
            ("paths", len(topology.path_start) - 1),
        ]
        parts.append(table((f"with {HOSTS.get(name, 16)} hosts requested", ""), rows))
    parts.append("## Routings\n\nWhere several paths join two hosts, a routing chooses among those that are up.\n")
    parts.append(table(("routing", "chooses"), [(f"`{name}`", DESCRIPTIONS[name]) for name in ROUTINGS]))
    parts.append("## Example\n\nTwo flows that a hash may send over the same core switch:\n")
    parts.append(
        example("""
        import flowsched_gym

        flows = {
            "flow_id": [0, 1],
            "source": [0, 1],
            "destination": [8, 9],
            "size_bytes": [1e7, 1e7],
            "arrival_s": [0.0, 0.0],
        }
        for routing in ("ecmp", "least-loaded"):
            records = flowsched_gym.replay(
                flows, discipline="ps", topology="fat-tree", parameters={"routing": routing}, seed=1
            )
            print(routing, [f"{1000 * fct:.0f} ms" for fct in records.fct])
    """)
    )
    write_page(path, "\n".join(parts))
