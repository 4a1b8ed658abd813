"""The command line of the benchmarks of speed, and the generated parts of the page about it."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import flowsched_gym
from benchmarks.speed.run import QUICK_SHARE, describe_machine
from flowsched_gym.core.files import read_json, write_text
from flowsched_gym.evaluation import write_json

README: Final = Path(__file__).with_name("README.md")

Figures = Mapping[str, Any]


def run_benchmark(about: str, measure: Callable[[int], Figures], path: Path, table: Callable[[Figures], str]) -> None:
    """Measures, prints, and writes where asked, as ``benchmark_options`` and ``publish`` do.

    ``measure`` gets what ``--quick`` divides the work by, and returns the figures of its own.
    """
    options = benchmark_options(about, path).parse_args()
    publish(described(path, options, measure), path, table, write=options.write)


def benchmark_options(about: str, path: Path) -> argparse.ArgumentParser:
    """Returns the options of a benchmark whose figures are kept in this file."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help=f"a {QUICK_SHARE}th of the work: a look, not a result")
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {path.name}, and fill in")
    return parser


def described(path: Path, options: argparse.Namespace, measure: Callable[[int], Figures]) -> Figures:
    """Measures, and adds what the figures were made with."""
    return {
        "command": f"python -m benchmarks.speed.{path.stem}{' --quick' * options.quick} --write",
        "package_version": flowsched_gym.__version__,
        "machine": describe_machine(),
        **measure(QUICK_SHARE if options.quick else 1),
    }


def machine_of(figures: Figures) -> str:
    """Writes what figures were measured with."""
    return ", ".join(f"{name} {value}" for name, value in figures["machine"].items() if name != "architecture")


def page_with(figures: Path, table: Callable[[Figures], str]) -> str:
    """Returns the page with the part made anew that has the name of this file of figures."""
    start, end = f"<!-- generated: {figures.stem} -->", f"<!-- end of generated: {figures.stem} -->"
    before, _, rest = README.read_text(encoding="utf-8").partition(start)
    after = rest.partition(end)[2]
    return f"{before}{start}\n\n{table(read_json(figures))}\n{end}{after}"


def publish(figures: Figures, path: Path, table: Callable[[Figures], str], *, write: bool) -> None:
    """Prints the figures of a run and, where asked, keeps them and fills their part of the page."""
    print(table(figures))
    if write:
        write_json(figures, path)
        write_text(page_with(path, table), README)
        print(f"written to {path} and {README}")
