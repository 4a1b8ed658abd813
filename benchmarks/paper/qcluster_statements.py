"""The statements of QCluster's paper, section 6: place, number, and the runs that stand for each."""

from typing import Final, NamedTuple

METRICS: Final = {
    "mean": "all",
    "small": "small",
    "medium": "medium",
    "large": "large",
    "p95 small": "small, 95th percentile",
    "p99 small": "small, 99th percentile",
    "disorder": "packets out of order",
    "jain": "Jain's index of messages",
    "jain of decades": "Jain's index of sizes by decade",
    "deadlines met": "deadlines met",
    "other": "messages without deadlines",
    "slowdown": "mean slowdown",
}
"""What is compared: a number without a word is mean FCT."""
ENDS: Final = {"largest": max, "least": min}
"""In place of a scheme: that of a study whose mean is largest, or least."""


class Statement(NamedTuple):
    """A number of the paper in %, or a word, the runs that stand for it, at one load or all (""), and what differs.

    Of several studies, parted by blanks, the mean counts.
    """

    place: str
    study: str
    metric: str
    one: str
    other: str
    paper: str
    load: str
    differs: str

    @property
    def text(self) -> str:
        """What is compared."""
        at = f", load {self.load}" if self.load else ""
        name = self.study.replace(" W2 W3 W4 W5 ", " to ")
        return f"{name}: {self.one} to {self.other}, {METRICS[self.metric]}{at}"


def _read(lines: str) -> list[Statement]:
    """Reads statements, one a line, below lines ``# what differs``."""
    found, differs = [], ""
    for line in lines.strip().splitlines():
        if line.startswith("# "):
            differs = line.removeprefix("# ")
        else:
            cells = [cell.strip() for cell in line.split("|")]
            found.append(Statement._make([*cells, *[""] * (7 - len(cells)), differs]))
    return found


