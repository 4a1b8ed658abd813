"""The TAFE environment of tasks: which of the flows that are ready goes next."""

from functools import cached_property
from typing import Any

from gymnasium import spaces

from flowsched_gym.core.arrays import FloatArray
from flowsched_gym.envs import DecisionEnv, DecisionVectorEnv, NetworkSetup, setup_ports
from flowsched_gym.envs.configured import configured_by
from flowsched_gym.envs.drawing import View
from flowsched_gym.envs.episode import EpisodeSetup
from flowsched_gym.flows.decisions import DecisionKind
from flowsched_gym.flows.stages import Barrier
from flowsched_gym.fluid.disciplines import Ranked
from flowsched_gym.packets.schedulers.controlled import ServedFirst
from flowsched_gym.systems.tafe.config import paper_thresholds
from flowsched_gym.systems.tafe.panels import tasks_panels
from flowsched_gym.systems.tafe.tasks.config import Information, TAFETasksConfig
from flowsched_gym.systems.tafe.tasks.rules import EPISODE_FIELDS, FLOW_FIELDS, TERMS, TaskRules, tasks_layout
from flowsched_gym.workload import WorkloadSource


class TAFETasksEnv(DecisionEnv[TaskRules]):
    """Which of the flows that are ready goes next, with the state of its task beside it.

    ## Description
    Tasks of several flows arrive, and a task ends with its last flow. A flow runs on the CPU of its source first, if
    it has work there, and then sends; it may have to wait for other flows before. The aim is a short mean task
    completion time. The agent is asked whenever a resource becomes free or a flow is ready for one, and two or more
    flows then compete for it: for links (they share one with another, on which that happened) or for a CPU. Where
    several resources are concerned in one instant, the links come first, then the CPUs by their hosts, one decision
    each. The chosen flow goes before all others, on its CPU and on the network; the others keep their order, in which
    an earlier choice stands before a later arrival. What the first flow leaves idle serves the next ones. On one link
    the chosen flow alone sends, and on one CPU it alone runs, until the next decision. Over ``packets`` it is the same
    on CPUs; a flow opens its connection when its work is done, and on the network its packets go first at every port.

    ## Action Space
    ``Discrete(f)``: the slot whose flow goes first; slot 0 is the flow that was ready first. An empty slot is legal,
    stands for slot 0, and is counted in ``info["empty_slot_choices"]``; ``info["action_mask"]`` and
    ``action_masks()`` tell beforehand. Where nothing is asked, after the end of an episode, the mask shows slot 0
    alone. An action outside the space raises ``InvalidAction``.

    ## Observation Space
    ``Box`` of float32: 4 columns of the contest, then 8 for each slot, (4 + 8 f,); with ``information="full"`` 13,
    (4 + 13 f,). Empty slots are 0. Squashed means ``x / (x + scale)``; ``layout`` decodes it, to six digits. Scales are
    those of ``typical_kb=1000`` and ``link_gbps=1``. With ``barrier="task"``, a flow without CPU work that waits for
    its task counts as ready, here and in the reward, when it may send.

    {columns}

    With ``information="full"`` these follow in each slot:

    {columns: information="full"}

    ## Rewards
    Two terms, both in ``info["reward_terms"]``. ``unfinished``: minus the integral of the number of unfinished tasks
    since the last action, in units of ``reward_scale_ms``; over an episode it is minus the sum of the task completion
    times. ``tail``: minus the rise of the largest task completion time so far, in the same unit, times ``tail_weight``
    (0 by default). The reward is their sum. The first action is rewarded for the time before it too.

    ## Starting State
    The flows of the episode are drawn from the workload by one integer of the environment's generator; time runs to the
    first contest. States are as for ``ArtemisEnv``.

    ## Episode End
    ``terminated`` when every flow has finished; the last action is rewarded for all of them. Where no two flows ever
    compete, that is after the first action, whatever it is. ``truncated`` after ``max_decisions``, if given.
    ``info["episode_metrics"]`` then holds the metrics.

    ## Arguments
    ``read_coflows`` returns a ``Workload``.

    ```python
    gym.make("flowsched/TAFETasks-v0", workload="tafe-short", typical_kb=20, information="full")
    ```

    ## Vectorized environment
    ``gym.make_vec(id, num_envs=n)`` makes n of these that are stepped in one compiled call, to the bits of
    ``SyncVectorEnv``; see ``ArtemisEnv`` for autoreset, masks and states.

    ## Version History
    * v0: Initial version.

    ## Reference
    TAFE, sections III and IV (tasks, CPU and network as stages, priorities over both). The paper has no learning: the
    agent stands in the place of its queues. We deviate: the network is a fluid unless ``packets`` says so; a switch
    knows of a flow at once when it is ready; a task is served anew at decisions alone, not in the instant in which it
    has sent enough to be demoted, as the discipline ``tafe`` has it.
    """

    config: TAFETasksConfig

    @configured_by(TAFETasksConfig, tasks_layout)
    def __init__(self, config: TAFETasksConfig, source: WorkloadSource, render_mode: str | None, engine: str) -> None:
        super().__init__(
            TaskRules(
                num_slots=config.f,
                knows_left=config.information is Information.FULL,
                size_scale=config.size_scale,
                time_scale=config.time_scale,
                waiting_scale=config.waiting_scale,
                reward_scale=config.reward_scale,
                tail_weight=config.tail_weight,
            ),
            spaces.Discrete(config.f),
            source=source,
            network=_network(config, source.num_hosts),
            layout=tasks_layout(config),
            terms=TERMS,
            render_mode=render_mode,
            max_decisions=config.max_decisions,
            engine=engine,
        )

    @cached_property
    def paper_thresholds(self) -> FloatArray:
        """Demotion thresholds in B that the paper names, for the tasks of this environment, (2,)."""
        return paper_thresholds(self._source)

    def panels(self) -> View:
        """Lists what a picture of the current episode shows."""
        return tasks_panels(self.config, self.scene(), self.simulation.pending)


def _network(config: TAFETasksConfig, num_hosts: int) -> EpisodeSetup:
    """Makes the network, of a fluid or of packets."""
    topology = config.make_network(num_hosts)
    asked: Any = {
        "asks": DecisionKind.ORDER,
        "barrier": Barrier(config.barrier),  # mypy forgets that an inherited choice is a member
        "flow_fields": FLOW_FIELDS,
        "episode_fields": EPISODE_FIELDS,
    }
    if config.senders is not None:
        return setup_ports(topology, ServedFirst(), config.senders, **asked)
    return NetworkSetup(topology=topology, new_discipline=Ranked, **asked)


class TAFETasksVectorEnv(DecisionVectorEnv):
    """Many ``TAFETasksEnv`` in one compiled call per step; see ``DecisionVectorEnv``."""

    single = TAFETasksEnv
    config: TAFETasksConfig
