"""Plays the frozen episodes as on processors with fewer features than this one, each in a process of its own."""

import os
import subprocess
import sys
from typing import Final

import numpy as np
import pytest

from tests.repository import ROOT

FOUND: Final[list[str]] = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
"""Features of this processor that NumPy uses beyond its baseline; by level or by name, depending on its version."""

WITHOUT: Final = {
    "without AVX-512": [name for name in FOUND if "AVX512" in name or name == "X86_V4"],
    "at NumPy's baseline": FOUND,
}


@pytest.mark.parametrize("case", WITHOUT)
def test_frozen_episodes_and_numbers_have_the_same_bits(case: str) -> None:
    features = WITHOUT[case]
    if not features:
        pytest.skip(f"this processor has nothing to switch off: NumPy uses {FOUND or 'its baseline alone'}")
    tests = [f"tests/golden/{name}.py" for name in ("test_golden", "test_numbers")]

    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
        check=False,
        cwd=ROOT,
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(features)},
        capture_output=True,
        text=True,
        timeout=3600,
    )

    assert finished.returncode == 0, finished.stdout[-5000:] + finished.stderr[-5000:]


def test_a_function_of_numpy_differs_between_processors_so_that_the_settings_have_an_effect() -> None:
    if not FOUND:
        pytest.skip("this processor has nothing to switch off")
    program = (
        "import hashlib, numpy as np; x = np.linspace(0.001, 1.0, 100_000); "
        "print(hashlib.sha256(x ** -0.7).hexdigest(), hashlib.sha256(np.exp(x)).hexdigest())"
    )

    def printed(features: list[str]) -> str:
        environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(features)}
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=3600
        ).stdout

    assert printed([]) != printed(FOUND)
