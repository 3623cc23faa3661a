"""Writes `__init__.pyi` from the package and its catalog: into every wheel (`crates/python/backend.py`), and beside the sources by
`python crates/python/run_tests.py --stubs`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import keyword
import pathlib
import sys
import textwrap
from typing import Any

import toprank

from ._catalog import Entry, table

HEAD = '''# Written by toprank._stubs from the catalog.
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, overload

import numpy as np

'''


def keyword_of(param: str) -> str | None:
    """A parameter's name as Python writes it; the cut-off is `k`."""
    name = "k" if param == "@" else param.replace("-", "_")
    if keyword.iskeyword(name) or name == "self":
        name += "_"
    return name if name.isidentifier() else None


def parameters(entry: Entry) -> str:
    """The keywords of an objective; a default that is a number is one."""
    words = []
    for param in entry.params:
        name = keyword_of(param.name)
        if name:
            words.append(f"{name}: float | str = ...")
    return "".join(f", {word}" for word in words)


def about(text: str | None, indent: str) -> str:
    lines = inspect.cleandoc(text or "").splitlines()
    if not lines:
        return f"{indent}...\n"
    mark = 'r"""' if "\\" in "".join(lines) else '"""'
    body = "\n".join(f"{indent}{line}".rstrip() for line in [mark + lines[0], *lines[1:]])
    return body + ('"""\n' if len(lines) == 1 else f'\n{indent}"""\n')


class Text(str):
    """An annotation that prints itself."""

    def __repr__(self) -> str:
        return str(self)


def function(name: str, of: Any, indent: str = "") -> str:
    signature = inspect.signature(of)
    # Annotations are texts: printed as they are, without the quotes.
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    for place, (plain, full) in enumerate(zip(bare, signature.parameters.values())):
        if full.annotation is not full.empty:
            bare[place] = plain.replace(annotation=Text(full.annotation))
    returns = signature.return_annotation
    returns = returns if returns is signature.empty else Text(returns)
    signature = signature.replace(parameters=bare, return_annotation=returns)
    return f"{indent}def {name}{signature}:\n" + about(of.__doc__, indent + "    ")


def objective_overloads() -> str:
    text = ""
    for entry in table("objectives").values():
        names = ", ".join(f'"{name}"' for name in (entry.name, *entry.aliases))
        head = f"self, name: Literal[{names}], *, seed: int = 1{parameters(entry)}"
        text += f"    @overload\n    def __init__({head}) -> None:\n" + about(entry.about, " " * 8)
    return text + "    @overload\n    def __init__(self, name: str, *, seed: int = 1, **params: Any) -> None: ...\n"


def attributes(of: type) -> dict[str, str]:
    """What methods of a class set on `self`, with its kind where it is said."""
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(of)))):
        targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets if isinstance(node, ast.Assign) else []
        kind = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else "Any"
        for target in [part for one in targets for part in (one.elts if isinstance(one, ast.Tuple) else [one])]:
            mine = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
            if mine and not target.attr.startswith("_") and found.get(target.attr, "Any") == "Any":
                found[target.attr] = kind
    return found


def parameter_kinds(of: type) -> dict[str, str]:
    """The attributes that a constructor made from settings sets, with their kinds."""
    signature = getattr(vars(of).get("__init__"), "__signature__", None)
    return {} if signature is None else {p.name: p.annotation for p in list(signature.parameters.values())[1:]}


def klass(name: str, of: type) -> str:
    if issubclass(of, tuple):
        text = f"class {name}(NamedTuple):\n" + about(of.__doc__, "    ")
        kinds = {field: getattr(kind, "__forward_arg__", kind) for field, kind in of.__annotations__.items()}
        return text + "".join(f"    {field}: {kinds[field]}\n" for field in of._fields)
    base = "(Mapping[str, float])" if issubclass(of, toprank.Evaluation) else ""
    text = f"class {name}{base}:\n" + about(of.__doc__.split("\n\nObjectives:")[0], "    ")
    if dataclasses.is_dataclass(of):
        return text + "".join(f"    {field}: {kind}\n" for field, kind in of.__annotations__.items())
    # The same stubs with and without scikit-learn: the substitutes of its classes are omitted.
    others = ("BaseEstimator", "ClassifierMixin")
    ours = [b for b in reversed(of.__mro__) if b.__module__.startswith("toprank") and b.__name__ not in others]
    members = {member: value for base in ours for member, value in vars(base).items()}
    known = {k: v for base in ours for k, v in (*parameter_kinds(base).items(), *attributes(base).items())}
    for attribute, kind in sorted(known.items()):
        if attribute not in members:
            text += f"    {attribute}: {kind}\n"
    if any(base.__name__ == "BaseEstimator" for base in of.__mro__):
        text += "    def get_params(self, deep: bool = True) -> dict[str, Any]: ...\n"
        text += "    def set_params(self, **params: Any) -> Any: ...\n"
    for member, value in sorted(members.items()):
        if member.startswith("_") and member != "__init__":
            continue
        if name == "Objective" and member == "__init__":
            text += objective_overloads()
        elif isinstance(value, property):
            text += "    @property\n" + function(member, value.fget, "    ")
        elif isinstance(value, classmethod):
            text += "    @classmethod\n" + function(member, value.__func__, "    ")
        elif inspect.isfunction(value):
            text += function(member, value, "    ")
    return text


def stubs() -> str:
    """The text of `__init__.pyi`."""
    parts = [HEAD]
    for name in sorted(toprank.__all__):
        value = getattr(toprank, name)
        if inspect.isclass(value):
            parts.append(klass(name, value))
        elif callable(value):
            parts.append(function(name, value))
        else:
            parts.append(f"{name}: {type(value).__name__}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    place = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).with_name("__init__.pyi")
    place.write_text(stubs(), encoding="utf-8")
    print(place)
