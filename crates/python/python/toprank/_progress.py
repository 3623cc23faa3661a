"""A line of progress while fitting, in terminals and notebooks."""

from __future__ import annotations

import sys
import time
from typing import Any


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
