"""Measures the native vector environment of Artemis beside CartPole-v1's and beside our reference engine.

``python -m benchmarks.speed.vector`` prints the table; ``--write`` keeps the figures in ``vector.json``, draws
``docs/images/vector-speed.png`` and fills the table of ``README.md`` here; ``--soak N`` plays N decisions instead.
All times are CPU seconds of one thread, but where two are compared with one. Actions are random valid ones, chosen
before the clock runs.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np
import numpy.typing as npt

from benchmarks.pictures import save
from benchmarks.speed.page import benchmark_options, described, machine_of, publish
from benchmarks.speed.run import ARTEMIS, Case, rates_of, resident_megabytes, say
from flowsched_gym.core.units import BYTES_PER_KILOBYTE
from flowsched_gym.evaluation.figures import CURVES

FIGURES: Final = Path(__file__).with_name("vector.json")
PICTURE: Final = Path(__file__).parents[2] / "docs" / "images" / "vector-speed.png"
REPETITIONS: Final = 5
DECISIONS: Final = 1_000_000
"""Decisions of one repetition, shared among the environments."""
MOST_STEPS: Final = 10_000
CHOICES: Final = 512
"""Steps for which random numbers are drawn before the clock runs."""
PAPER: Final[Mapping[str, Any]] = {"workload": "gather-a1", "k": 10, "f": 5}
NUM_ENVS: Final = (1, 8, 64, 256, 1024, 4096)
VARIED: Final[Mapping[str, tuple[Any, ...]]] = {"k": (1, 3, 10, 30), "f": (1, 5, 10, 20), "burst_rate": (5, 10, 20, 30)}
"""Arguments that are varied one at a time at 1,024 environments."""
VARIED_ENVS: Final = 1024
THREADED_ENVS: Final = (1024, 4096)
"""Numbers of environments that one thread and two step, by the clock on the wall."""
SOAK_ENVS: Final = 1024
SAMPLE: Final = 16
"""Environments of the soak whose episodes the reference engine plays too."""
SAMPLE_EPISODES: Final = 2
TENTHS: Final = 10
BLUE, RED, DARK = CURVES[0], CURVES[1], CURVES[5]


def main() -> None:
    """Measures, prints, and writes where asked."""
    parser = benchmark_options("Measures the native vector environment.", FIGURES)
    parser.add_argument("--soak", type=int, metavar="N", help="play N decisions and watch memory and results instead")
    options = parser.parse_args()
    if options.soak:
        print(soak(options.soak))
        return
    figures = described(FIGURES, options, measured)
    publish(figures, FIGURES, table, write=options.write)
    if options.write:
        draw(figures, PICTURE)


def measured(share: int) -> dict[str, Any]:
    """Measures all cases, with a part of the work each, and memory."""
    rates = rates_of(cases(share), REPETITIONS)
    return {"repetitions": REPETITIONS, "rates": rates, "kilobytes_per_environment": kilobytes()}


def cases(share: int) -> dict[str, Case]:
    """Lists the cases by name."""
    decisions = DECISIONS // share
    found: dict[str, Case] = {"simpy": environment_case(ARTEMIS, None, decisions, PAPER)}
    for number in NUM_ENVS:
        found[f"cartpole {number}"] = environment_case("CartPole-v1", number, decisions, {})
        found[f"artemis {number}"] = environment_case(ARTEMIS, number, decisions, PAPER)
    for number in THREADED_ENVS:
        for threads in (1, 2):
            arguments = {**PAPER, "num_threads": threads}
            found[f"threads {number} {threads}"] = environment_case(
                ARTEMIS, number, decisions, arguments, clock=time.perf_counter
            )
    for name, values in VARIED.items():
        for value in values:
            found[f"{name} {value}"] = environment_case(ARTEMIS, VARIED_ENVS, decisions, {**PAPER, name: value})
    return found


def environment_case(
    env_id: str,
    num_envs: int | None,
    decisions: int,
    arguments: Mapping[str, Any],
    *,
    least_steps: int = CHOICES,
    clock: Callable[[], float] = time.thread_time,
) -> Case:
    """Returns what plays so many decisions in an environment, or native vector, which is made when it is first asked.

    It goes on where it was, for at least so many steps.
    """
    made: list[Any] = []

    def play() -> tuple[int, float]:
        if not made:
            if num_envs is None:
                made.append(gymnasium.make(env_id, **arguments))
            else:
                made.append(gymnasium.make_vec(env_id, num_envs, **arguments))
            made.append(made[0].reset(seed=0)[1])
        env, info = made
        count = num_envs or 1
        uniform = np.random.default_rng(0).random((CHOICES, count))
        steps = max(min(decisions // count, MOST_STEPS), least_steps)
        seconds = 0.0
        for step in range(steps):
            action = choose(env, info, uniform[step % CHOICES])
            begin = clock()
            _, _, terminated, truncated, info = env.step(action)
            if num_envs is None and (terminated or truncated):
                _, info = env.reset()
            seconds += clock() - begin
        made[1] = info
        return steps * count, seconds

    return play


def choose(env: Any, info: Mapping[str, Any], uniform: npt.NDArray[np.float64]) -> Any:
    """Chooses a valid action for each environment; one for a single environment."""
    space = getattr(env, "single_action_space", env.action_space)
    mask = np.atleast_2d(info.get("action_mask", np.ones((len(uniform), space.n), dtype=bool)))
    wanted = (uniform * mask.sum(axis=1)).astype(np.int64)
    actions = (mask.cumsum(axis=1) > wanted[:, None]).argmax(axis=1)
    return actions if hasattr(env, "single_action_space") else int(actions[0])


def kilobytes() -> dict[str, float]:
    """Returns the memory of an environment in kB: that of its two networks and what is kept beside them."""
    sizes = {}
    for workload in ("gather-a1", "gather-multi"):
        envs: Any = gymnasium.make_vec(ARTEMIS, num_envs=SAMPLE, **{**PAPER, "workload": workload})
        arrays = [array for array in envs.simulation.tables if isinstance(array, np.ndarray) and len(array) > SAMPLE]
        sizes[workload] = sum(array.nbytes for array in arrays) / SAMPLE / BYTES_PER_KILOBYTE
    return sizes


def table(figures: Mapping[str, Any]) -> str:
    """Lays the figures out."""
    rates = {name: rate["median"] for name, rate in figures["rates"].items()}
    lines = [
        f"Decisions per CPU second on one core, {machine_of(figures)}; medians of {figures['repetitions']} interleaved",
        "repetitions.",
        "",
        "| environments | Artemis | ns per decision | CartPole-v1, native | over CartPole | over our SimPy engine |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for number in NUM_ENVS:
        ours, theirs = rates[f"artemis {number}"], rates[f"cartpole {number}"]
        lines.append(
            f"| {number:,} | {ours:,.0f} | {1e9 / ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f} "
            f"| {ours / rates['simpy']:.0f} x |"
        )
    gains = (
        f"{rates[f'threads {number} 2'] / rates[f'threads {number} 1']:.2f} with {number:,} environments"
        for number in THREADED_ENVS
    )
    lines += [
        "",
        f"Rate of two threads (`num_threads=2`) over one, in wall-clock time: {', '.join(gains)}.",
        "",
        f"Single environment on the SimPy engine: {rates['simpy']:,.0f}.",
        "",
        f"Cost of a decision at {VARIED_ENVS:,} environments; k = 10, f = 5 and 10 bursts/s unless varied:",
        "",
        "| varied | value | ns per decision |",
        "| --- | ---: | ---: |",
    ]
    for name, values in VARIED.items():
        lines += [f"| {name} | {value} | {1e9 / rates[f'{name} {value}']:,.0f} |" for value in values]
    memory = ", ".join(f"{size:,.0f} kB ({name})" for name, size in figures["kilobytes_per_environment"].items())
    lines += ["", f"Memory of an environment: {memory}.", "", f"Command: `{figures['command']}`", ""]
    return "\n".join(lines)


def draw(figures: Mapping[str, Any], path: Path) -> None:
    """Draws rates over the number of environments, and the cost of a decision over each argument."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - the measurement does without

    rates = {name: rate["median"] for name, rate in figures["rates"].items()}
    figure = Figure(figsize=(12.0, 4.4), layout="constrained")
    left, *others = figure.subplots(1, 1 + len(VARIED), width_ratios=(2.0, *(1.0 for _ in VARIED)))
    for label, key, colour in (("CartPole-v1, native", "cartpole", DARK), ("Artemis, native", "artemis", BLUE)):
        left.plot(NUM_ENVS, [rates[f"{key} {number}"] for number in NUM_ENVS], "o-", color=colour, label=label)
    left.axhline(rates["simpy"], color=RED, linestyle="--", label="Artemis, single on SimPy")
    left.set(xscale="log", yscale="log", xlabel="environments", ylabel="decisions per CPU second")
    left.set_xticks(NUM_ENVS, [f"{number:,}" for number in NUM_ENVS])
    left.minorticks_off()
    left.legend(frameon=False, loc="upper left", handlelength=1.2)
    left.set_title("Speed on one core", loc="left")
    highest = max(1e9 / rates[f"{name} {value}"] for name, values in VARIED.items() for value in values)
    for axes, (name, values) in zip(others, VARIED.items(), strict=True):
        axes.plot(values, [1e9 / rates[f"{name} {value}"] for value in values], "o-", color=BLUE)
        axes.set(xlabel={"burst_rate": "bursts per s"}.get(name, name), ylim=(0, 1.1 * highest), xticks=values)
    others[0].set_ylabel("ns per decision")
    others[0].set_title(f"Cost of a decision, {VARIED_ENVS:,} environments", loc="left")
    for axes in (left, *others):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    save(figure, path, dpi=130)


