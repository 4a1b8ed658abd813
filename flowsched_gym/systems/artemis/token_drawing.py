"""Draws the flows that hold a destination's tokens, and the link that they share."""

from typing import Final

from flowsched_gym.envs.rendering import (
    ACCENT,
    GREY,
    LINE,
    MUTED,
    TRACK,
    WHITE,
    Box,
    Canvas,
    duration_text,
    rate_text,
    size_text,
)
from flowsched_gym.systems.artemis.config import ArtemisConfig
from flowsched_gym.systems.artemis.frame_plan import COLOURS, LINK_HEIGHT, TOKENS, TOP, Plan, host_text, word_colour
from flowsched_gym.systems.artemis.snapshot import ActiveFlow, Outlook, Snapshot

__all__ = ["draw_link", "draw_tokens"]

TALL: Final = 60
"""Height from which a token's place has three lines."""
MEDIUM: Final = 31
"""Height from which it has two."""


def draw_tokens(canvas: Canvas, snapshot: Snapshot, plan: Plan, config: ArtemisConfig) -> None:
    """Draws the tokens and the flows that hold them."""
    left, right = TOKENS
    held = len(snapshot.active)
    canvas.text(left + 12, TOP + 18, f"Tokens of host {snapshot.host}", size=15, bold=True)
    canvas.text(right - 12, TOP + 18, f"{held} held, {snapshot.tokens_free} free", colour=MUTED, align="right")
    for place in range(plan.num_places):
        box = plan.place(place)
        if place >= held:
            canvas.text((box.left + box.right) // 2, box.middle, "free token", size=12, colour=GREY, align="center")
            continue
        canvas.rectangle(box, WHITE, outline=LINE)
        if box.height >= TALL:
            _draw_tall(canvas, snapshot.active[place], box)
        else:
            _draw_flat(canvas, snapshot.active[place], box)
    if plan.num_places < config.k:
        more = max(held - plan.num_places, 0)
        text = f"+ {config.k - plan.num_places} more tokens: {more} held, {config.k - plan.num_places - more} free"
        y = plan.place_top + plan.num_places * plan.place_height + plan.place_height // 2
        canvas.text(left + 16, y, text, size=12, colour=ACCENT)


def draw_link(canvas: Canvas, snapshot: Snapshot, plan: Plan, line_rate: float) -> None:
    """Draws how busy the link of the destination is, and with whose bytes."""
    left, right = TOKENS[0] + 12, TOKENS[1] - 12
    top = plan.foot - LINK_HEIGHT
    canvas.text(left, top + 18, f"Link into host {snapshot.host}", size=15, bold=True)
    canvas.text(right, top + 18, f"{100 * snapshot.link_share:.0f} % busy", size=15, bold=True, align="right")
    bar = Box(left, top + 36, right, top + 52)
    canvas.rectangle(bar, TRACK)
    x, senders = float(bar.left), 0
    for flow in snapshot.active:
        if flow.rate > 0.0:
            width = bar.width * flow.rate / line_rate
            gap = 1 if width > 3.0 else 0
            end = min(round(x + width) - gap, bar.right)
            box = Box(round(x), bar.top, end, bar.bottom)
            canvas.bar(box, 1.0, COLOURS[flow.outlook], hatched=flow.outlook is Outlook.LOST)
            x, senders = x + width, senders + 1
    text = f"{senders} {'flow sends' if senders == 1 else 'flows send'}"
    canvas.text(left, top + 72, text, size=12, colour=MUTED)
    text = f"{size_text(snapshot.bytes_left)} granted, not yet sent"
    canvas.text(right, top + 72, text, size=12, colour=MUTED, align="right")


def _stage(flow: ActiveFlow) -> str:
    """Says what a flow is doing, with its rate when it sends."""
    return rate_text(flow.rate) if flow.rate > 0.0 else flow.stage


def _draw_tall(canvas: Canvas, flow: ActiveFlow, box: Box) -> None:
    """Draws a flow on three lines."""
    third = box.height // 3
    first, second, last = box.top + third // 2 + 2, box.middle, box.bottom - third // 2 - 2
    half = box.height // 11
    inner = Box(box.left + 8, second - half, box.right - 8, second + half)
    canvas.text(inner.left, first, host_text(flow.source), bold=True)
    canvas.text(inner.right, first, _stage(flow), colour=MUTED, align="right")
    sent = f"{size_text(flow.share_sent * flow.size)} of {size_text(flow.size)}"
    bar = Box(inner.left, inner.top, inner.right - 128, inner.bottom)
    hatched = flow.outlook is Outlook.LOST
    canvas.bar(bar, flow.share_sent, COLOURS[flow.outlook], hatched=hatched)
    canvas.text(inner.right, second, sent, size=12, align="right")
    if flow.outlook is not Outlook.UNBOUND:
        canvas.bar(Box(inner.left, last - 3, bar.right, last + 3), flow.share_left, GREY)
    _draw_time(canvas, flow, inner.right, last)


def _draw_flat(canvas: Canvas, flow: ActiveFlow, box: Box) -> None:
    """Draws a flow on two lines, or on one where places are low."""
    two = box.height >= MEDIUM - 2
    y = box.top + box.height // 3 if two else box.middle
    size = 13 if two else 12
    left, right = box.left + 8, box.right - 8
    canvas.text(left, y, host_text(flow.source), size=size, bold=two)
    if two:
        canvas.text(left + 68, y, _stage(flow), size=12, colour=MUTED)
    hatched = flow.outlook is Outlook.LOST
    bar = Box(left, box.bottom - 9, right, box.bottom - 3) if two else Box(left + 68, y - 4, right - 96, y + 4)
    canvas.bar(bar, flow.share_sent, COLOURS[flow.outlook], hatched=hatched)
    _draw_time(canvas, flow, right, y, size=size)


def _draw_time(canvas: Canvas, flow: ActiveFlow, right: int, y: int, *, size: int = 13) -> None:
    """Writes the time that is left to a flow, and what that means."""
    if flow.outlook is Outlook.UNBOUND:
        canvas.text(right, y, "no deadline", size=size, colour=MUTED, align="right")
        return
    canvas.text(right - 32, y, duration_text(flow.time_left), size=size, align="right")
    canvas.text(right - 28, y, flow.outlook.value, size=size, colour=word_colour(flow.outlook), bold=True)
