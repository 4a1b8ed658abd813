"""The statements of QCluster's paper, section 6, and the runs that stand for each."""

from typing import Final, NamedTuple

METRICS: Final = {
    "mean": "overall FCT",
    "small": "FCT of small messages",
    "medium": "FCT of medium messages",
    "large": "FCT of large messages",
    "p95_small": "95th percentile FCT of small messages",
    "p99_small": "99th percentile FCT of small messages",
    "disorder": "packets out of order",
    "jain": "Jain's index of messages",
    "jain_of_decades": "Jain's index of sizes by decade",
    "deadlines_met": "deadlines met",
    "other": "FCT of messages without deadlines",
}


class Statement(NamedTuple):
    """A number of the paper in %, as printed, or a word, and the runs that stand for it, at one load or all (None)."""

    figure: str
    text: str
    paper: str
    study: str
    metric: str
    schemes: tuple[str, str]
    load: str | None = None


def _against(figure: str, study: str, one: str, other: str, /, **papers: str) -> list[Statement]:
    """Returns statements about two schemes, by metric with ``_`` in place of blanks."""
    return [
        Statement(
            figure,
            f"{study}: {one} to {other}, {METRICS[metric]}",
            paper,
            study,
            metric.replace("_", " "),
            (one, other),
        )
        for metric, paper in papers.items()
    ]


ALL_STATEMENTS: Final = [
    *_against("10a", "W4", "QC-FQ", "PIAS-WST", mean="-42.4"),
    *_against("10a", "W4", "QC-FQ", "FIFO", mean="-38.8"),
    *_against("10a", "W4", "QC-FQ", "PIAS-OPT", mean="-6.3"),
    *_against("10b", "W6", "QC-FQ", "PIAS-WST", mean="-14.3"),
    *_against("10b", "W6", "QC-FQ", "FIFO", mean="-11.0"),
    *_against("10b", "W6", "QC-FQ", "PIAS-OPT", mean="-3.7"),
    *_against("11", "W4", "QC-FQ", "PIAS-WST", small="-55.3", p99_small="-21.6", medium="-53.3", large="-27.2"),
    *_against("11", "W4", "QC-FQ", "FIFO", small="-51.5"),
    *_against("12", "W6", "QC-FQ", "PIAS-WST", small="-50.2", p99_small="-21.7", medium="-47.1", large="-12.5"),
    *_against("12", "W6", "QC-FQ", "FIFO", small="-53.4"),
    *_against("13a", "W4", "QC-SRPT", "pFabric", mean="-11.3"),
    *_against("13b", "W6", "QC-SRPT", "pFabric", mean="-21.7"),
    *_against("15", "rules W4", "adaptive", "geometric", mean="-12.5 on both"),
    *_against("15", "rules W6", "adaptive", "geometric", mean="-12.5 on both"),
    *_against("15", "rules W4", "adaptive", "harmonic", mean="-1.2 on both"),
    *_against("15", "rules W6", "adaptive", "harmonic", mean="-1.2 on both"),
    *_against("15", "rules W4", "adaptive", "arithmetic", mean="-25.3 on both"),
    *_against("15", "rules W6", "adaptive", "arithmetic", mean="-25.3 on both"),
    *_against("15", "rules W4", "harmonic", "geometric", mean="+1.8"),
    *_against("15", "rules W6", "harmonic", "geometric", mean="-12"),
    *_against("16", "PDA", "QC-LAS with PDA", "QC-LAS", disorder="-2.2", mean="+0.9"),
    *_against("16", "PDA", "QC-SRPT with PDA", "QC-SRPT", disorder="-35.2", mean="+2"),
    *_against("17", "W1", "QC-LAS", "PIAS-OPT", small="-6.9"),
    *_against("18", "W2", "QC-SRPT", "pFabric", small="-7"),
    *_against("18", "W2", "QC-LAS", "PIAS-OPT", small="-1.2", medium="-13"),
    *_against("19", "W3", "pFabric", "QC-SRPT", p99_small="+8"),
    *_against("19", "W3", "QC-LAS", "PIAS-OPT", medium="-60.8", large="-22.4"),
    *_against("20", "W4", "QC-LAS", "PIAS-OPT", small="-3"),
    *_against("20", "W4", "QC-SRPT", "pFabric", large="-20"),
    *_against("21", "W5", "PIAS-OPT", "QC-LAS", small="+1", p99_small="+87.9"),
    *_against("22", "W6", "QC-SRPT", "pFabric", small="the same", large="-25"),
    *_against("23", "messages", "QC-LAS-Real", "PIAS-Real", small="-56.6"),
    *(each._replace(load="0.9") for each in _against("23", "messages", "PIAS-Real", "PIAS-Ideal", small="+80")),
    *(each._replace(load="0.9") for each in _against("23", "messages", "QC-LAS-Real", "QC-LAS-Ideal", small="+20")),
    *_against("24", "queues W4", "QC-LAS, 2 queues", "QC-LAS, 8 queues", mean="+7.8"),
    *_against("24", "queues W4", "QC-SRPT, 2 queues", "QC-SRPT, 8 queues", mean="+15.4"),
    *_against("24", "queues W4", "QC-SRPT, 4 queues", "QC-SRPT, 8 queues", mean="+3"),
    *_against("25", "sketch", "800", "20", small="-36.6", p95_small="-67.8", medium="-38.6", large="the same"),
    *_against("25", "sketch", "800", "400", small="the same"),
    *_against("26", "fairness", "QC-FQ", "ideal", jain="-5.5", jain_of_decades="-5.5"),
    *_against("26", "fairness", "QC-FQ", "AFQ", jain="+11.7", jain_of_decades="+11.7"),
    *_against("27", "fairness", "QC-FQ", "ideal", mean="-13.2"),
    *_against("27", "fairness", "QC-FQ", "AFQ", mean="-8.4"),
    *_against("28a", "deadlines", "QC-DDL", "pFabric-EDF", deadlines_met="+15"),
    *_against("28a", "deadlines", "QC-DDL", "FIFO", deadlines_met="+29"),
    *_against("28b", "deadlines", "QC-DDL", "pFabric-EDF", other="-15"),
]
