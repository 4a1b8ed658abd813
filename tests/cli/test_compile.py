"""Compiles beforehand."""

import sys

from tests.processes import run

ARTEMIS = ("compile", "flowsched/Artemis-v0", "--kwarg", "k=3")


def test_what_was_compiled_is_not_compiled_again(flowsched) -> None:
    outcome = flowsched(*ARTEMIS)
    assert outcome.status == 0
    assert outcome.out.startswith("flowsched/Artemis-v0 is compiled (")
    assert "compiling" not in run(sys.executable, "-m", "flowsched_gym.cli", *ARTEMIS, FLOWSCHED_QUIET="").err


def test_a_wrong_name_or_argument_is_refused_before_anything_is_compiled(flowsched) -> None:
    assert "did you mean 'flowsched/MERPRoute-v0'?" in flowsched("compile", "flowsched/MERPRoute-v1").err
    assert "has no argument 'kk'" in flowsched("compile", "flowsched/Artemis-v0", "--kwarg", "kk=3").err