def soak(decisions: int) -> str:
    """Plays on and on: memory must not grow, no value may be NaN, and a sample must be what the reference engine has.

    Raises:
        RuntimeError: One of these does not hold.
    """
    envs: Any = gymnasium.make_vec(ARTEMIS, num_envs=SOAK_ENVS, **PAPER)
    observations, infos = envs.reset(seed=0)
    rng = np.random.default_rng(1)
    taken: list[npt.NDArray[np.int64]] = []
    returns = np.zeros((SAMPLE, SAMPLE_EPISODES))
    episodes = np.zeros(SOAK_ENVS, dtype=np.int64)
    memory, steps = [], -(-decisions // SOAK_ENVS)
    for step in range(steps):
        actions = choose(envs, infos, rng.random(SOAK_ENVS))
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        if not np.isfinite(observations).all() or not np.isfinite(rewards).all():
            raise RuntimeError(f"an observation or reward of step {step} is not finite")
        if (episodes[:SAMPLE] < SAMPLE_EPISODES).any():
            taken.append(actions[:SAMPLE].copy())
            for number in np.flatnonzero(episodes[:SAMPLE] < SAMPLE_EPISODES):
                returns[number, episodes[number]] += rewards[number]
        episodes += terminated | truncated
        if (step + 1) % (steps // TENTHS) == 0:
            memory.append(resident_megabytes())
            say(f"{(step + 1) * SOAK_ENVS:,} decisions, {memory[-1]:.0f} MB")
    say("")
    expected = reference_returns(taken)
    if not (expected == returns).all():
        raise RuntimeError(f"the reference engine has the returns {expected}, the compiled one {returns}")
    growth = memory[-1] - memory[0]
    if growth > memory[0] / TENTHS:
        raise RuntimeError(f"memory grew from {memory[0]:.0f} to {memory[-1]:.0f} MB")
    return (
        f"{steps * SOAK_ENVS:,} decisions, {episodes.sum():,} episodes: all finite; memory {memory[0]:.1f} MB after "
        f"the first tenth and {memory[-1]:.1f} MB at the end; returns of {returns.size} sampled episodes equal to the "
        f"reference engine's ({returns.sum():,.0f} deadlines met)"
    )


def reference_returns(taken: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.float64]:
    """Plays the sampled episodes on the reference engine with the actions that were taken; same shape of returns."""
    returns = np.zeros((SAMPLE, SAMPLE_EPISODES))
    for number in range(SAMPLE):
        env = gymnasium.make(ARTEMIS, **PAPER)
        env.reset(seed=number)
        episode, over = 0, False
        for actions in taken:
            if over:  # the step in which the vector environment resets
                env.reset()
                episode, over = episode + 1, False
                if episode == SAMPLE_EPISODES:
                    break
                continue
            _, reward, terminated, truncated, _ = env.step(int(actions[number]))
            returns[number, episode] += float(reward)
            over = terminated or truncated
    return returns


if __name__ == "__main__":
    main()
