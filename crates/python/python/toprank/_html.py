"""Small tables for notebooks: results with bars for their intervals, the policy folded away."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence


def table_html(head: Sequence[str], lines: Iterable[Sequence[str]], folded: str = "", text: str = "") -> str:
    """A table of cells that are HTML already; `text` is unfolded by a click on `folded`."""
    cells = "".join(f"<th>{html.escape(word)}</th>" for word in head)
    rows = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in lines)
    more = f"<details><summary>{html.escape(folded)}</summary>{html.escape(text)}</details>" if text else ""
    return f"<div><table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>{more}</div>"


def interval_html(
    mean: float, interval: tuple[float, float] | None, all_of_them: Iterable[tuple[float, float] | None]
) -> str:
    """An interval as numbers and as a bar on the scale of all of them."""
    if interval is None or not all(map(math.isfinite, (*interval, mean))):
        return ""
    known = [ends for ends in all_of_them if ends is not None and all(map(math.isfinite, ends))]
    low, high = min(ends[0] for ends in known), max(ends[1] for ends in known)
    scale = 100 / (high - low) if high > low else 0.0
    start, width, at = (interval[0] - low) * scale, (interval[1] - interval[0]) * scale, (mean - low) * scale
    bar = (
        '<svg width="104" height="10" role="img">'
        f'<rect x="{2 + start:.1f}" y="4" width="{max(width, 0.5):.1f}" height="2" fill="currentColor"/>'
        f'<circle cx="{2 + at:.1f}" cy="5" r="3" fill="currentColor"/></svg>'
    )
    return f"[{interval[0]:.4f}, {interval[1]:.4f}] {bar}"
