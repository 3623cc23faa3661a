"""The tables of the library: what has a name, its parameters, its page."""

from __future__ import annotations

import difflib
import functools
import html
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from . import _toprank
from ._html import table_html


@functools.cache
def catalog() -> dict[str, Any]:
    return json.loads(_toprank.catalog())


@dataclass(frozen=True)
class Parameter:
    """A parameter of a metric, an objective or a model."""

    name: str
    default: str
    range: str
    about: str


@dataclass(frozen=True)
class Entry:
    """One line of a table; `page` is its documentation: formula, source, ties, lists without gradient, cost."""

    name: str
    family: str
    about: str
    params: tuple[Parameter, ...]
    examples: tuple[str, ...]
    aliases: tuple[str, ...]
    page: str

    def __repr__(self) -> str:
        return f"<{self.name}: {self.about}>"

    def _repr_html_(self) -> str:
        lines = [[html.escape(text) for text in (p.name, p.default, p.range, p.about)] for p in self.params]
        return f"<b>{html.escape(self.name)}</b>: {html.escape(self.about)}" + table_html(
            ["parameter", "default", "range", "about"], lines, "page", self.page
        )


class Listing(dict):
    """Entries by name; printed as the table that the command shows."""

    def __missing__(self, name: Any) -> Entry:
        near = difflib.get_close_matches(str(name), self, n=1)
        raise KeyError(f"{name}; did you mean {near[0]}?" if near else f"{name}; there are {', '.join(self)}")

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        return "\n".join(f"{name:{width}}  {entry.about}" for name, entry in self.items())

    def _repr_html_(self) -> str:
        lines = [[html.escape(text) for text in (name, entry.family, entry.about)] for name, entry in self.items()]
        return table_html(["name", "family", "about"], lines)


@functools.cache
def table(kind: str) -> Listing:
    entries = Listing()
    for line in catalog()[kind]:
        params = tuple(Parameter(**param) for param in line["params"])
        known = {**line, "params": params, "examples": tuple(line["examples"]), "aliases": tuple(line["aliases"])}
        entries[line["name"]] = Entry(**known)
    return entries


def metrics() -> Listing:
    """The metrics by name: `metrics()["ndcg"].page` is what `toprank metrics ndcg` prints."""
    return Listing(table("metrics"))


def objectives() -> Listing:
    """The objectives by name: `objectives()["song"].params` are its parameters."""
    return Listing(table("objectives"))


def models() -> Listing:
    """The models of `Ranker` and `Classifier` by name."""
    return Listing(table("models"))


def formats() -> dict[str, str]:
    """The formats of data files that `read` and the command understand, and what they hold."""
    return {line["name"]: line["about"] for line in catalog()["formats"]}


def presets() -> dict[str, str]:
    """What `like=` may be, and what it stands for."""
    return {line["name"]: line["about"] for line in catalog()["presets"]}


def name_of(value: Any) -> Any:
    """The name of a metric or an objective of the user's own; anything else as it is."""
    name = getattr(value, "name", None)
    return name if isinstance(name, str) and name.startswith("own-") and callable(value) else value


def metric_names(metrics: Any) -> str:
    """The names of metrics in one text, as the command takes them."""
    if isinstance(metrics, str):
        return metrics
    names = list(metrics) if isinstance(metrics, Iterable) else [metrics]
    names = [name_of(name) for name in names]
    if not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"metrics: found {metrics!r}, expected names such as \"ndcg@10\" (`toprank.metrics()` lists them), "
            "separated by commas or in a list; toprank.metric makes one of a function"
        )
    return ",".join(names)


def as_text(value: Any) -> str:
    """A parameter's value in the grammar of the command."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return "-".join(map(as_text, value))
    return repr(value) if isinstance(value, float) else str(value)


def spec(name: str, params: dict[str, Any]) -> str:
    """`spec("song", {"gamma": 0.3})` is "song:gamma=0.3". Names that Python cannot write end in `_` or have `_` for `-`."""
    parts = [name_of(name)]
    for key, value in params.items():
        parts.append(f"{key.rstrip('_').replace('_', '-')}={as_text(value)}")
    return ":".join(parts)
