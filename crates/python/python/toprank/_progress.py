"""A line of progress while fitting, in terminals and notebooks."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Epoch:
    """What a callback is told after an epoch, or a boosting round."""

    part: str
    """The part of the work, such as "fold 2 of 5"; empty for the model itself."""
    epoch: int
    """Epochs done."""
    step: int
    """Steps done."""
    loss: float
    """Mean loss on the training data."""
    metric: float | None
    """The metric of validation, `None` where it was not measured."""
    learning_rate: float
    gradient_norm: float


def watcher(callbacks: Any) -> Callable[[str, str], bool] | None:
    """One function out of several callbacks, for the library: it gets the part and the record, and says whether that was enough."""
    if callbacks is None:
        return None
    if callable(callbacks):
        callbacks = [callbacks]
    if not isinstance(callbacks, Iterable) or not all(map(callable, callbacks := list(callbacks))):
        raise TypeError(f"callbacks: found {callbacks!r}, expected functions of one argument, a toprank.Epoch")

    def tell(part: str, record: str) -> bool:
        line = json.loads(record)
        metric = line["metrics"][0] if line["metrics"] else None
        epoch = Epoch(
            part, int(line["epoch"]), line["step"], line["loss"], metric, line["learning_rate"], line["gradient_norm"]
        )
        return any([bool(callback(epoch)) for callback in callbacks])

    return tell


class progress:
    """Rewrites one line of standard error, once a second has passed."""

    def __init__(self, verbose: bool | None) -> None:
        seen = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        self.wanted = seen if verbose is None else verbose
        self.after = time.monotonic() + (1.0 if verbose is None else 0.0)
        self.width = 0

    def show(self, step: int, steps: int | None, epoch: int | None, loss: float, metric: float | None) -> None:
        if time.monotonic() < self.after:
            return
        place = f"step {step}" if steps is None else f"step {step} of {steps}, epoch {epoch}"
        judged = "" if metric is None else f", validation {metric:.4f}"
        line = f"{place}, loss {loss:.4g}{judged}"
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    def __enter__(self) -> progress:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.width:
            sys.stderr.write("\n")
