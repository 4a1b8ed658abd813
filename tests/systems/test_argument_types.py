"""What mypy knows of the arguments of environments: ``make lint`` goes red where an error below is none to it."""
# mypy: enable-error-code="arg-type, call-arg", strict-optional, warn-unused-ignores

from collections.abc import Callable
from typing import Final

import pytest

from flowsched_gym.core.errors import ConfigError
from flowsched_gym.systems.artemis.config import Observation
from flowsched_gym.systems.artemis.env import ArtemisEnv
from flowsched_gym.systems.auto.long_flows.env import AuTOLongFlowsEnv
from flowsched_gym.systems.auto.thresholds.env import AuTOThresholdsEnv
from flowsched_gym.systems.merp.order.env import MERPOrderEnv
from flowsched_gym.systems.merp.route.env import MERPRouteEnv
from flowsched_gym.systems.qcluster.env import QClusterEnv
from flowsched_gym.systems.tafe.tasks.env import TAFETasksEnv
from flowsched_gym.systems.tafe.thresholds.env import TAFEThresholdsEnv
from tests.simulate import make_flows

WRONG: Final[list[Callable[[], object]]] = [
    lambda: ArtemisEnv(k="3"),  # type: ignore[arg-type]
    lambda: ArtemisEnv(kk=3),  # type: ignore[call-arg]
    lambda: ArtemisEnv(engine=3),  # type: ignore[arg-type]
    lambda: ArtemisEnv(observation=3),  # type: ignore[arg-type]
    lambda: ArtemisEnv(3),  # type: ignore[arg-type]
    lambda: ArtemisEnv(None),  # type: ignore[arg-type]
    lambda: MERPOrderEnv(f=None),  # type: ignore[arg-type]
    lambda: MERPOrderEnv(k=3),  # type: ignore[call-arg]
    lambda: MERPRouteEnv(arity="4"),  # type: ignore[arg-type]
    lambda: MERPRouteEnv(hosts=3),  # type: ignore[call-arg]
    lambda: AuTOLongFlowsEnv(thresholds=5.0),  # type: ignore[arg-type]
    lambda: AuTOLongFlowsEnv(queues=3),  # type: ignore[call-arg]
    lambda: AuTOThresholdsEnv(period_ms="5"),  # type: ignore[arg-type]
    lambda: AuTOThresholdsEnv(period=5.0),  # type: ignore[call-arg]
    lambda: QClusterEnv(goal=None),  # type: ignore[arg-type]
    lambda: QClusterEnv(hosts=3),  # type: ignore[call-arg]
    lambda: TAFETasksEnv(cpus="fast"),  # type: ignore[arg-type]
    lambda: TAFETasksEnv(flows=3),  # type: ignore[call-arg]
    lambda: TAFEThresholdsEnv(barrier=3),  # type: ignore[arg-type]
    lambda: TAFEThresholdsEnv(f=3),  # type: ignore[call-arg]
]


def test_what_is_wrong_to_a_checker_is_refused() -> None:
    for make in WRONG:
        with pytest.raises(ConfigError):
            make()


def test_what_is_right_to_a_checker_is_taken() -> None:
    env = ArtemisEnv("gather-a1", k=3, defer="to-back", engine="compiled", load=None, render_mode="ansi")
    member: Observation = env.config.observation
    flows = make_flows([0.0], [1e5], source=[0], destination=[1])

    ArtemisEnv({"name": "gather-a1"}, observation=member)
    MERPOrderEnv(None, topology="tree9", load=0.5)
    MERPRouteEnv(workload=flows, discipline="srpt", failures=None)
    AuTOLongFlowsEnv(flows, thresholds=[1e5, 1e6], scope="network", m_l=None)
    AuTOThresholdsEnv("auto-clusters", initial_thresholds=[1e4, 1e5, 1e6])
    QClusterEnv(goal="las", buffer=None)
    TAFETasksEnv("tafe-log", cpus=0.5, barrier="task", f=4)
    TAFEThresholdsEnv(flows, cpus=[0.5], demotion="arrived", initial_thresholds=None)
