"""Facts about rules that no docstring has: the rule as a formula, what it must know, its source."""

from typing import Final, NamedTuple

__all__ = ["DISCIPLINE_FACTS", "SCHEDULER_FACTS", "Facts"]


class Facts(NamedTuple):
    """Facts about a rule.

    Attributes:
        rule: The rule, as a formula where there is one.
        knows: What it must know of a flow or packet.
        source: Where it comes from.
        preempts: Whether a newcomer may interrupt what is being sent.
    """

    rule: str
    knows: str
    source: str
    preempts: str = "yes"


NOTHING: Final = "nothing"
SIZES: Final = "sizes"
SENT: Final = "bytes sent so far"

DISCIPLINE_FACTS: Final = {
    "fifo": Facts("smallest `arrival_time` first", NOTHING, "textbook", "no"),
    "ps": Facts(
        "each of n flows on a link gets `capacity / n`; on a network, max-min fairness",
        NOTHING,
        "textbook; a model of TCP that shares fairly",
        "shares",
    ),
    "srpt": Facts(
        "smallest `remaining` first",
        SIZES,
        "L. Schrage, Operations Research 16, 1968: it has the smallest mean completion time on one link",
    ),
    "sjf": Facts("smallest `size` first among those that wait", SIZES, "textbook", "no"),
    "psjf": Facts("smallest `size` first", SIZES, "textbook"),
    "las": Facts(
        "smallest `attained` first; flows that have sent equally much share",
        SENT,
        "textbook; also called foreground-background (FB)",
    ),
    "edf": Facts(
        "smallest `arrival_time + deadline_span` first", "deadlines", "C. L. Liu, J. W. Layland, JACM 20, 1973"
    ),
    "ssdf": Facts("smallest `size / deadline_span` first", "sizes and deadlines", "Artemis thesis, section 4.2"),
    "lsdf": Facts("largest `size / deadline_span` first", "sizes and deadlines", "Artemis thesis, section 4.2"),
    "mlfq": Facts(
        "queue q while `thresholds[q - 1] <= attained < thresholds[q]`; the lowest number first",
        SENT,
        "PIAS (Bai et al., NSDI 2015); AuTO, section 4",
    ),
    "qsjf": Facts(
        "queue q where `thresholds[q - 1] < size <= thresholds[q]`; the lowest number first",
        SIZES,
        "shortest job first as a switch with a few queues can do it",
    ),
    "wfq": Facts(
        "queue q gets the share `weights[q] / sum of the weights of busy queues`",
        "the queue of each flow",
        "A. Demers, S. Keshav, S. Shenker, SIGCOMM 1989",
        "shares",
    ),
    "merp": Facts(
        "smallest virtual deadline first, where the virtual deadlines keep the largest "
        "`expansion ratio = fct / ideal_fct` smallest",
        SIZES,
        "MERP, Algorithm 2",
    ),
    "tafe": Facts(
        "level of a task by the bytes that it has sent; within a level, the first task", SENT, "TAFE, sections IV and V"
    ),
    "fifo-lm": Facts(
        "tasks in the order of arrival; a task that has sent `heavy` bytes shares with its successors",
        SENT,
        "Baraat: F. R. Dogar et al., SIGCOMM 2014",
    ),
    "task-las": Facts(
        "queues of tasks by bytes sent, thresholds that grow tenfold; within a queue, the first task",
        SENT,
        "Aalo: M. Chowdhury, I. Stoica, SIGCOMM 2015",
    ),
    "d2tcp": Facts(
        "shares in proportion to `alpha ** (1 - d)`, d the imminence of the deadline",
        "sizes and deadlines",
        "B. Vamanan, J. Hasan, T. N. Vijaykumar, SIGCOMM 2012",
        "shares",
    ),
    "stf": Facts(
        "the task with the least left to send first; its flows end together",
        "sizes of all flows of a task",
        "TAFE's comparison; rates by MADD (Varys)",
    ),
    "sebf": Facts(
        "the task whose most loaded link needs the least time first; its flows end together",
        "sizes of all flows of a task",
        "Varys: M. Chowdhury, Y. Zhong, I. Stoica, SIGCOMM 2014",
    ),
}
"""Facts about the disciplines by name."""

SCHEDULER_FACTS: Final = {
    "fifo": Facts(
        "in the order of arrival", NOTHING, "textbook; with marks, DCTCP (Alizadeh et al., SIGCOMM 2010)", "no"
    ),
    "pias": Facts(
        "first queue with `bytes sent <= threshold`", "bytes sent", "PIAS: Bai et al., NSDI 2015", "between packets"
    ),
    "qcluster": Facts(
        "first queue with `weight <= threshold`; thresholds follow the mean weights of the queues",
        "by `goal`: bytes sent, bytes left, sizes, deadlines or a least rate",
        "QCluster: Yang et al., Web Conference 2022",
        "between packets",
    ),
    "tagged": Facts("the queue that a tag names", "the tag", "QCluster, section 3.5", "between packets"),
    "ranked": Facts(
        "the flow with the smallest rank first",
        "by `ranks`: sizes, deadlines, or any order",
        "textbook",
        "between packets",
    ),
    "pfabric": Facts(
        "fewest bytes left of the flow first", "bytes left", "pFabric: Alizadeh et al., SIGCOMM 2013", "between packets"
    ),
    "pfabric-edf": Facts(
        "earliest deadline first, then fewest bytes left",
        "deadlines, bytes left",
        "pFabric, section 5",
        "between packets",
    ),
    "fq": Facts(
        "the packet first that would end first if flows sent single bits in turns",
        NOTHING,
        "A. Demers, S. Keshav, S. Shenker, SIGCOMM 1989",
        "between packets",
    ),
    "afq": Facts(
        "round `floor(bytes of the flow / quantum)`; rounds are served in turns",
        NOTHING,
        "AFQ: N. K. Sharma et al., NSDI 2018",
        "between packets",
    ),
    "pifo-las": Facts(
        "fewest bytes sent of the message first",
        "bytes sent",
        "PIFO: A. Sivaraman et al., SIGCOMM 2016",
        "between packets",
    ),
}
"""Facts about the schedulers of packets by name."""
