"""Fill and line of each state."""

from __future__ import annotations

PLAIN = ("#f4f4f6", "#8a8a94")

COLOURS = {
    "created": PLAIN,
    "ready": ("#fff6d6", "#b79a2f"),
    "held": ("#fff6d6", "#b79a2f"),
    "retry": ("#ffe8cc", "#c67a1e"),
    "dispatched": ("#dcecfb", "#3f7fbf"),
    "active": ("#cfe5fb", "#1f6fb8"),
    "completed": ("#d9f2dc", "#3c8f4a"),
    "skipped": ("#ececec", "#a0a0a0"),
    "failed": ("#fbd9d9", "#b83232"),
    "cancelled": ("#f3e0f0", "#94558a"),
    "expired": ("#fbd9d9", "#b83232"),
}
