"""Writes the published leaderboard from its result files: the page beside this file, and the results in the wheel."""

from pathlib import Path

from flowsched_gym.leaderboard import load_suite, read_results, write_leaderboard, write_published

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Writes both."""
    print(write_leaderboard(HERE))
    print(write_published(read_results(HERE / "results"), load_suite("standard-v1")))


if __name__ == "__main__":
    main()
