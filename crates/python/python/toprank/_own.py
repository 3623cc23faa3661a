"""`toprank.metric`, `toprank.objective` and `toprank.check_objective`: your own parts, wherever a name of the catalog can stand."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _toprank


class _Own:
    """A function that the library knows by its name."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function = function
        self.name = name
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lstrip('_').lower()} {self.name}>"


class _Metric(_Own):
    pass


class _Objective(_Own):
    pass


def _name_of(function: Callable[..., Any], name: str | None) -> str:
    word = re.sub(r"[^a-z0-9]+", "-", (name or getattr(function, "__name__", "function")).lower()).strip("-")
    return word if word.startswith("own-") else f"own-{word or 'function'}"


def metric(
    function: Callable[[np.ndarray], float | None] | None = None,
    *,
    name: str | None = None,
    higher_is_better: bool = True,
    depth: int | None = None,
) -> Any:
    """Make a metric out of a function of the labels of one list in rank order, the best-scored item first.

    It can stand wherever a metric's name can: in `evaluate`, `compare` and as `valid_metric` of an estimator, where early stopping looks
    at it. Items of equal score are in the order of the input. A model file keeps the name alone.

    Parameters
    ----------
    function : function
        It gets an array of labels (NaN: not judged) and returns a number, or None where the metric is undefined.
    name : str, optional
        The name, which begins with ``own-``; by default the function's.
    higher_is_better : bool
        Whether a greater value is better.
    depth : int, optional
        The number of places that it looks at; the order below them may be any.

    Returns
    -------
    metric
        It can be called like the function; `name` is what settings take.

    Examples
    --------
    >>> import toprank
    >>> @toprank.metric
    ... def top_two(labels):
    ...     return float(labels[:2].sum())
    >>> toprank.evaluate([0, 1, 2], [0.1, 0.2, 0.3], metrics=[top_two], replicates=0)["own-top-two"]
    3.0
    """
    if function is None:
        return lambda function: metric(function, name=name, higher_is_better=higher_is_better, depth=depth)

    def call(labels: np.ndarray) -> float | None:
        value = function(labels)
        return None if value is None else float(value)

    own = _Metric(function, _name_of(function, name))
    _toprank.register_metric(own.name, call, depth, higher_is_better)
    return own


def objective(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    torch: bool = False,
    exact_hessian: bool = False,
    shift_invariant: bool = True,
) -> Any:
    """Make an objective out of a function of the scores and labels of one list.

    It can stand wherever an objective's name can: in `Objective`, `gradient`, `Ranker`, `toprank.torch.loss` and the adapters of LightGBM
    and XGBoost. A model file keeps the name alone. `check_objective` tries it.

    Parameters
    ----------
    function : function
        It gets scores (float64), labels (float32) and, if it takes three arguments, weights (float64), and returns the loss, its
        gradient by the scores, and perhaps a third array: the Hessian diagonal or an upper bound of it, not below 0. Without one
        trees use 1. None: the list has no gradient.
    name : str, optional
        The name, which begins with ``own-``; by default the function's.
    torch : bool
        The function gets tensors and returns the loss alone; PyTorch differentiates it.
    exact_hessian : bool
        Whether the third array is the second derivative itself.
    shift_invariant : bool
        Whether adding a constant to all scores changes nothing.

    Returns
    -------
    objective
        It can be called like the function; `name` is what settings take.

    Examples
    --------
    >>> import numpy, toprank
    >>> @toprank.objective(shift_invariant=False)
    ... def squares(scores, labels):
    ...     error = scores - labels
    ...     return 0.5 * (error @ error), error, numpy.ones_like(error)
    >>> toprank.gradient(squares, [1.0, 1.0], [2.0, 1.0], group=[2]).gradient.tolist()
    [-1.0, 0.0]
    """
    if function is None:
        return lambda function: objective(
            function, name=name, torch=torch, exact_hessian=exact_hessian, shift_invariant=shift_invariant
        )
    weighted = _arguments(function) >= 3
    call = _differentiated(function, weighted) if torch else _answered(function, weighted)
    own = _Objective(function, _name_of(function, name))
    _toprank.register_objective(own.name, call, exact_hessian and not torch, shift_invariant)
    return own


def check_objective(objective: Any, *, seed: int = 1, verbose: bool = True) -> bool:
    """Try an objective on drawn lists: its gradient against finite differences of its loss, and what else objectives must keep.

    Parameters
    ----------
    objective : objective, function or str
        One made by `toprank.objective`, a function for it, or the name of any objective.
    seed : int
        Seed of the drawn lists.
    verbose : bool
        Print a line for each promise.

    Returns
    -------
    bool
        Whether all promises were kept.

    Examples
    --------
    >>> import toprank
    >>> toprank.check_objective("listnet", verbose=False)
    True
    """
    if callable(objective) and not isinstance(objective, _Own):
        objective = globals()["objective"](objective)
    found = _toprank.check_objective(str(objective), seed)
    if verbose:
        for promise, fault in found:
            print(f"{'kept  ' if fault is None else 'BROKEN'}  {promise}" + ("" if fault is None else f"\n        {fault}"))
    return all(fault is None for _, fault in found)


def _arguments(function: Callable[..., Any]) -> int:
    try:
        params = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(param.kind in plain for param in params)


def _answered(function: Callable[..., Any], weighted: bool) -> Callable[..., Any]:
    def call(scores: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Any:
        answer = function(scores, labels, weights) if weighted else function(scores, labels)
        if answer is None:
            return None
        if not isinstance(answer, tuple) or len(answer) not in (2, 3):
            raise TypeError(f"the objective returned {answer!r}, expected (loss, gradient) or (loss, gradient, hessian)")
        loss, *arrays = answer
        gradient, hessian = (*(np.ascontiguousarray(values, dtype=np.float64) for values in arrays), None)[:2]
        return float(loss), gradient, hessian

    return call


def _differentiated(function: Callable[..., Any], weighted: bool) -> Callable[..., Any]:
    import torch

    def call(scores: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Any:
        with torch.enable_grad():
            x = torch.from_numpy(scores).requires_grad_(True)
            y = torch.from_numpy(labels)
            loss = function(x, y, torch.from_numpy(weights)) if weighted else function(x, y)
            if loss is None:
                return None
            (gradient,) = torch.autograd.grad(loss, x)
        return float(loss), np.ascontiguousarray(gradient.numpy(), dtype=np.float64), None

    return call
