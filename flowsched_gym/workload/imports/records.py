"""Records as they were recorded, and what all readers share: text, its words, gzip, times, and numbers of bytes."""

import gzip
import math
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from io import BufferedIOBase
from pathlib import Path
from typing import Final, NamedTuple

from flowsched_gym.core.checks import COUNT_END
from flowsched_gym.core.errors import FlowFileError, shown
from flowsched_gym.workload.flow_csv import NUMBER, SHOWN_CHARACTERS, WHOLE_NUMBER, shorten

GZIP: Final = b"\x1f\x8b"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECONDS_END: Final = 10**11
"""Unix times below are in s; from here to a thousand times as much, until the same year, they are in ms."""
MILLISECONDS_PER_SECOND: Final = 1000
BYTES_END: Final = 2**64
"""Counters of bytes have 64 bits."""


class Record(NamedTuple):
    """A flow as it was recorded: Unix time in s, addresses, bytes, and its place in the file, such as ``line 7``."""

    time: Decimal
    source: str
    destination: str
    size: Decimal
    place: str


@dataclass(frozen=True, slots=True)
class Told:
    """What is told after reading: how much was left out, by the reason, and sentences on what was guessed."""

    left_out: Counter[str] = field(default_factory=Counter)
    guessed: list[str] = field(default_factory=list)

    def guess(self, sentence: str) -> None:
        """Adds a sentence, once."""
        if sentence not in self.guessed:
            self.guessed.append(sentence)


class Words:
    """The words of one line, which are taken one after the other."""

    def __init__(self, line: str, where: str) -> None:
        self._words = line.split()
        self._next = 0
        self.where = where

    def take(self, what: str, allowed: str) -> str:
        """Takes the next word."""
        if self._next == len(self._words):
            raise FlowFileError(f"{self.where}, {what}: the line ends after {self._next} words: it must be {allowed}")
        self._next += 1
        return self._words[self._next - 1]

    def whole_number(self, what: str, *, at_least: int = 0, below: int = COUNT_END, word: str | None = None) -> int:
        """Converts a word, by default the next one, to a whole number in its bounds."""
        allowed = f"a whole number from {at_least} to {below - 1}"
        word = self.take(what, allowed) if word is None else word
        if WHOLE_NUMBER.fullmatch(word) and len(word) <= len(str(COUNT_END)) and at_least <= int(word) < below:
            return int(word)
        raise self.fault(what, word, allowed)

    def number(self, what: str, allowed: str, *, word: str | None = None) -> float:
        """Converts a word, by default the next one, to a finite number >= 0."""
        word = self.take(what, allowed) if word is None else word
        if NUMBER.fullmatch(word) and 0 <= (number := float(word)) < math.inf:
            return number
        raise self.fault(what, word, allowed)

    def decimal(self, what: str, allowed: str) -> Decimal:
        """Converts the next word to a finite number >= 0 with all its digits."""
        word = self.take(what, allowed)
        self.number(what, allowed, word=word)
        try:
            return Decimal(word)
        except InvalidOperation:  # its exponent has too many digits
            raise self.fault(what, word, allowed) from None

    def fault(self, what: str, word: str, allowed: str) -> FlowFileError:
        """Makes the error for a word that is not allowed."""
        return FlowFileError(f"{self.where}, {what}: {shorten(word)!r}: it must be {allowed}")

    @property
    def left(self) -> bool:
        """Whether words are left."""
        return self._next < len(self._words)

    def end(self, allowed: str) -> None:
        """Refuses words that are left."""
        if self.left:
            raise self.fault(f"word {self._next + 1}", self._words[self._next], allowed)


@contextmanager
def opened(path: Path) -> Iterator[BufferedIOBase]:
    """Opens a file to read its bytes, those that gzip compressed if it did.

    Raises:
        FlowFileError: The compressed file is cut or damaged.
    """
    with path.open("rb") as plain, gzip.GzipFile(fileobj=plain) as unzipped:
        zipped = plain.peek(len(GZIP)).startswith(GZIP)
        try:
            yield unzipped if zipped else plain
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FlowFileError(f"{path}: this gzip file is cut or damaged: {error}") from None


def text_lines(path: Path, needed: str) -> Iterator[str]:
    """Yields the lines of a text file, which may be gzipped and begin with a byte order mark.

    Raises:
        FlowFileError: It is not UTF-8; the message names the line and what is ``needed``.
    """
    with opened(path) as file:
        for number, line in enumerate(file, start=1):
            at = f"{path}, line {number}"
            if b"\0" in line:
                raise FlowFileError(f"{at} has NUL characters, as UTF-16 text has: it must be {needed}, in UTF-8")
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise FlowFileError(f"{at}: not UTF-8 text ({error.reason}): it must be {needed}") from None


def time_of(text: str, where: str, told: Told, *, milliseconds: bool = False) -> Decimal:
    """Reads a date with its time of day, or a Unix time in s, or in ms if it says so or is that large."""
    time = _number_of(text)
    if time is not None:
        if milliseconds or SECONDS_END <= time < MILLISECONDS_PER_SECOND * SECONDS_END:
            told.guess(f"times {'of 12 to 14 digits ' * (time >= SECONDS_END)}are milliseconds since 1970")
            time /= MILLISECONDS_PER_SECOND
    else:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            time = Decimal(-1)
        else:
            since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH
            time = Decimal(since // timedelta(microseconds=1)) / 10**6
    if 0 <= time < SECONDS_END:
        return time
    raise FlowFileError(
        f"{where} is {shown(text)}: it must be a date and time, or seconds (below 1e11) or milliseconds (below 1e14) "
        "since 1970"
    )


def size_of(text: str, where: str, multiple: int = 1) -> Decimal:
    """Reads a number of bytes, in multiples of so many."""
    number = _number_of(text)
    if number is not None and number * multiple < BYTES_END:
        return number * multiple
    raise FlowFileError(f"{where} is {shown(text)}: it must be a number of bytes >= 0, below 2**64")


def _number_of(text: str) -> Decimal | None:
    """Reads a number from 0 to where any is too large, whose exponent decimals can have."""
    fits = NUMBER.fullmatch(text) and len(text) <= SHOWN_CHARACTERS and 0 <= float(text) < BYTES_END
    return Decimal(text) if fits else None


def host_of(text: str, where: str) -> str:
    """Reads the address of a host."""
    if ".." in text:
        raise FlowFileError(
            f"{where} is {shown(text)}: this address is condensed, so that several hosts share it: it must be a whole "
            "one, as nfdump -6 prints"
        )
    if not text or text == "-":
        raise FlowFileError(f"{where} is {shown(text)}: it must be the address of a host")
    return text
