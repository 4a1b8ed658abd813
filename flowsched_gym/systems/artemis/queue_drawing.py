"""Draws the requests that wait at a destination: those that the agent may choose, and those behind them."""

from typing import NamedTuple

from flowsched_gym.envs.rendering import (
    ACCENT,
    GREY,
    INK,
    LINE,
    LOGARITHMIC_FROM,
    MUTED,
    WHITE,
    Box,
    Canvas,
    Colour,
    duration_text,
    size_share,
    size_text,
)
from flowsched_gym.systems.artemis.config import ArtemisConfig, Defer
from flowsched_gym.systems.artemis.frame_plan import COLOURS, HIDDEN_HEIGHT, QUEUE, TOP, Plan, host_text, word_colour
from flowsched_gym.systems.artemis.snapshot import Outlook, Snapshot, WaitingFlow

__all__ = ["draw_queue"]


def draw_queue(canvas: Canvas, snapshot: Snapshot, plan: Plan, config: ArtemisConfig) -> None:
    """Draws the requests that wait, with the slots that the agent may choose."""
    left, right = QUEUE
    queue = f"{snapshot.num_waiting} waiting, oldest first" if snapshot.num_waiting else "nobody waits"
    canvas.text(left + 12, TOP + 18, f"Queue of host {snapshot.host}", size=15, bold=True)
    canvas.text(right - 12, TOP + 18, queue, colour=MUTED, align="right")
    to_back = config.defer is Defer.TO_BACK
    columns = _Columns.of(to_back)
    smallest, largest = snapshot.size_range
    logarithmic = largest > LOGARITHMIC_FROM * smallest
    y = TOP + 40
    canvas.text(left + 12, y, "grant" if to_back else "slot", size=11, colour=MUTED)
    if to_back:
        canvas.text(left + 46, y, "back", size=11, colour=MUTED)
    canvas.text(columns.host, y, "from", size=11, colour=MUTED)
    canvas.text(columns.size, y, "size (log)" if logarithmic else "size", size=11, colour=MUTED)
    canvas.text(columns.fuse, y, "time to deadline", size=11, colour=MUTED)
    for slot in range(plan.num_slots):
        top = plan.slot_top + slot * plan.slot_height
        row = Box(left, top, right, top + plan.slot_height)
        present = slot < len(snapshot.waiting)
        _draw_number(canvas, left + 12, row, slot, present)
        if to_back and present and snapshot.may_postpone is not None and snapshot.may_postpone[slot]:
            _draw_number(canvas, left + 44, row, config.f + slot, False)
        if present:
            _draw_request(canvas, snapshot.waiting[slot], row, columns, snapshot, visible=True)
    y = plan.slot_top + plan.num_slots * plan.slot_height + plan.slot_height // 2
    if plan.num_slots < config.f:
        waiting = max(min(snapshot.num_waiting, config.f) - plan.num_slots, 0)
        text = f"+ {config.f - plan.num_slots} more slots, {waiting} of them with a request"
        canvas.text(left + 12, y, text, size=12, colour=ACCENT)
        y += plan.slot_height
    if snapshot.may_wait is not None:
        row = Box(left, plan.hidden_top - 54, right, plan.hidden_top - 34)
        _draw_number(canvas, left + 12, row, config.f, snapshot.may_wait)
        colour = INK if snapshot.may_wait else GREY
        canvas.text(columns.host, row.middle, "wait for the next request or token", size=12, colour=colour)
    _draw_hidden(canvas, snapshot, plan, config, columns)


def _draw_hidden(canvas: Canvas, snapshot: Snapshot, plan: Plan, config: ArtemisConfig, columns: "_Columns") -> None:
    """Draws the requests behind those that the agent sees."""
    hidden = max(snapshot.num_waiting - config.f, 0)
    y = plan.hidden_top - 14
    if not hidden:
        canvas.text(QUEUE[0] + 12, y, "No request is hidden from the agent.", size=12, colour=GREY)
        return
    text = f"{hidden} more, hidden from the agent" + (":" if plan.num_hidden else "")
    canvas.text(QUEUE[0] + 12, y, text, size=12, colour=ACCENT)
    rows = plan.num_hidden if hidden <= plan.num_hidden else max(plan.num_hidden - 1, 0)
    shown = snapshot.waiting[config.f : config.f + rows]
    for place, request in enumerate(shown):
        top = plan.hidden_top + place * HIDDEN_HEIGHT
        row = Box(QUEUE[0], top, QUEUE[1], top + HIDDEN_HEIGHT)
        _draw_request(canvas, request, row, columns, snapshot, visible=False)
    if hidden > len(shown) and plan.num_hidden:
        y = plan.hidden_top + len(shown) * HIDDEN_HEIGHT + HIDDEN_HEIGHT // 2
        canvas.text(columns.host, y, f"+ {hidden - len(shown)} more", size=12, colour=MUTED)


class _Columns(NamedTuple):
    """Says where the columns of the queue begin."""

    host: int
    size: int
    size_end: int
    size_text: int
    fuse: int
    fuse_end: int
    time: int
    word: int

    @classmethod
    def of(cls, to_back: bool) -> "_Columns":
        """Makes room for a second number where requests may go to the back."""
        shift = 30 if to_back else 0
        return cls(62 + shift, 122 + shift, 190, 240, 252, 308, 364, 371)


def _draw_number(canvas: Canvas, x: int, row: Box, number: int, chosen: bool) -> None:
    """Draws the number of an action: filled where it can be chosen to the effect beside it."""
    half = min(row.height // 2 - 1, 10)
    box = Box(x, row.middle - half, x + 26, row.middle + half)
    canvas.rectangle(box, ACCENT if chosen else WHITE, outline=ACCENT if chosen else LINE)
    size = 13 if half >= 9 else 11
    canvas.text(x + 13, row.middle, str(number), size=size, colour=WHITE if chosen else GREY, align="center")


def _draw_request(
    canvas: Canvas, request: WaitingFlow, row: Box, columns: _Columns, snapshot: Snapshot, *, visible: bool
) -> None:
    """Draws one request."""
    size = 13 if visible and row.height >= 22 else 11
    ink = INK if visible else MUTED
    colour = COLOURS[request.outlook] if visible else _pale(COLOURS[request.outlook])
    hatched = request.outlook is Outlook.LOST
    half = min(max(row.height // 5, 4), 8)
    y = row.middle
    canvas.text(columns.host, y, host_text(request.source), size=size, colour=ink)
    share = size_share(request.size, snapshot.size_range)
    canvas.bar(Box(columns.size, y - half, columns.size_end, y + half), share, colour, hatched=hatched)
    canvas.text(columns.size_text, y, size_text(request.size), size=size, colour=ink, align="right")
    if request.outlook is Outlook.UNBOUND:
        canvas.text(columns.fuse, y, "no deadline", size=size, colour=MUTED)
        return
    canvas.bar(Box(columns.fuse, y - 3, columns.fuse_end, y + 3), request.share_left, colour)
    canvas.text(columns.time, y, duration_text(request.time_left), size=size, colour=ink, align="right")
    canvas.text(columns.word, y, request.outlook.value, size=size, colour=word_colour(request.outlook), bold=visible)


def _pale(colour: Colour) -> Colour:
    """Mixes a colour half with white."""
    red, green, blue = colour
    return (red + 255) // 2, (green + 255) // 2, (blue + 255) // 2
