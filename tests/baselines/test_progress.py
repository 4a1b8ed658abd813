"""Tells of progress where there is no terminal."""

from flowsched_gym.baselines.applications.progress import ProgressLines, progress_bar


def test_without_a_terminal_a_line_tells_now_and_then(monkeypatch) -> None:
    now = [100.0]
    lines: list[str] = []
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    bar = progress_bar(total=1000, unit="decisions", shown=True, initial=200, say=lines.append)
    assert isinstance(bar, ProgressLines)
    bar.set_description_str("990 asked for")
    bar.set_postfix_str("mean_fct 0.1")
    for _ in range(8):
        now[0] += 10.0
        bar.update(100)
    bar.close()
    assert lines == [
        "500 of 1,000 decisions, 990 asked for: 50%, 10.0 a second; mean_fct 0.1",
        "800 of 1,000 decisions, 990 asked for: 80%, 10.0 a second; mean_fct 0.1",
    ]
