"""Pages of the named workloads."""

from dataclasses import fields
from pathlib import Path
from typing import Final

from docs.catalogue_pages.figures import draw_workload
from docs.catalogue_pages.markdown import code, example, list_page, picture, prose, section_entries, table, write_page
from flowsched_gym.registration import SYSTEMS
from flowsched_gym.workload import WORKLOADS, Empirical, NamedWorkload, draw_flows

__all__ = ["write_workloads"]

DRAWN_FLOWS: Final = 500
SEED: Final = 1


def write_workloads(folder: Path, *, complete: bool) -> None:
    """Writes a page for each workload, and their list."""
    for named in WORKLOADS.values():
        write_page(folder / f"{named.name}.md", _page(named, folder, complete=complete))
    text = "Any of them can be changed, or described anew, in Python or YAML: [workloads](../../workloads.md)."
    entries = ((named.name, named.name, named.description) for named in WORKLOADS.values())
    write_page(folder / "index.md", list_page("Workloads", text, entries))


def _page(named: NamedWorkload, folder: Path, *, complete: bool) -> str:
    name, config = named.name, named.config
    parts = [f"# {name}\n", f"{named.description[0].upper()}{named.description[1:]}.\n"]
    environments = [spec.id for system in SYSTEMS for spec in system.environments if name in spec.workloads]
    if complete:
        draw_workload(draw_flows(config, num_flows=DRAWN_FLOWS, seed=SEED), folder / f"{name}.png")
        text = f"Left: sizes of {DRAWN_FLOWS} flows of {name}; right: arrivals and sizes of the first ones"
        parts.append(picture(f"{name}.png", text))
        parts.append(f"{text}.\n")
    meanings = section_entries(type(config), "Attributes")
    rows = [
        (code(field.name), _shown(value), meanings.get(field.name, ""))
        for field in fields(config)
        if (value := getattr(config, field.name)) is not None
    ]
    parts.append(f"## Fields\n\n{prose(type(config))}\n\n{table(('field', 'value', 'meaning'), rows)}")
    parts.append("## Example\n")
    parts.append(
        example(f"""
        from flowsched_gym.workload import draw_flows, make_workload

        flows = draw_flows(make_workload("{name}"), num_flows=1000, seed={SEED})
        print(f"{{flows.num_flows}} flows between {{flows.num_hosts}} hosts in {{flows.arrival_time.max():.3g}} s")
        print(f"mean size {{flows.size.mean():.4g}} B, largest {{flows.size.max():.4g}} B")
    """)
    )
    parts.append(f"From the shell: `flowsched workload {name} --flows 1000 --seed {SEED} --out flows.csv`.\n")
    if environments:
        links = ", ".join(
            f"[`{env}`](../environments/{env.rpartition('/')[2].partition('-')[0].lower()}.md)" for env in environments
        )
        parts.append(f"Environments with tables on it: {links}.\n")
    parts.append(f"In Python: {code('flowsched_gym.workload.' + type(config).__name__)}.\n")
    return "\n".join(parts)


def _shown(value: object) -> str:
    """Returns a value in short: measured distributions by their mean and extent, tuples entry by entry."""
    if isinstance(value, Empirical):
        smallest, largest = value.points[0][0], value.points[-1][0]
        return f"measured, {len(value.points)} points from {smallest:g} to {largest:g} B, mean {value.mean:.4g} B"
    if isinstance(value, tuple) and value and hasattr(value[0], "__dataclass_fields__"):
        return "; ".join(_shown(each) for each in value)
    if hasattr(value, "__dataclass_fields__"):
        own = [(field.name, getattr(value, field.name)) for field in fields(value) if field.init]
        inside = ", ".join(f"{name} {_shown(each)}" for name, each in own if each is not None)
        return f"{type(value).__name__.lower()} of {inside}" if own else type(value).__name__
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:g}"
    text = " ".join(str(value).split())
    return text if len(text) <= 120 else f"{text[:117]}..."
