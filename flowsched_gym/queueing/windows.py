"""Shows one round of the window rules of DCTCP, D2TCP and TAFE, whose senders differ in how far they back off."""

from enum import StrEnum

from flowsched_gym.core.checks import check_choice, check_number
from flowsched_gym.core.errors import ConfigError, shown
from flowsched_gym.flows.windows import average_share, cut_window, penalty
from flowsched_gym.machine_code.numerics import power


class WindowKind(StrEnum):
    """Rules for windows: DCTCP's, D2TCP's as published and as TAFE's equations (2) and (5) have it, and TAFE's."""

    DCTCP = "dctcp"
    D2TCP = "d2tcp"
    D2TCP_LITERAL = "d2tcp-literal"
    TAFE = "tafe"


def window_after_round(
    kind: str,
    *,
    window: float,
    alpha: float,
    marked: float,
    gain: float,
    remaining: float | None = None,
    largest: float | None = None,
    imminence: float | None = None,
    least: float = 1.0,
) -> tuple[float, float]:
    """Computes a sender's window after one round trip.

    First alpha becomes ``(1 - gain) alpha + gain marked`` (TAFE, Eq. 1). Without a mark the window W grows by 1.
    Otherwise it becomes

    - ``dctcp``: W (1 - alpha / 2) (Alizadeh et al., SIGCOMM 2010);
    - ``d2tcp``: W (1 - alpha**d / 2), as published (Vamanan et al., SIGCOMM 2012);
    - ``d2tcp-literal``: W (1 - alpha**d), by TAFE's equations (2) and (5) taken literally;
    - ``tafe``: W (1 - alpha remaining / largest) (TAFE, Eq. 3 to 5).

    Args:
        kind: One of ``WindowKind``.
        window: Packets of the window W, >= 0.
        alpha: Average fraction of marked packets before the round, from 0 to 1.
        marked: Fraction of the round's packets that were marked, from 0 to 1.
        gain: Weight of the newest fraction (g), > 0, at most 1.
        remaining: Bytes that the flow has left (S_c), >= 0; needed by ``tafe``.
        largest: Upper bound of flow sizes in B (S_max), > 0, at least ``remaining``; needed by ``tafe``.
        imminence: How close the deadline is (d), > 0; needed by the two kinds of D2TCP.
        least: Smallest window allowed, >= 0; 0 for the equations as they are.

    Returns:
        Alpha and the window after the round.

    Raises:
        ConfigError: An argument is not allowed, or is missing.
    """
    check_choice("kind", kind, tuple(WindowKind))
    check_number("window", window, at_least=0)
    check_number("least", least, at_least=0)
    for name, fraction in (("alpha", alpha), ("marked", marked), ("gain", gain)):
        check_number(name, fraction, at_least=0)
        if fraction > 1:
            raise ConfigError(f"{name} is {shown(fraction)}: it must be at most 1")
    check_number("gain", gain, above=0)
    share, part_left, by_size = average_share(alpha, marked, gain), 1.0, False
    estimate = share
    if kind == WindowKind.TAFE:
        bytes_left, bound = _given("remaining", remaining, kind), _given("largest", largest, kind, above=0)
        if bytes_left > bound:
            raise ConfigError(f"remaining is {shown(remaining)}: it must be at most largest, {shown(largest)}")
        part_left, by_size = bytes_left / bound, True
    elif kind != WindowKind.DCTCP:
        # D2TCP is DCTCP with another estimate. Taken literally, it backs off like a flow of TAFE with all bytes left.
        estimate = power(share, _given("imminence", imminence, kind, above=0))
        by_size = kind == WindowKind.D2TCP_LITERAL
    if marked == 0:
        return float(share), max(float(window) + 1.0, float(least))
    return float(share), cut_window(float(window), penalty(estimate, part_left, by_size), float(least))


def _given(name: str, value: float | None, kind: str, *, above: float | None = None) -> float:
    if value is None:
        raise ConfigError(f"{name} is None: kind {kind!r} needs it, a finite number")
    return check_number(name, value, at_least=0, above=above)
