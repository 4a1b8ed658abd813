"""Packs folders into one file: what reads files finds them under the paths that they had."""

import io
import lzma
import subprocess
import tarfile
from pathlib import Path

import pytest

from flowsched_gym.core import packed
from flowsched_gym.core.errors import ConfigError
from flowsched_gym.core.files import read_json, write_packed, write_text
from flowsched_gym.core.packed import files_in, folders_in, is_file, is_folder, packed_file, read_bytes, unpacked

FILES = {"b.json": b"[1]", "a.json": b"[2]", "a.zip": b"\x00", "marks/a/a.json": b"[3]"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is packed, below another one."""
    write_packed(FILES, tmp_path / "of v1.2" / "agent")
    return tmp_path / "of v1.2" / "agent"


def test_files_of_a_packed_folder_are_read_and_written_under_the_paths_that_they_would_have(folder: Path) -> None:
    assert [path.name for path in folder.parent.iterdir()] == ["agent.tar.xz"]
    assert {name: read_bytes(folder / name) for name in FILES} == FILES == unpacked(folder)
    assert files_in(folder, ".json") == [folder / "a.json", folder / "b.json"]
    assert folders_in(folder.parent) == [folder]
    assert (is_folder(folder), is_folder(folder / "none"), is_file(folder / "b.json")) == (True, False, True)

    write_text("[4]", folder / "b.json")
    assert [read_json(folder / name) for name in ("b.json", "a.json", "marks/a/a.json")] == [[4], [2], [3]]
    for missing in (folder / "c.json", folder / "marks", folder.with_name("other") / "a.json"):
        assert not is_file(missing)
        with pytest.raises(FileNotFoundError) as caught:
            read_bytes(missing)
        assert caught.value.filename == str(missing)


def test_equal_files_make_equal_bytes_which_tar_makes_a_folder_of_that_is_read_instead(folder: Path) -> None:
    file, other = packed_file(folder), folder.with_name("other")
    before = file.read_bytes()
    write_packed(dict(reversed(FILES.items())), folder)
    assert file.read_bytes() == before

    subprocess.run(["tar", "-xf", file.name], cwd=file.parent, check=True)
    (folder / "a.json").write_text("[5]")
    write_packed(FILES, other)
    assert folders_in(folder.parent) == [folder, other]
    assert [read_json(each / "a.json") for each in (folder, other)] == [[5], [2]]
    assert files_in(folder, ".json") == [folder / "a.json", folder / "b.json"]
    write_text("[6]", folder / "a.json")
    assert file.read_bytes() == before


def test_what_is_no_packed_folder_or_too_large_a_one_is_one_clear_error(folder: Path, monkeypatch) -> None:
    file = packed_file(folder)
    whole = file.read_bytes()
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("agent/a"), io.BytesIO())
    for content in (b"", b"text", whole[:-20], whole[20:], lzma.compress(b"text"), lzma.compress(tar.getvalue()[:300])):
        file.write_bytes(content)
        with pytest.raises(ConfigError, match=r"agent\.tar\.xz is no folder that was packed"):
            read_bytes(folder / "a.json")
    file.write_bytes(whole)
    monkeypatch.setattr(packed, "MOST_BYTES", 1000)
    with pytest.raises(ConfigError, match=r"agent\.tar\.xz holds more than 1000 B"):
        packed._unpacked.__wrapped__(file, 0, 0)


def test_a_packed_folder_that_asks_for_more_memory_than_there_is_is_one_clear_error(folder: Path, monkeypatch) -> None:
    def ask(_: Path) -> None:
        raise MemoryError

    monkeypatch.setattr(lzma, "open", ask)
    with pytest.raises(ConfigError, match=r"agent\.tar\.xz takes too much memory to unpack"):
        read_bytes(folder / "a.json")
