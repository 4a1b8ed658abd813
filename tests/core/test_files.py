"""Fills the disk, ends the process, and fails in between: files are whole, and nothing else is left."""

import errno
import os
import signal
import sys
from pathlib import Path

import pytest

from flowsched_gym.cli import main
from flowsched_gym.core.files import Ended, ended_by_signals, exit_status, replace_when_written, write_text
from flowsched_gym.evaluation import write_json
from tests.processes import run

WRITER = """
import os, signal, sys
from flowsched_gym.core.files import replace_when_written
signal.signal({number:d}, signal.default_int_handler if {number:d} == signal.SIGINT else signal.SIG_DFL)
with replace_when_written(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print(len(os.listdir(temporary.parent)), flush=True)
    os.kill(os.getpid(), {number:d})
"""
"""Writes half a file and is asked to end; prints how many entries the folder then has.

What nohup or a shell starts in the background may ignore hang-ups or interrupts; this program does not.
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("files", [1, 2])
def test_a_process_that_is_asked_to_end_while_it_writes_leaves_nothing(number, files, tmp_path: Path) -> None:
    two = "as first, replace_when_written(sys.argv[1] + '.other') as temporary:\n    first.touch()"
    program = WRITER.format(number=number).replace("as temporary:", two if files == 2 else "as temporary:")
    assert run(sys.executable, "-c", program, str(tmp_path / "records.csv"), status=-number).out == f"{files}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_is_an_interrupt_unless_it_is_ignored(number: int) -> None:
    taken: list[int] = []
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(Ended) as caught, ended_by_signals():
            os.kill(os.getpid(), number)
        assert exit_status(caught.value) == 128 + number
        with ended_by_signals(taken.append):  # a terminal that closes sends more than one
            os.kill(os.getpid(), number)
            os.kill(os.getpid(), signal.SIGTERM)
        assert taken == [number]
        if number != signal.SIGINT:
            signal.signal(number, signal.SIG_IGN)
            with ended_by_signals():
                os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)


def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json({"old": 1}, path)
    before = path.read_bytes()

    def fill() -> None:
        with replace_when_written(path) as temporary:
            temporary.write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match=r"No space left on device: '.*result\.json'") as caught:
        fill()

    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_about_the_temporary_file_names_the_file_itself(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, replace_when_written(tmp_path / "result.json"):
        pass
    assert caught.value.filename == str(tmp_path / "result.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_device_is_one_line_with_its_name_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["workload", "gather-a1", "--flows", "10", "--seed", "0", "--out", "/dev/full"])
    assert status == 2
    assert capsys.readouterr().err == "flowsched: error: [Errno 28] No space left on device: '/dev/full'\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_standard_output_on_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        program = (sys.executable, "-m", "flowsched_gym.cli", "list")
        outcome = run(*program, stdout=full.fileno(), status=2, PYTHONUNBUFFERED="")
    assert outcome.err == "flowsched: error: [Errno 28] No space left on device: 'standard output'\n"


def test_a_name_as_long_as_file_systems_allow_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 125 + ".csv")
    write_text("text", path)
    assert path.read_text() == "text"
