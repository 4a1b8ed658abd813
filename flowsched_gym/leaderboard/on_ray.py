"""Plays policies of a leaderboard at the same time on the machines of a Ray cluster."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from flowsched_gym.core.errors import ConfigError, FlowSchedError, MissingDependencyError
from flowsched_gym.evaluation import EvaluationResult
from flowsched_gym.leaderboard.play import play
from flowsched_gym.leaderboard.suite import Setting, Suite
from flowsched_gym.players import Player

Work = tuple[Setting, Player]
Played = EvaluationResult | FlowSchedError
"""A result, or why there is none."""

MAX_RETRIES: Final = 3
"""How often work is repeated whose process or machine was lost."""


def play_on_ray(
    suite: Suite, work: Sequence[Work], how: dict[str, Any], address: str | None
) -> Iterator[tuple[Work, Played]]:
    """Plays on a Ray cluster, each work on one CPU, and yields what has ended, in whatever order.

    Work on a machine that is lost is repeated on another one. Without an address, Ray is started on this machine.

    Raises:
        ConfigError: There is no cluster at the address, or it has lost the same work too often.
        MissingDependencyError: Ray is not installed.
    """
    try:
        import ray  # noqa: PLC0415 - optional
    except ImportError:
        raise MissingDependencyError("ray", extra="cluster", purpose="play on a Ray cluster") from None
    try:
        # Without an address Ray would join a cluster whose address it found in a file, even one that is gone.
        ray.init(address=address or "local", include_dashboard=None if address else False, log_to_driver=False)
    except ConnectionError as error:
        raise ConfigError(f"no Ray cluster answers at {address!r}: {error}") from None
    remote = ray.remote(num_cpus=1, max_retries=MAX_RETRIES)(_played)
    try:
        under_way = {remote.remote(suite, *each, how): each for each in work}
        while under_way:
            (ended,), _ = ray.wait(list(under_way), num_returns=1)
            try:
                played: Played = ray.get(ended)
            except ray.exceptions.RayError as error:
                raise ConfigError(f"Ray has lost {under_way[ended][1].name} too often: {error}") from None
            yield under_way.pop(ended), played
    finally:
        ray.shutdown()


def _played(suite: Suite, setting: Setting, player: Player, how: dict[str, Any]) -> Played:
    try:
        return play(suite, setting, player, **how)
    except FlowSchedError as error:
        return error
