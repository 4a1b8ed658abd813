"""Reads connections of Zeek's ``conn.log``: tab-separated values with their ``#fields``, or JSON, also in an array."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from flowsched_gym.core.errors import FlowFileError, shown
from flowsched_gym.workload.imports.records import Record, Told, host_of, size_of, text_lines, time_of

COLUMNS: Final = ("ts", "id.orig_h", "id.resp_h", "orig_bytes", "resp_bytes")
SEPARATOR: Final = re.compile(r"(\\x[0-9a-fA-F]{2})+")
NEEDED: Final = "Zeek's conn.log"


def read_zeek(path: Path, told: Told) -> Iterator[Record]:
    """Yields the flows of a file: what the originator sent, and what the responder did."""
    separator, unset, fields = "\t", "-", list[str]()
    lines = enumerate(text_lines(path, NEEDED), start=1)
    for line, text in lines:
        at, place = f"{path}, line {line}", f"line {line}"
        if text.startswith("#separator"):
            given = text.removeprefix("#separator ")
            if not SEPARATOR.fullmatch(given):
                raise FlowFileError(f"{at}: the separator is {shown(given)}: it must be written such as \\x09")
            separator = bytes.fromhex(given.replace("\\x", "")).decode("latin-1")
        elif text.startswith("#"):
            name, *values = text.split(separator)
            if name == "#unset_field":
                if len(values) != 1:
                    raise FlowFileError(f"{at} is {shown(text)}: it must have one value, such as -")
                unset = values[0]
            elif name == "#fields":
                fields = values
                for column in COLUMNS:
                    if fields.count(column) != 1:
                        found = f"it has {fields.count(column)} columns {column}"
                        raise FlowFileError(
                            f"{at}: {found}: it must be {NEEDED}, with one each of {', '.join(COLUMNS)}"
                        )
        elif text.lstrip().startswith(("{", "[")):
            yield from _read_json(path, line, "\n".join([text, *(more for _, more in lines)]), told)
        elif text.strip():
            if not fields:
                raise FlowFileError(f"{at}: no line #fields stands before it: it must be {NEEDED}")
            cells = text.split(separator)
            if len(cells) != len(fields):
                raise FlowFileError(f"{at}: it has {len(cells)} values: #fields names {len(fields)}")
            record = {name: None if cell == unset else cell for name, cell in zip(fields, cells, strict=True)}
            yield from _flows(record, at, place, told)


def _read_json(path: Path, line: int, text: str, told: Told) -> Iterator[Record]:
    """Yields the flows of JSON that begins in this line: objects, or arrays of them, one after the other."""
    decoder = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
    position = 0
    while begin := re.compile(r"\S").search(text, position):
        line += text.count("\n", position, begin.start())
        at = f"{path}, line {line}"
        try:
            value, end = decoder.raw_decode(text, begin.start())
        except RecursionError:
            raise FlowFileError(f"{at}: this JSON is nested too deeply: it must be {NEEDED}") from None
        except json.JSONDecodeError as error:
            raise FlowFileError(f"{at}: this is not JSON: {error.msg}: it must be {NEEDED}") from None
        for number, entry in enumerate(value if isinstance(value, list) else [value], start=1):
            nth = f", record {number}" * isinstance(value, list)
            if not isinstance(entry, dict):
                raise FlowFileError(f"{at}{nth} is {shown(entry)}: it must be a record of {NEEDED}")
            yield from _flows(entry, at + nth, f"line {line}{nth}", told)
        line, position = line + text.count("\n", begin.start(), end), end


def _flows(record: Mapping[str, Any], at: str, place: str, told: Told) -> Iterator[Record]:
    values = [None if record.get(name) is None else str(record[name]) for name in COLUMNS]
    for name, value in zip(COLUMNS[:3], values, strict=False):
        if value is None:
            raise FlowFileError(f"{at}: no {name}: a record of {NEEDED} must have {', '.join(COLUMNS[:3])}")
    time, *hosts = map(str, values[:3])
    when = time_of(time, f"{at}, column ts", told)
    first, second = (host_of(each, f"{at}, column {name}") for each, name in zip(hosts, COLUMNS[1:3], strict=True))
    for name, ends, value in (("orig_bytes", (first, second), values[3]), ("resp_bytes", (second, first), values[4])):
        yield Record(when, *ends, size_of(value or "0", f"{at}, column {name}"), place)
