"""Writes the reference of the package as Markdown, from its docstrings: python -m toprank._reference FILE."""

from __future__ import annotations

import inspect
import pathlib
import re
import sys
from typing import Any

import toprank

#: Sections of numpydoc, underlined in docstrings.
SECTIONS = ("Parameters", "Returns", "Raises", "Examples")


def text_of(docstring: str | None, level: int) -> str:
    """A docstring as Markdown: sections become headings, parameters a list, examples a block of code."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    parts, section, code = [], "", False
    for place, line in enumerate(lines):
        below = lines[place + 1] if place + 1 < len(lines) else ""
        if line in SECTIONS and set(below) == {"-"}:
            section = line
            parts += ["", f"{'#' * level} {line}", ""]
            continue
        if set(line) == {"-"} and lines[place - 1] == section:
            continue
        shown = line.startswith(">>>")
        if shown and not code:
            parts += ["", "```python"]
            code = True
        elif code and not line.strip():
            parts += ["```", ""]
            code = False
        if not code and section in ("Parameters", "Returns", "Raises") and line.strip():
            entry = not line.startswith(" ")
            name, _, kind = line.partition(" : ")
            line = f"- **{name.strip()}**{f': {kind}' if kind else ''}" if entry and section == "Parameters" else line
            line = f"  {line.strip()}" if line.startswith(" ") else line
        parts.append(line.replace("``", "`") if not code else line)
    return "\n".join([*parts, *(["```"] if code else [])])


def signature_of(value: Any) -> str:
    try:
        return str(inspect.signature(value)).replace("'", "")
    except (TypeError, ValueError):
        return "(…)"


def entry_of(name: str, value: Any) -> str:
    if not inspect.isclass(value):
        return f"## `toprank.{name}`\n\n```python\n{name}{signature_of(value)}\n```\n\n{text_of(value.__doc__, 3)}\n"
    text = f"## `toprank.{name}`\n\n{text_of(value.__doc__, 3)}\n"
    for member in sorted(dir(value)):
        found = inspect.getattr_static(value, member)
        ours = any(member in vars(base) for base in value.__mro__ if base.__module__.startswith("toprank"))
        if member.startswith("_") or not ours:
            continue
        if isinstance(found, property):
            text += f"\n### `.{member}`\n\n{text_of(found.__doc__, 4)}\n"
        elif inspect.isfunction(found) or isinstance(found, classmethod):
            bound = getattr(value, member)
            text += f"\n### `.{member}`\n\n```python\n{member}{signature_of(bound)}\n```\n\n{text_of(bound.__doc__, 4)}\n"
    return text


def reference() -> str:
    """The whole page."""
    names = [name for name in toprank.__all__ if name != "__version__"]
    head = f"# The Python package\n\n```text\n{inspect.cleandoc(toprank.__doc__ or '')}\n```\n"
    page = "\n".join([head, *(entry_of(name, getattr(toprank, name)) for name in names)])
    return re.sub(r"\n{3,}", "\n\n", page)


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path("python.md")
    place.write_text(reference(), encoding="utf-8")
    print(place)
