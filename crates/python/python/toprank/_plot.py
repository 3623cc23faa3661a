"""Plots with matplotlib, for notebooks; the command draws SVG without it."""

from __future__ import annotations

from typing import Any

import numpy as np


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot
    except ImportError:
        raise ImportError(
            "plots in Python need matplotlib, which is not installed; without it `toprank.command` draws SVG, for example "
            'command("evaluate", data="test.csv", scores="scores.txt", plot="roc.svg")'
        ) from None
    return matplotlib.pyplot.subplots()[1]


def curve(estimator: Any, ax: Any = None) -> Any:
    """The learning curve of a fitted estimator: loss, and the metric of validation on an axis of its own."""
    estimator._fitted()
    if not hasattr(estimator, "history_"):
        raise AttributeError("the learning curve is kept by fit, not in a model file")
    ax = _axes(ax)
    epochs = [line["epoch"] for line in estimator.history_]
    ax.plot(epochs, [line["loss"] for line in estimator.history_], color="C0", label="loss")
    ax.set_xlabel("epoch")
    ax.set_ylabel("loss of training")
    metric = [line["metrics"][0] if line["metrics"] else None for line in estimator.history_]
    if any(value is not None for value in metric):
        other = ax.twinx()
        other.plot(epochs, [np.nan if value is None else value for value in metric], color="C1")
        other.set_ylabel(f"{estimator.config_['valid-metric']} of validation", color="C1")
    return ax


def importance(explanation: Any, ax: Any = None, top: int = 20) -> Any:
    """What the metric loses without each feature."""
    ax = _axes(ax)
    order = explanation.order[:top][::-1]
    ax.barh([explanation.features[f] for f in order], explanation.loss[order], xerr=explanation.deviation[order])
    ax.set_xlabel(f"loss of {explanation.metric} when shuffled")
    return ax
