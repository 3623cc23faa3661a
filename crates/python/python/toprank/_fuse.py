"""`toprank.fuse`: one ranking out of several."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _toprank
from ._judge import run_rows


def fuse(runs: Iterable[Any], method: str = "rrf", *, depth: int | None = None) -> dict[str, dict[str, float]]:
    """Fuse runs into one.

    Parameters
    ----------
    runs : sequence
        At least two runs: ``{query: {document: score}}`` or files (TREC, JSON, CSV, Parquet).
    method : str
        ``rrf``, ``combsum``, ``combmnz``, ``borda`` and so on, with parameters as in ``combsum:norm=zscore``.
    depth : int, optional
        Keep only that many documents of each query, and what ties with the last of them.

    Returns
    -------
    dict
        ``{query: {document: score}}``, documents best first.

    Examples
    --------
    >>> import toprank
    >>> a = {"q": {"x": 3.0, "y": 1.0}}
    >>> b = {"q": {"y": 9.0, "z": 2.0}}
    >>> list(toprank.fuse([a, b], "rrf:k=60")["q"])
    ['y', 'x', 'z']
    """
    if isinstance(runs, (str, dict)):
        raise TypeError("runs: found one run, expected a list of two or more")
    rows = [run_rows(run, "runs") for run in runs]
    if len(rows) < 2:
        raise ValueError(f"runs: found {len(rows)}, expected at least 2")
    if depth is not None and depth < 1:
        raise ValueError(f"depth: found {depth}, expected 1 or more")
    return {query: dict(documents) for query, documents in _toprank.fuse(rows, method, depth)}
