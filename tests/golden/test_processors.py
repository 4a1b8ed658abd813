"""Plays the frozen episodes as on processors with fewer features than this one, each in a process of its own."""

import os
import sys
from typing import Final

import numpy as np
import pytest

from tests.processes import run, run_python

FOUND: Final[list[str]] = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
"""Features of this processor that NumPy uses beyond its baseline; by level or by name, depending on its version."""

WITHOUT: Final = {
    "without AVX-512": [name for name in FOUND if "AVX512" in name or name == "X86_V4"],
    "at NumPy's baseline": FOUND,
}


@pytest.mark.parametrize("case", [pytest.param("without AVX-512", marks=pytest.mark.exhaustive), "at NumPy's baseline"])
def test_frozen_episodes_and_numbers_have_the_same_bits(case: str) -> None:
    features = WITHOUT[case]
    if not features:
        pytest.skip(f"this processor has nothing to switch off: NumPy uses {FOUND or 'its baseline alone'}")
    options = "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "tests/golden/test_golden.py"
    run(sys.executable, "-m", "pytest", *options, NPY_DISABLE_CPU_FEATURES=" ".join(features))


def test_what_is_switched_off_is_not_used() -> None:
    if not FOUND:
        pytest.skip("this processor has nothing to switch off")
    program = "import numpy as np; print(np.show_config(mode='dicts')['SIMD Extensions'].get('found', []))"

    off = [*os.environ.get("NPY_DISABLE_CPU_FEATURES", "").split(), *FOUND]
    assert run_python(program, NPY_DISABLE_CPU_FEATURES=" ".join(off)) == "[]"
