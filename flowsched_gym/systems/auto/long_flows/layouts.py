"""Lists the columns of what the agent of long flows observes (AuTO, section 5.2.2; its recorded rows).

An active flow has 6 features, its five-tuple and its priority; a finished one has 7, its five-tuple, size and
completion time. Which ports flows have, the model does not care: ``auto.flows`` says how they are numbered.
"""

from collections.abc import Iterable
from typing import Final

from flowsched_gym.envs.columns import Column, Encoding, Layout, Rows
from flowsched_gym.systems.auto.long_flows.config import AuTOLongFlowsConfig, LongFlowsLayout, LongFlowsObservation
from flowsched_gym.systems.auto.long_flows.rules import BYTES_SCALE, COUNT_SCALE, TIME_SCALE

MOST: Final = {
    "source": 65_535.0,
    "source_port": 65_535.0,
    "destination": 65_535.0,
    "destination_port": 65_535.0,
    "protocol": 255.0,
    "priority": 255.0,
    "size": 1e12,
    "fct": 1e12,
}
"""Bounds of plain columns; what is larger is cut to them, which only sizes and times could be, of a terabyte and 12
days."""

FIVE_TUPLE: Final = (
    ("source", "sending host, counted from 1, over the number of hosts"),
    ("source_port", "port that it is sent from, over 65535"),
    ("destination", "receiving host, counted from 1, over the number of hosts"),
    ("destination_port", "port that it is sent to, by its id, over 65535"),
    ("protocol", "protocol number, that of TCP, over 255"),
)
PLAIN_TUPLE: Final = (
    ("source", "sending host, counted from 1", "host"),
    ("source_port", "port that it is sent from", "port"),
    ("destination", "receiving host, counted from 1", "host"),
    ("destination_port", "port that it is sent to, by its id", "port"),
    ("protocol", "protocol number, that of TCP", "number"),
)
FINISHED: Final = "finished_"
"""Prefix of the columns of finished flows."""


def long_flows_layout(config: AuTOLongFlowsConfig) -> Layout:
    """Lists the columns of an observation.

    Args:
        config: The arguments of the environment.
    """
    further = _further(config.paths) if config.observation is LongFlowsObservation.FULL else ()
    if config.layout is LongFlowsLayout.RECORDED:
        active = _plain(*PLAIN_TUPLE, ("priority", "queue, from 0 for the highest", "queue"))
        done = _plain(*PLAIN_TUPLE, ("size", "bytes delivered", "B"), ("fct", "completion time", "us"), prefix=FINISHED)
        groups = (done, config.num_finished), (active, config.n_l - 1), (further, config.n_l)
        rows = tuple(Rows(columns=columns, count=count) for columns, count in groups)
        return Layout(context=active, slot=(), num_slots=config.n_l, rows=rows)
    finished = (
        *_shares(FIVE_TUPLE, prefix=FINISHED),
        Column.squashed(FINISHED + "size", "bytes delivered", "B", BYTES_SCALE),
        Column.squashed(FINISHED + "fct", "completion time", "s", TIME_SCALE),
    )
    slot = (
        *_shares(FIVE_TUPLE),
        *_shares([("priority", "queue, counted from 1 for the highest, over the number of queues")]),
        *further,
    )
    past = Rows(columns=finished, count=config.num_finished)
    return Layout(context=(), slot=slot, num_slots=config.n_l, rows=(past,))


def _further(paths: int) -> tuple[Column, ...]:
    """Lists what an agent is told of an active flow besides the paper's features."""
    columns = [
        Column.squashed("attained", "bytes sent", "B", BYTES_SCALE),
        Column.squashed("waiting", "time since arrival", "s", TIME_SCALE),
        *_shares([("rate", "rate over the capacity of a link"), ("rate_cap", "largest rate over it, 1 for none")]),
        *_shares([("path", "path, counted from 1, over the number of paths")]),
    ]
    for path in range(paths):
        for name, meaning in (
            ("long_up", "other long flows on the sending host's link of path"),
            ("long_down", "other long flows on the receiving host's link of path"),
            ("all_up", "all other flows on the sending host's link of path"),
            ("all_down", "all other flows on the receiving host's link of path"),
        ):
            columns.append(Column.squashed(f"{name}_{path}", f"{meaning} {path}", "flows", COUNT_SCALE))
    return tuple(columns)


def _shares(columns: Iterable[tuple[str, str]], prefix: str = "") -> list[Column]:
    """Makes columns of shares of their names and meanings."""
    return [Column.fraction(prefix + name, meaning) for name, meaning in columns]


def _plain(*columns: tuple[str, str, str], prefix: str = "") -> tuple[Column, ...]:
    """Makes plain columns of their names, meanings and units."""
    return tuple(
        Column(name=prefix + name, meaning=meaning, unit=unit, encoding=Encoding.PLAIN, scale=MOST[name])
        for name, meaning, unit in columns
    )
