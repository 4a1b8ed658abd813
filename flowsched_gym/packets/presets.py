"""Senders and ports of packets under a name: the settings in which ns-3 was run beside this package."""

from collections.abc import Mapping
from typing import Any, Final

from flowsched_gym.core.errors import ConfigError, listed, shown
from flowsched_gym.packets.parameters import NETWORK_PARAMETERS, NetworkParameters

FULL_PACKET: Final = 1502
"""Bytes of a full packet on the wire, of which 1,460 are payload."""
_MODERN: Final[dict[str, Any]] = {
    **{"payload": 1460, "header": 42, "ack_bytes": 58, "acks": "packets", "handshake": True},
    **{"initial_window": 10, "min_rto": 0.01},
}
_DROP_TAIL: Final = {"host": 100 * FULL_PACKET, "core": 200 * FULL_PACKET}
PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "dctcp": {
        **_MODERN,
        "transport": "dctcp",
        "mark_at": {"host": 20 * FULL_PACKET, "core": 40 * FULL_PACKET},
        "buffer": {"host": 200 * FULL_PACKET, "core": 400 * FULL_PACKET},
    },
    "cubic": {**_MODERN, "transport": "cubic", "buffer": _DROP_TAIL},
    "newreno": {**_MODERN, "transport": "newreno", "buffer": _DROP_TAIL},
    "reno": {
        **{"transport": "reno", "payload": 536, "header": 54, "ack_bytes": 54, "acks": "packets", "handshake": True},
        **{"receive_window": 131_072 // 536, "buffer": 1_100 * 590, "initial_window": 1, "min_rto": 1.0},
        "start_jitter": 1e-4,
    },
}
"""``dctcp``, ``cubic``: links of 1 Gbps between hosts and switches, 2 Gbps in the core; ``newreno`` has the ports of
``cubic``. ``reno``: TCP without selective acknowledgements, as the Artemis thesis had it in 2018."""


def preset_or_parameters(name: str, given: object) -> NetworkParameters:
    """Returns the parameters of an argument: a preset's, or those of a mapping.

    Raises:
        ConfigError: There is no such preset or parameter, or a value is not allowed.
    """
    if isinstance(given, str) and given in PRESETS:
        return NetworkParameters(**PRESETS[given])
    if not isinstance(given, Mapping):
        allowed = listed(given if isinstance(given, str) else "", PRESETS)
        raise ConfigError(f"{name} is {shown(given)}: it must be one of {allowed}, a mapping of parameters, or None")
    for key in given:
        if key not in NETWORK_PARAMETERS:
            known = listed(key if isinstance(key, str) else "", NETWORK_PARAMETERS)
            raise ConfigError(f"{name} has {shown(key)}: it has {known}")
    try:
        parameters = NetworkParameters(**given)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    if parameters.delay:
        raise ConfigError(f"{name}: delay is {parameters.delay!r}: the environment has its own delays")
    return parameters
