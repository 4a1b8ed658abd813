"""Holds the making of routings to names and values that are allowed."""

import numpy as np
import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.topology import ROUTINGS, Routing, RoutingKind, make_routing


def test_every_kind_has_one_name() -> None:
    assert list(ROUTINGS) == ["ecmp", "least-loaded", "conga", "memr", "memr-hop-by-hop"]
    assert [make_routing(name).kind for name in ROUTINGS] == list(RoutingKind)


def test_a_flowlet_ends_after_500_us_unless_said() -> None:
    assert make_routing("conga").flowlet_gap == pytest.approx(500e-6)
    assert make_routing("conga", flowlet_gap=np.float64(0.1)) == Routing(RoutingKind.CONGA, flowlet_gap=0.1)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("ospf", {}, "routing is 'ospf': it must be one of ecmp, least-loaded, conga, memr, memr-hop-by-hop"),
        ("memr", {"flowlet_gap": 1.0}, "routing memr has no parameter 'flowlet_gap': it takes none"),
        ("conga", {"gap": 1.0}, "routing conga has no parameter 'gap': it takes flowlet_gap"),
        ("conga", {"flowlet_gap": float("nan")}, "flowlet_gap is nan: it must be a finite number > 0 s"),
        ("conga", {"flowlet_gap": "1"}, "flowlet_gap is '1': it must be a finite number > 0 s"),
    ],
)
def test_a_wrong_name_or_parameter_is_refused_with_what_is_allowed(name, parameters, message) -> None:
    with pytest.raises(ConfigError, match=message):
        make_routing(name, **parameters)


def test_a_kind_must_be_one_of_the_enumeration() -> None:
    with pytest.raises(ConfigError, match="routing kind is 1: it must be one of ECMP, LEAST_LOADED, CONGA, MEMR"):
        Routing(1)
