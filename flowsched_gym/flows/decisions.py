"""What a system does with decisions, in both worlds and on all engines: a record of rules, and what a step returns.

Here too a rule is found by the record that has it, so that compiled code has the rules of one system alone.
"""

from enum import IntEnum
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from flowsched_gym.core.arrays import BoolArray, FloatArray, IntArray, ObservationArray
from flowsched_gym.machine_code.decorators import chosen_by_type, engine_function, inlined_part, is_outside

Rows = npt.NDArray[Any]
RULES_BEYOND_END: Final = "the environment's rules read or write beyond the end of an array: SimPy shows it"
NOBODY: Final = -1
"""In place of a destination that asks."""


class Order(IntEnum):
    """What a network can be told to do when it asks."""

    GRANT = 0
    """Give a token to the request with this index in the queue."""
    POSTPONE = 1
    """Send the request with this index to the back of the queue."""
    WAIT = 2
    """Let the destination wait for its next request or token."""
    SERVE_FIRST = 3
    """Serve the competing flow with this index before all others."""
    TAKE_PATH = 4
    """Send the flow that needs a path along the one with this index among its own."""
    GO_ON = 5
    """Begin the period, with the controls as they have been set."""


SERVE_FIRST: Final = int(Order.SERVE_FIRST)


class DecisionKind(IntEnum):
    """Kinds of decisions that an agent is asked for, besides the grant of a token."""

    NOTHING = 0
    """About nothing, or about tokens."""
    ORDER = 1
    """Which of the flows that compete goes first, when one of them has begun to send or has sent its last byte."""
    PATH = 2
    """Which path a flow takes that arrives, where two or more are there."""
    PERIOD = 3
    """How flows are to be controlled from now on, at the beginning and after each period."""


class OrderDecision(NamedTuple):
    """A decision which of the flows ``rows``, (count,), earliest arrival first, goes first."""

    rows: IntArray

    @property
    def candidates(self) -> IntArray:
        """Flows to choose from."""
        return self.rows


class PathDecision(NamedTuple):
    """A decision which path a flow takes, from row ``first`` of the path table to before row ``last``."""

    row: int
    first: int
    last: int

    @property
    def candidates(self) -> IntArray:
        """The flow, as an array of one row."""
        return np.array([self.row])


class DecisionRules(Protocol):
    """The part of an environment that is its system's: a NamedTuple of its arguments, with these methods.

    The methods are plain functions that Numba can compile. The SimPy engine calls them as they are; the compiled engine
    compiles those of the one record that it is given. They change nothing but ``flows`` and ``episodes``; ``act``
    changes controls and the record of the discipline, or of the scheduler, too. A record may have the methods of
    ``OptionalRules`` besides. A decision is a ``fluid.decision.Decision`` or, over packets, a
    ``packets.decision.PacketDecision``.
    """

    def act(self, decision: Any, action: Any) -> tuple[int, int, bool]:
        """Reads an action in the action space as an ``Order`` and the index that it is about.

        An action of several numbers is an array of them. At a period it sets what the discipline keeps, largest rates
        (where the network has ``rate_caps``) and paths (``rules.routing.choose_path.move``), and the order is
        ``GO_ON``. Also returns whether the order replaces an action that does nothing now, such as the choice of an
        empty slot.
        """

    def observe(self, decision: Any, observation: ObservationArray) -> None:
        """Writes what the agent sees, (layout.size,)."""

    def reward(self, decision: Any, num_before: int, terms: FloatArray) -> float:
        """Returns the reward of an action, the first one included, and writes its named terms, (num_terms,).

        ``decision`` is the network after it, ``num_before`` the flows that had been delivered before; 0 at first.
        """


class OptionalRules:
    """Methods that a record of rules may have, and what happens where it has none."""

    def asks(self, decision: Any) -> bool:
        """Returns whether there is anything to decide as a period begins; if not, it begins as controls are.

        Where no flow is in the network, the answer holds until one arrives: periods that begin before are left out.
        """
        return True

    def mask(self, decision: Any, mask: BoolArray) -> None:
        """Writes which actions are not replaced, (num_actions,); where there are none, no action is."""

    def final(self, decision: Any, values: FloatArray) -> None:
        """Writes what the last info tells besides, (num_final_infos,); nothing by default."""


class Environments(NamedTuple):
    """Environments of a batch, which compiled code steps.

    Attributes:
        rules: What their system does with a decision.
        max_decisions: Decisions after which episodes are truncated; inf for no limit.
        current: Network of each environment, (num_envs,).
        numbers: Environments to step, (count,).
        over: Whether each is over, (num_envs,); updated.
    """

    rules: Any
    max_decisions: float
    current: IntArray
    numbers: IntArray
    over: BoolArray


