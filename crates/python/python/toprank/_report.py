"""`report`: results as one page to forward."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ._command import command


def report(
    path: Any,
    runs: dict[str, Any],
    y: Any = None,
    *,
    qid: Any = None,
    metrics: str = "ndcg@10",
    data: Any = None,
    qrels: Any = None,
    title: str | None = None,
    **flags: Any,
) -> None:
    """Write results as one HTML page: verdict, warnings, intervals, every list, rankings side by side.

    The page needs no network, and the same input gives the same bytes. The first run is the baseline.

    Parameters
    ----------
    path : path
        The HTML file to write.
    runs : dict
        Name of each run and its scores: an array beside `y`; a file of scores, a model file, ``feature:N`` or ``column:C`` beside `data`;
        a file of a run beside `qrels`.
    y : array, optional
        Labels, one per item.
    qid : array, optional
        Query or other list of each item, in any order; without it all items are one list.
    metrics : str
        Metrics, separated by commas.
    data, qrels : path, optional
        A data file or a file of judgements, instead of `y`.
    title : str, optional
        Heading of the page.
    **flags
        Further flags of ``toprank report`` with underscores, such as ``by="market"`` or ``correction="bh"``.

    Examples
    --------
    >>> import os, tempfile, toprank
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> toprank.report(path, {"old": [1, 2, 3, 1], "new": [3, 2, 1, 4]}, [1, 0, 0, 1], qid=[1, 1, 2, 2])
    >>> open(path).read(15)
    '<!doctype html>'
    """
    if (y is not None) + (data is not None) + (qrels is not None) != 1:
        raise ValueError("expected one of y, data and qrels to take the labels from")
    flags = {"metrics": metrics, "output": path, "title": title, **flags}
    if y is None:
        words = [f"{name}={os.fspath(run)}" for name, run in runs.items()]
        command("report", *words, data=data, qrels=qrels, **flags)
        return
    import numpy as np

    labels = np.asarray(y).reshape(-1)
    lists = np.zeros(len(labels), dtype=np.int8) if qid is None else np.asarray(qid).reshape(-1)
    with tempfile.TemporaryDirectory() as folder:
        if len(lists) != len(labels):
            raise ValueError(f"qid has {len(lists)} items, but y has {len(labels)}")
        table = Path(folder, "labels.csv")
        rows = (f"{_cell(name)},{label!r}" for name, label in zip(lists.tolist(), labels.tolist()))
        table.write_text("\n".join(["list,label", *rows, ""]), encoding="utf-8")
        words = []
        for number, (name, scores) in enumerate(runs.items()):
            values = np.asarray(scores, dtype=np.float64).reshape(-1)
            if len(values) != len(labels):
                raise ValueError(f"the run {name} has {len(values)} scores, but y has {len(labels)} labels")
            file = Path(folder, f"{number}.txt")
            file.write_text("".join(f"{value!r}\n" for value in values.tolist()), encoding="utf-8")
            words.append(f"{name}={file}")
        flags["title"] = title or ", ".join(runs)
        listed = {"list": "list", "regroup": True} if qid is not None else {"ignore": "list"}
        command("report", *words, data=table, label="label", **listed, **flags)


def _cell(name: Any) -> str:
    """A cell of CSV."""
    text = str(name)
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text
