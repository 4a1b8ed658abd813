"""QCluster's environment: an agent sets the thresholds that cluster packets into a port's few queues."""

from typing import TYPE_CHECKING, Any

from flowsched_gym.envs import DecisionEnv, DecisionVectorEnv, PortsSetup
from flowsched_gym.envs.configured import configured_by
from flowsched_gym.envs.drawing import View
from flowsched_gym.systems.qcluster.config import QClusterConfig
from flowsched_gym.systems.qcluster.panels import qcluster_panels
from flowsched_gym.systems.qcluster.rules import EPISODE_FIELDS, FLOW_FIELDS, TERMS, port_layout, port_rules
from flowsched_gym.workload import WorkloadSource, offered_traffic

if TYPE_CHECKING:
    from flowsched_gym.workload import Traffic


class QClusterEnv(DecisionEnv[Any]):
    """QCluster's port: an agent sets the thresholds that cluster packets into its few queues.

    ## Description
    Messages of very different sizes are sent in packets through one port of a switch, which has K queues, each first
    in, first out. A packet has a weight, for instance the bytes that its message has sent, and enters the first queue
    whose threshold is not below that. Served in strict priority, the queues approximate an order by weight; the more
    alike the weights in a queue, the better. QCluster moves thresholds by fixed rules; here an agent sets them, or
    chooses the rule, at the beginning and after each period. Packets are modelled one by one, with senders that wait
    for acknowledgements, buffers, marks and losses where wanted.

    ## Action Space
    ``action="thresholds"``: ``Box(-1, 1, (queues - 1,))`` of float32, for the goal ``deadline`` (queues - 2,), as
    packets with and without deadlines have queues of their own. With u = (action + 1) / 2, the first number chooses a
    threshold on the logarithmic scale from 10 B (u = 0) to 1 GB (u = 1), each of the others one between 1.01 times the
    threshold before it and 1 GB, so that any action stands for thresholds that increase, in whole bytes.

    ``action="rule"``: ``MultiDiscrete([4, 4])``. The first is a rule, by which thresholds then move every 200 packets:
    0 arithmetic, 1 geometric, 2 harmonic, 3 adaptive. The second is the step by which alpha moves for the adaptive
    rule: 0 none, 1 by 1.02, 2 by 1.05, 3 by 1.2.

    An action outside the space, one with NaN for instance, raises ``InvalidAction``.

    ## Observation Space
    ``Box`` of float32: fourteen columns of the messages, then those from ``packets`` on for each queue, the highest
    first; (94,) with eight queues. A message has finished when its last byte has been received; where there are none,
    columns are 0. What ends in (log) is the position, from 0 to 1, on a logarithmic scale: of weights from 10 B
    to 1 GB, of times from 1 us to 10 s, of alpha from 0.05 to 20. Squashed means ``x / (x + scale)``; ``layout``
    decodes it, to six digits.

    {columns}

    ## Rewards
    Four terms, all of them in ``info["reward_terms"]``; ``reward`` names the one that is the reward. They concern the
    messages that finished since the last action. ``slowdown``: minus the logarithm of their mean slowdown. ``fct``:
    minus the logarithm of their mean completion time over the mean of what they would take alone. ``jain``: Jain's
    index of the mean throughputs of messages of each order of magnitude, the paper's measure of fairness.
    ``deadlines``: the share of messages with deadlines that met them, the paper's application throughput. A term about
    which no message says anything is what it was in the step before, 0 in the first.

    ## Starting State
    The messages of the episode are drawn from the workload by one integer of the environment's generator; the first
    action is asked for at time 0. Until it is taken, thresholds lie between QCluster's first weights, 1,460 B times
    powers of 3. States are as for ``ArtemisEnv``.

    ## Episode End
    ``terminated`` when every message has been received, wherever in a period that is; the last action is rewarded
    for the messages that finished until then. ``truncated`` after ``max_decisions``, if given.
    ``info["episode_metrics"]`` then holds the metrics.

    ## Arguments
    Fair queueing with the paper's DCTCP:

    ```python
    gym.make("flowsched/QCluster-v0", goal="fq", reward="jain", transport="dctcp", window=70, buffer=240, mark_at=65)
    ```

    ## Vectorized environment
    ``gym.make_vec(id, num_envs=n)`` makes n of these in compiled code, to the bits of ``SyncVectorEnv``; see
    ``ArtemisEnv`` for autoreset, infos and states. A packet takes some 50 bytes of memory, for this episode and the
    next one.

    ## Version History
    * v0: Initial version.

    ## Reference
    T. Yang, J. Li, Y. Zhao, K. Yang, H. Wang, J. Jiang, Y. Zhang, N. Zhang, QCluster: Clustering Packets for Flow
    Scheduling, sections 3 and 4. We deviate: one port, not a fabric (``replay_packets`` has one), and acknowledgements
    take no bandwidth. By default nothing avoids disorder: with ``disorder="las"``, or
    ``"fq"`` for the goal ``fq``, the port has the avoidance of the paper's Table 3, which is the default of
    ``schedulers.QCluster`` in replays. The paper has no agent: actions, observations and rewards are
    ours, as are the laws that it does not print (see ``schedulers.QCluster``).
    """

    config: QClusterConfig

    @configured_by(QClusterConfig, port_layout)
    def __init__(self, config: QClusterConfig, source: WorkloadSource, render_mode: str | None, engine: str) -> None:
        traffic = offered_traffic(source, 1)
        self.traffic: Traffic | None = None if traffic is None else traffic[0]
        rules, action_space = port_rules(config)
        port = config.port_setup()
        super().__init__(
            rules,
            action_space,
            source=source,
            network=PortsSetup(
                topology=port.topology,
                port=port,
                flow_fields=FLOW_FIELDS,
                episode_fields=EPISODE_FIELDS,
            ),
            layout=port_layout(config),
            terms=TERMS,
            render_mode=render_mode,
            max_decisions=config.max_decisions,
            engine=engine,
        )

    def panels(self) -> View:
        """Lists what a picture of the current episode shows."""
        return qcluster_panels(self.config, self.scene(), self.decision())


class QClusterVectorEnv(DecisionVectorEnv):
    """Many ``QClusterEnv`` whose ports run in compiled code; see ``DecisionVectorEnv``."""

    _SHARED = (*DecisionVectorEnv._SHARED, "traffic")
    single = QClusterEnv
    config: QClusterConfig
