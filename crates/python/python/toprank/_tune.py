"""`toprank.tune`: which settings are best on validation data?"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _toprank
from ._command import command
from ._estimators import SETTINGS, Ranker, _one_pair


@dataclass
class Tuning:
    """The result of a search."""

    best: dict[str, Any]
    """The best trial: its number, its value and its config."""
    trials: list[dict[str, Any]] = field(repr=False)
    """All trials, in the order they were done."""
    settings: dict[str, Any]
    """The settings that were drawn for the best trial: ``Ranker(**tuning.settings)``."""

    def to_frame(self) -> Any:
        """Return a pandas table of the trials with their settings."""
        import pandas

        lines = [{k: trial[k] for k in ("trial", "round", "value", "seconds")} | trial["config"] for trial in self.trials]
        return pandas.DataFrame(lines)


def tune(
    space: Any,
    X: Any = None,
    y: Any = None,
    *,
    group: Any = None,
    qid: Any = None,
    sample_weight: Any = None,
    eval_set: Any = None,
    eval_group: Any = None,
    eval_qid: Any = None,
    trials: int = 20,
    method: str = "random",
    folds: int = 5,
    seed: int = 1,
    callback: Callable[[dict[str, Any]], Any] | None = None,
    output: Any = None,
    **fixed: Any,
) -> Any:
    """Find good settings by random search or successive halving, on validation data or by folds.

    Parameters
    ----------
    space : mapping or path
        The settings to vary: a list of values, or a range ``(from, to)`` or ``(from, to, "log")``. Or a TOML file for ``toprank tune``;
        then nothing else but `output` is given.
    X, y, group, qid, sample_weight
        Training data, as in `Ranker.fit`.
    eval_set, eval_group, eval_qid
        Validation data; without them folds of the training data, cut by list.
    trials : int
        Number of trials.
    method : {"random", "halving"}
        Whether every trial gets all epochs, or all a part of them and the better half twice as many, and so on.
    folds : int
        Number of folds, where there are no validation data.
    seed : int
        Seed of the draws.
    callback : function, optional
        Called with every trial as soon as it is done.
    output : path, optional
        With a file as space: the folder for the results.
    **fixed
        Settings of `Ranker` that all trials share.

    Returns
    -------
    Tuning
        With the `settings` of the best trial; of a file the report of the command.

    Examples
    --------
    >>> found = toprank.tune({"learning_rate": (0.01, 0.3, "log"), "leaves": [15, 31]}, X, y, qid=q, model="trees")  # doctest: +SKIP
    >>> ranker = toprank.Ranker(**found.settings).fit(X, y, qid=q)  # doctest: +SKIP
    """
    if isinstance(space, (str, os.PathLike)):
        if X is not None or fixed:
            raise ValueError("a file names its data and settings itself: expected nothing beside it but output")
        return command("tune", config=space, output=output)
    if not isinstance(space, Mapping) or not space:
        raise TypeError(f"space: found {space!r}, expected {{setting: values or (from, to)}} or a TOML file")
    shared = Ranker(**fixed)
    table = shared._table(X, y, group, qid, sample_weight)[1]
    valid = None
    if eval_set is not None:
        V, v = _one_pair(eval_set)
        valid = shared._table(V, v, eval_group, eval_qid, None)[1]
    unknown = [name for name in space if name not in SETTINGS]
    if unknown:
        raise ValueError(f"space: {unknown[0]} is not a setting of Ranker")
    lines = [f"{_toml(SETTINGS[n].key)} = {_toml(SETTINGS[n].checked(v))}" for n, v in fixed.items() if v is not None and n in SETTINGS]
    plan = {"trials": trials, "method": method, "folds": folds, "seed": seed}
    lines += ["[tune]", *(f"{key} = {_toml(value)}" for key, value in plan.items()), "[space]"]
    lines += [f"{_toml(SETTINGS[name].key)} = {_range(name, values)}" for name, values in space.items()]

    def record(text: str) -> None:
        if callback is not None:
            callback(json.loads(text))

    all_of_them, best = map(json.loads, _toprank.tune("\n".join(lines), table, valid, record))
    drawn = {name: best["config"][SETTINGS[name].key] for name in space}
    return Tuning(best, all_of_them, {**fixed, **drawn})


def _range(name: str, values: Any) -> str:
    if isinstance(values, tuple) and len(values) in (2, 3) and all(isinstance(v, (int, float)) for v in values[:2]):
        scale = values[2] if len(values) == 3 else "linear"
        return f"{{ from = {float(values[0])!r}, to = {float(values[1])!r}, scale = {_toml(scale)} }}"
    return "[" + ", ".join(_toml(SETTINGS[name].checked(value)) for value in values) + "]"


def _toml(value: Any) -> str:
    """A value as TOML has it, which for these is as JSON has it."""
    return json.dumps(value)
