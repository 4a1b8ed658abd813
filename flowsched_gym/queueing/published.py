"""Thresholds of multi-level feedback queues that were published with PIAS and Homa, each for eight queues.

``web_search`` and ``data_mining``: HKUST-SING/PIAS-NS2, ``scripts/run_pias_dctcp.py`` and ``scripts/run_pias_vl2.py``,
in packets of 1460 B, for the distributions ``web_search_ns2`` and ``data_mining_ns2``. ``w1`` to ``w4``:
PlatformLab/HomaSimulation, branch ``pias``, ``ns2_Simulations/scripts/pias*Params.py``, in B. The numbers are facts,
carried over from these sources; none of their code is here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.core.checks import check_choice, check_number
from flowsched_gym.core.errors import ConfigError

PACKET: Final = 1460.0
"""B of payload in a packet of PIAS's simulations."""

IN_PACKETS: Final = ("web_search", "data_mining")

PUBLISHED: Final[Mapping[str, Mapping[float, tuple[int, ...]]]] = MappingProxyType(
    {
        "web_search": {
            0.5: (1059, 1412, 1643, 1869, 2008, 2115, 2184),
            0.6: (956, 1381, 1718, 2028, 2297, 2551, 2660),
            0.7: (999, 1305, 1564, 1763, 1956, 2149, 2309),
            0.8: (909, 1329, 1648, 1960, 2143, 2337, 2484),
            0.9: (759, 1132, 1456, 1737, 2010, 2199, 2325),
        },
        "data_mining": {
            0.5: (805, 1106, 1401, 10693, 11970, 21162, 22272),
            0.6: (840, 1232, 1617, 11950, 12238, 21494, 25720),
            0.7: (907, 1301, 1619, 12166, 12915, 21313, 26374),
            0.8: (745, 1083, 1391, 13689, 14936, 21149, 27245),
            0.9: (750, 1083, 1416, 13705, 14952, 21125, 28253),
        },
        "w1": {0.5: (207, 268, 287, 306, 318, 329, 336), 0.8: (183, 259, 287, 314, 332, 352, 367)},
        "w2": {0.5: (382, 414, 422, 431, 437, 441, 444), 0.8: (368, 410, 422, 435, 442, 451, 457)},
        "w3": {0.5: (466, 579, 631, 693, 736, 774, 799), 0.8: (436, 554, 633, 720, 784, 865, 939)},
        "w4": {
            0.5: (43898, 49621, 50878, 64461, 70549, 73131, 74788),
            0.8: (38210, 48958, 50905, 68384, 73799, 76588, 78129),
        },
    }
)
"""Thresholds by size distribution and load, those of PIAS in packets, those of Homa in B."""


def published_thresholds(workload: str, load: float) -> FloatArray:
    """Returns the published thresholds of eight queues.

    Args:
        workload: ``web_search``, ``data_mining``, or Homa's ``w1`` to ``w4``.
        load: A load for which there are some: 0.5, 0.6, 0.7, 0.8 or 0.9; for Homa's 0.5 or 0.8.

    Returns:
        Thresholds in B, (7,) float64, increasing.

    Raises:
        ConfigError: None were published for these.
    """
    check_choice("workload", workload, tuple(PUBLISHED))
    check_number("load", load, above=0)
    thresholds = PUBLISHED[workload].get(load)
    if thresholds is None:
        loads = ", ".join(map(str, PUBLISHED[workload]))
        raise ConfigError(f"load is {load!r}: thresholds for {workload} were published at {loads}")
    return np.array(thresholds, dtype=np.float64) * (PACKET if workload in IN_PACKETS else 1.0)
