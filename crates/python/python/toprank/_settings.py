"""Keyword arguments from the library's table of settings: names, checks and documentation are written once, over there."""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import numbers
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ._catalog import catalog, name_of


class Kind(NamedTuple):
    """A type of values: what is accepted, what it becomes, how it is annotated."""

    accepted: type
    become: Callable[[Any], Any]
    annotation: str


#: By the library's words for them.
KINDS = {
    "true or false": Kind(bool, bool, "bool"),
    "an integer of 0 or above": Kind(numbers.Integral, int, "int"),
    "a number": Kind(numbers.Real, float, "float"),
    "text": Kind(str, str, "str"),
}


@dataclass(frozen=True)
class Setting:
    """One setting of a trainer."""

    name: str
    """As a keyword argument."""
    key: str
    """In config files, and behind `--` on the command line."""
    aliases: tuple[str, ...]
    value: str
    range: str
    default: str
    help: str

    @property
    def kind(self) -> Kind:
        return KINDS[self.value]

    @property
    def fixed_default(self) -> Any:
        """The default as a value; None if it depends on other settings or on the data, or there is none."""
        if not self.default or self.default.startswith("by "):
            return None
        return self.default == "true" if self.kind.become is bool else self.kind.become(self.default)

    def checked(self, value: Any) -> Any:
        """The value as JSON has it; numbers of numpy are numbers."""
        accepted, become, _ = self.kind
        value = name_of(value)
        if isinstance(value, np.bool_):
            value = bool(value)
        if not isinstance(value, accepted) or isinstance(value, bool) != (accepted is bool):
            raise TypeError(f"{self.name}: found {value!r} ({type(value).__name__}), expected {self.value}")
        return become(value)

    def documented(self) -> str:
        """A line of a docstring."""
        # The library's help texts name flags and commands.
        def named(text: str) -> str:
            return re.sub(r"--([a-z][a-z-]*)", lambda flag: f"`{flag[1].replace('-', '_')}`", text)

        help = re.sub(r"`toprank (metrics|objectives|models)`", r"`toprank.\1()`", named(self.help)).rstrip(".")
        facts = [named(self.range), f"default: {named(self.default)}" if self.default else ""]
        facts = "; ".join(fact for fact in facts if fact)
        return f"{self.name}: {help}." + (f" ({facts[0].upper()}{facts[1:]}.)" if facts else "")


@functools.cache
def settings_of(trainer: str) -> dict[str, Setting]:
    """The settings of a trainer by keyword; files are arguments of methods instead."""
    found = {}
    for line in catalog()["settings"][trainer]:
        if not line["is_path"]:
            # `score` is a method of every estimator.
            name = "scores" if line["key"] == "score" else line["key"].replace("-", "_")
            facts = {fact: line[fact] for fact in ("key", "value", "range", "default", "help")}
            found[name] = Setting(name, aliases=tuple(line["aliases"]), **facts)
    return found


def with_settings(docstring: str | None, settings: Mapping[str, Setting]) -> str:
    """A docstring whose line SETTINGS is replaced by the documentation of all settings."""
    wrapper = textwrap.TextWrapper(120, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False)
    lines = "\n".join(wrapper.fill(setting.documented()) for setting in settings.values())
    return inspect.cleandoc(docstring or "").replace("SETTINGS", lines, 1)


def constructor(parameters: list[inspect.Parameter], settings: Mapping[str, Setting]) -> Callable[..., None]:
    """An `__init__` that keeps its arguments as attributes of the same name, as scikit-learn wants it."""
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([me, *parameters], return_annotation="None")
    aliases = {alias.replace("-", "_"): name for name, setting in settings.items() for alias in setting.aliases}

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in signature.parameters:
                near = difflib.get_close_matches(name, signature.parameters, n=1)
                meant = aliases.get(name) or (near[0] if near else None)
                hint = f"; did you mean {meant!r}?" if meant else ""
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {name!r}{hint}")
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}(): {error}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def parameter(name: str, annotation: str, default: Any = None, positional: bool = False) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if positional else inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def as_json(estimator: Any, settings: Mapping[str, Setting], **instead: Any) -> str:
    """The settings of an estimator as the library reads them; None is omitted and selects the default."""
    values = {name: instead.get(name, getattr(estimator, name)) for name in settings}
    return json.dumps({settings[n].key: settings[n].checked(value) for n, value in values.items() if value is not None})


def adopt(estimator: Any, settings: Mapping[str, Setting], config: Mapping[str, Any]) -> None:
    """Sets the parameters of an estimator to what a model was trained with."""
    for name, setting in settings.items():
        value = config.get(setting.key)
        if value not in (None, ""):
            setattr(estimator, name, value)