STATEMENTS: Final = _read("""
# one port, not 7 servers with Linux
5 | initial W4 | mean | largest | least | close
5 | initial W6 | mean | largest | least | close
10a | W4 | mean | QC-FQ | PIAS-WST | -42.4
10a | W4 | mean | QC-FQ | FIFO | -38.8
10a | W4 | mean | QC-FQ | PIAS-OPT | -6.3
10b | W6 | mean | QC-FQ | PIAS-WST | -14.3
10b | W6 | mean | QC-FQ | FIFO | -11.0
10b | W6 | mean | QC-FQ | PIAS-OPT | -3.7
11 | W4 | small | QC-FQ | PIAS-WST | -55.3
11 | W4 | p99 small | QC-FQ | PIAS-WST | -21.6
11 | W4 | medium | QC-FQ | PIAS-WST | -53.3
11 | W4 | large | QC-FQ | PIAS-WST | -27.2
11 | W4 | small | QC-FQ | FIFO | -51.5
12 | W6 | small | QC-FQ | PIAS-WST | -50.2
12 | W6 | p99 small | QC-FQ | PIAS-WST | -21.7
12 | W6 | medium | QC-FQ | PIAS-WST | -47.1
12 | W6 | large | QC-FQ | PIAS-WST | -12.5
12 | W6 | small | QC-FQ | FIFO | -53.4
# one port, not the leaf-spine
13, 14 | W1 W2 W3 W4 W5 W6 | mean | QC-SRPT | pFabric | -4.3
13, 14 | W1 W2 W3 W4 W5 W6 | mean | QC-LAS | PIAS-OPT | -4.73
13a | W4 | mean | QC-SRPT | pFabric | -11.3
13b | W6 | mean | QC-SRPT | pFabric | -21.7
2 (5) | W4 | mean | QC-LAS | PIFO-LAS | similar
2 (5) | W6 | mean | QC-LAS | PIFO-LAS | similar
# the paper's network; 2 loads
13a | leaf-spine W4 | mean | QC-SRPT | pFabric | -11.3
13b | leaf-spine W6 | mean | QC-SRPT | pFabric | -21.7
20 | leaf-spine W4 | small | QC-LAS | PIAS-OPT | -3
10a | leaf-spine W4 | mean | QC-FQ | FIFO | -38.8
10b | leaf-spine W6 | mean | QC-FQ | FIFO | -11.0
11 | leaf-spine W4 | small | QC-FQ | PIAS-WST | -55.3
12 | leaf-spine W6 | small | QC-FQ | PIAS-WST | -50.2
# one port; no PDA, which changes QC-LAS little (16); 3, not 10 times the messages; our laws of alpha and ageing
15 | rules W4 | mean | adaptive | geometric | -12.5 on both
15 | rules W6 | mean | adaptive | geometric | -12.5 on both
15 | rules W4 | mean | adaptive | harmonic | -1.2 on both
15 | rules W6 | mean | adaptive | harmonic | -1.2 on both
15 | rules W4 | mean | adaptive | arithmetic | -25.3 on both
15 | rules W6 | mean | adaptive | arithmetic | -25.3 on both
15 | rules W4 | mean | harmonic | geometric | +1.8
15 | rules W6 | mean | harmonic | geometric | -12
# one port; flowlets of 0.5 ms
16 | W6 | disorder | QC-LAS with PDA | QC-LAS | -2.2
16 | W6 | mean | QC-LAS with PDA | QC-LAS | +0.9
16 | W6 | disorder | QC-SRPT with PDA | QC-SRPT | -35.2
16 | W6 | mean | QC-SRPT with PDA | QC-SRPT | +2
# one port, not the leaf-spine
17 | W1 | small | QC-LAS | PIAS-OPT | -6.9
18 | W2 | small | QC-SRPT | pFabric | -7
18 | W2 | p99 small | QC-SRPT | pFabric | -50.1 | 0.9
18 | W2 | small | QC-LAS | PIAS-OPT | -1.2
18 | W2 | medium | QC-LAS | PIAS-OPT | -13
19 | W3 | p99 small | pFabric | QC-SRPT | +8
19 | W3 | medium | QC-LAS | PIAS-OPT | -60.8
19 | W3 | large | QC-LAS | PIAS-OPT | -22.4
20 | W4 | small | QC-LAS | PIAS-OPT | -3
20 | W4 | large | QC-SRPT | pFabric | -20
21 | W5 | small | PIAS-OPT | QC-LAS | +1
21 | W5 | p99 small | PIAS-OPT | QC-LAS | +87.9
22 | W6 | small | QC-SRPT | pFabric | the same
22 | W6 | medium | QC-SRPT | pFabric | above 0
22 | W6 | large | QC-SRPT | pFabric | -25
# one port; the authors' gaps between messages
23 | messages | small | QC-LAS-Real | PIAS-Real | -56.6
23 | messages | small | PIAS-Real | PIAS-Ideal | +80 | 0.9
23 | messages | small | QC-LAS-Real | QC-LAS-Ideal | +20 | 0.9
# one port
24 | queues | mean | QC-LAS, 2 queues | QC-LAS, 8 queues | +7.8
24 | queues | mean | QC-SRPT, 2 queues | QC-SRPT, 8 queues | +15.4
24 | queues | mean | QC-SRPT, 4 queues | QC-SRPT, 8 queues | +3
25 | sketch | small | 800 | 20 | -36.6
25 | sketch | p95 small | 800 | 20 | -67.8
25 | sketch | medium | 800 | 20 | -38.6
25 | sketch | large | 800 | 20 | the same
25 | sketch | small | 800 | 400 | the same
# one port; our groups of flows
26 | fairness | jain | QC-FQ | ideal | -5.5
26 | fairness | jain of decades | QC-FQ | ideal | -5.5
26 | fairness | jain | QC-FQ | AFQ | +11.7
26 | fairness | jain of decades | QC-FQ | AFQ | +11.7
27 | fairness | mean | QC-FQ | ideal | -13.2
27 | fairness | mean | QC-FQ | AFQ | -8.4
# one port; our mean of deadlines, 170 us
28a | deadlines | deadlines met | QC-DDL | pFabric-EDF | +15
28a | deadlines | deadlines met | QC-DDL | FIFO | +29
28b | deadlines | other | QC-DDL | pFabric-EDF | -15
# not run there: W6 and W4 in turns of 0.2 s
1 | switch | mean | QC-LAS, adaptive | QC-LAS |
1 | switch | mean | QC-LAS, adaptive | OPT of W4 | below 0
1 | switch | mean | QC-LAS, adaptive | OPT of W6 | below 0
1 | switch | mean | QC-LAS, adaptive | WST of W4 | below 0
1 | switch | mean | QC-LAS, adaptive | WST of W6 | below 0
1 | switch | slowdown | QC-LAS, adaptive | OPT of W4 | below 0
1 | switch | slowdown | QC-LAS, adaptive | WST of W6 | below 0
""")

TRIED: Final = _read("""
# Linux's timeout of 10 ms, marks from 200 packets, room for 300
10a | timeouts W4 | mean | QC-FQ | PIAS-WST | -42.4 | 0.6
10a | timeouts W4 | mean | QC-FQ | PIAS-WST | -42.4 | 0.9
10a | timeouts W4 | mean | QC-FQ | PIAS-OPT | -6.3 | 0.6
10a | timeouts W4 | mean | QC-FQ | FIFO | -38.8 | 0.6
10b | timeouts W6 | mean | QC-FQ | PIAS-WST | -14.3
# one of OPT's thresholds halved or doubled
10a | thresholds W4 | mean | least | PIAS-OPT | optimal
10b | thresholds W6 | mean | least | PIAS-OPT | optimal
# other alpha, ageing and intervals: the worst and the best of six
15 | laws W4 | mean | largest | geometric | -12.5
15 | laws W4 | mean | least | geometric | -12.5
15 | laws W6 | mean | largest | geometric | -12.5
15 | laws W6 | mean | least | geometric | -12.5
# a tenth of the authors' gap between messages
23 | gaps / 10 | small | QC-LAS-Real | PIAS-Real | -56.6
# ten times the authors' gap
23 | gaps x 10 | small | QC-LAS-Real | PIAS-Real | -56.6
# deadlines with a mean of 50 us
28a | tight deadlines | deadlines met | QC-DDL | pFabric-EDF | +15
28b | tight deadlines | other | QC-DDL | pFabric-EDF | -15
# deadlines with a mean of 2 ms
28a | loose deadlines | deadlines met | QC-DDL | pFabric-EDF | +15
28a | loose deadlines | deadlines met | QC-DDL | FIFO | +29
28b | loose deadlines | other | QC-DDL | pFabric-EDF | -15
""")
