"""Computes what is frozen of all before an episode starts; ``python -m tests.golden.freeze numbers`` writes it.

The flows of every named workload, draws of every kind of distribution, and the thresholds that heuristics set.
"""

import hashlib
from pathlib import Path
from typing import Any, Final

from flowsched_gym.core import numerics
from flowsched_gym.core.seeding import SeedStreams, uniforms
from flowsched_gym.queueing import optimal_thresholds, pias_thresholds
from flowsched_gym.workload import Discrete, Exponential, LogNormal, Pareto, Uniform, load_cdf, make_workload
from flowsched_gym.workload.named import WORKLOADS

FILE: Final = Path(__file__).resolve().parent / "frozen" / "numbers.json"
NUM_FLOWS: Final = 2_000
NUM_DRAWS: Final = 10_000
SEED: Final = 20
LOAD: Final = 0.8

DISTRIBUTIONS: Final[dict[str, Any]] = {
    "discrete": Discrete(values=(1e3, 2e3, 5e3), probabilities=(0.2, 0.3, 0.5)),
    "empirical": load_cdf("web_search"),
    "exponential": Exponential(mean=1e5),
    "log-normal": LogNormal(mean=1e5, sigma=2.0),
    "pareto": Pareto(shape=1.5, mean=1e5),
    "truncated pareto": Pareto(shape=1.05, mean=1e5, maximum=1e9),
    "uniform": Uniform(low=1e3, high=1e6),
}
SIZES: Final = {name: DISTRIBUTIONS[name] for name in ("empirical", "exponential", "log-normal", "truncated pareto")}


def _digest(*arrays: Any) -> str:
    """Digests the bits of arrays."""
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


def numbers() -> dict[str, dict[str, Any]]:
    """Computes all that is frozen, by kind and name."""
    probability = uniforms(SeedStreams(SEED)["probabilities"], NUM_DRAWS)
    exponent = 1400.0 * probability - 700.0
    return {
        "functions": {
            "exp": _digest(numerics.exp(exponent)),
            "expm1": _digest(numerics.expm1(exponent / 100.0)),
            "log": _digest(numerics.log(probability)),
            "log1p": _digest(numerics.log1p(-probability)),
            "normal_cdf": _digest(numerics.normal_cdf(exponent / 100.0)),
            "normal_quantile": _digest(numerics.normal_quantile(probability)),
            "power": _digest(numerics.power(probability, exponent / 100.0)),
        },
        "distributions": {
            name: _digest(sizes.sample(SeedStreams(SEED)["sizes"], NUM_DRAWS)) for name, sizes in DISTRIBUTIONS.items()
        },
        "workloads": {
            name: _digest(*make_workload(name).with_num_flows(NUM_FLOWS).draw(SEED).arrays) for name in WORKLOADS
        },
        "thresholds": {
            **{
                f"{kind} {name}": optimal_thresholds(kind, sizes, LOAD, 4).tolist()
                for kind in ("qlas", "qsjf")
                for name, sizes in SIZES.items()
            },
            **{f"pias {name}": pias_thresholds(sizes, LOAD, 4).tolist() for name, sizes in SIZES.items()},
        },
    }