class Results(NamedTuple):
    """What a step returns; observations, times in s, rewards and their named terms have a row for each environment.

    Attributes:
        mask: Which actions are not replaced, (num_envs, num_actions).
        final: What the last infos tell besides, (num_envs, num_final_infos).
        host: Destinations that ask, -1 for none, (num_envs,).
        empty_slot_choices: Actions of the episodes that were replaced, (num_envs,).
        num_finished: Flows that finished, (num_envs,).
        terminated: Whether all flows have finished, (num_envs,).
        truncated: Whether the limit of decisions is reached, (num_envs,).
        finished: Rows of the flows that finished, environment by environment, counted from the first of each.
    """

    observation: npt.NDArray[np.float32]
    mask: BoolArray
    time: FloatArray
    reward: FloatArray
    terms: FloatArray
    final: FloatArray
    host: IntArray
    empty_slot_choices: IntArray
    num_finished: IntArray
    terminated: BoolArray
    truncated: BoolArray
    finished: IntArray


def new_results(num_envs: int, *, size: int, num_actions: int, num_terms: int, num_final: int) -> Results:
    """Makes room for what a step returns, but not for the flows that finish."""
    return Results(
        observation=np.zeros((num_envs, size), dtype=np.float32),
        mask=np.zeros((num_envs, num_actions), dtype=np.bool_),
        time=np.zeros(num_envs),
        reward=np.zeros(num_envs),
        terms=np.zeros((num_envs, num_terms)),
        final=np.zeros((num_envs, num_final)),
        host=np.zeros(num_envs, dtype=np.int64),
        empty_slot_choices=np.zeros(num_envs, dtype=np.int64),
        num_finished=np.zeros(num_envs, dtype=np.int64),
        terminated=np.zeros(num_envs, dtype=np.bool_),
        truncated=np.zeros(num_envs, dtype=np.bool_),
        finished=np.zeros(0, dtype=np.int64),
    )


def _method(name: str, record: type) -> Any:
    return getattr(record, name, None) or getattr(OptionalRules, name)


_of_rules = chosen_by_type(_method, index=0, checked=is_outside)
act = _of_rules(DecisionRules.act)
observe = _of_rules(DecisionRules.observe)
reward = _of_rules(DecisionRules.reward)
asks = _of_rules(OptionalRules.asks)
mask = _of_rules(OptionalRules.mask)
final = _of_rules(OptionalRules.final)


@_of_rules
def choose(
    policy: Any,
    weights: FloatArray,
    observation: npt.NDArray[np.float32],
    mask: BoolArray,
    scratch: FloatArray,
    action: IntArray,
) -> None:
    """Writes what a policy of a few weights chooses."""


@inlined_part
def take(rules: Any, decision: Any, action: Any) -> tuple[int, int]:
    """Takes an action, from which on flows count as delivered since; returns the order, and what it is about."""
    episode = decision.episodes[decision.number]
    if episode["num_decisions"] > 0:
        episode["num_before"] = decision.num_delivered
        episode["acted_at"] = decision.now
    order, index, is_replaced = act(rules, decision, action)
    episode["empty_slot_choices"] += is_replaced
    episode["num_decisions"] += 1
    return order, index


@inlined_part
def serve_slot(decision: Any, action: int) -> tuple[int, int, bool]:
    """Serves the flow in a slot first; an empty slot stands for the flow that has waited longest."""
    if action < decision.num_candidates:
        return SERVE_FIRST, action, False
    return SERVE_FIRST, 0, action >= max(decision.num_candidates, 1)


@inlined_part
def mask_slots(decision: Any, num_slots: int, mask: BoolArray) -> None:
    """Writes which slots hold a flow; at the end, the first."""
    for slot in range(num_slots):
        mask[slot] = slot < max(decision.num_candidates, 1)


@inlined_part
def forget_step(results: Results, e: int) -> None:
    """Clears what the last action of an environment brought about."""
    results.reward[e] = 0.0
    results.terms[e, :] = 0.0
    results.terminated[e] = False
    results.truncated[e] = False


@inlined_part
def note_step(
    rules: Any, decision: Any, max_decisions: float, over: BoolArray, results: Results, e: int, num_finished: int
) -> int:
    """Writes what an action has brought about; returns how many flows have finished, with ``num_finished`` others."""
    episode = decision.episodes[decision.number]
    num_before, first = episode["num_before"], decision.first_row
    results.terminated[e] = not decision.is_due
    results.truncated[e] = decision.is_due and episode["num_decisions"] >= max_decisions
    over[e] = results.terminated[e] or results.truncated[e]
    results.num_finished[e] = decision.num_delivered - num_before
    for index in range(first + num_before, first + decision.num_delivered):
        results.finished[num_finished] = decision.delivered[index] - first
        num_finished += 1
    results.reward[e] = reward(rules, decision, num_before, results.terms[e])
    return num_finished


@inlined_part
def note_shown(rules: Any, decision: Any, results: Results, e: int) -> None:
    """Writes what an environment shows."""
    observe(rules, decision, results.observation[e])
    mask(rules, decision, results.mask[e])
    final(rules, decision, results.final[e])
    results.time[e] = decision.now
    results.host[e] = decision.host if decision.is_due else NOBODY
    results.empty_slot_choices[e] = decision.episodes[decision.number]["empty_slot_choices"]


@engine_function
def show(rules: Any, decision: Any, observation: npt.NDArray[np.float32], actions: BoolArray) -> None:
    """Writes what the agent sees, and which actions are not replaced; called from Python."""
    observe(rules, decision, observation)
    mask(rules, decision, actions)
