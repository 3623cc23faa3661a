"""`toprank.read` and `toprank.split`: data files as arrays, and parts of data sets."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _toprank
from ._arrays import labels_of, regrouped, reordered, vector
from ._command import words_of


@dataclass
class Data:
    """A data set as it was read. Arrays are those of the reader: nothing was copied."""

    X: Any
    """Features, one row per item: an array of 32-bit floats, NaN is missing; of sparse files a `scipy.sparse.csr_matrix` (or, without
    scipy, the tuple (width, offsets, indices, values))."""
    y: np.ndarray
    """Label of each entry; NaN is not judged."""
    offsets: np.ndarray
    """List q holds the entries ``offsets[q]:offsets[q + 1]``."""
    columns: list[str]
    """Names of the features."""
    levels: dict[int, list[str]]
    """Strings of categorical features, by the number of their column."""
    list_names: list[str] | None
    item_names: list[str] | None
    """Name of each row."""
    output_names: list[str] | None
    """Names of the labels of multi-label data: list q holds the rows judged for label q."""
    rows: np.ndarray | None = field(repr=False)
    """The row of each entry, where lists share rows."""
    item_weights: np.ndarray | None = field(repr=False)
    list_weights: np.ndarray | None = field(repr=False)
    times: np.ndarray | None = field(repr=False)
    """Time of each entry (interactions)."""
    positions: np.ndarray | None = field(repr=False)
    """Position at which each row was shown."""
    extra: dict[str, list[str]] = field(repr=False)
    """Columns that were kept as text."""
    file_rows: np.ndarray | None = field(repr=False)
    """Row of the file, from 0, where rows were brought together."""

    @property
    def group(self) -> np.ndarray:
        """Sizes of the lists."""
        return np.diff(self.offsets.astype(np.int64))

    @property
    def qid(self) -> np.ndarray:
        """The list of each entry: its name, or its number from 0 where lists have no names."""
        names = np.arange(len(self.offsets) - 1) if self.list_names is None else np.array(self.list_names, dtype=object)
        return np.repeat(names, self.group)

    def to_frame(self) -> Any:
        """Return a pandas table: the list, the label and the features of every entry, categories as strings."""
        import pandas

        X = self.X.toarray() if hasattr(self.X, "toarray") else self.X
        if isinstance(X, tuple):
            raise TypeError("sparse features become a table with scipy alone, which is not installed")
        table = pandas.DataFrame(X if self.rows is None else X[self.rows], columns=self.columns)
        for place, strings in self.levels.items():
            codes = table.iloc[:, place].fillna(-1).astype(int)
            table[self.columns[place]] = pandas.Categorical.from_codes(codes, strings)
        if self.item_names is not None:
            names = np.array(self.item_names, dtype=object)
            table.insert(0, "item", names if self.rows is None else names[self.rows])
        if self.times is not None:
            table.insert(len(table.columns), "time", self.times)
        table.insert(0, "label", self.y)
        if len(self.offsets) != 2 or self.list_names is not None:
            table.insert(0, "list", self.qid)
        return table

    def to_arrow(self) -> Any:
        """Return the features as an Arrow table. Their memory is copied, since Arrow keeps columns and the reader rows."""
        import pyarrow

        X = self.X.toarray() if hasattr(self.X, "toarray") else self.X
        return pyarrow.table({name: pyarrow.array(X[:, place]) for place, name in enumerate(self.columns)})


def read(files: Any, **reading: Any) -> Data:
    """Read data files in any format of the command.

    Parameters
    ----------
    files : path or list of paths
        Files or patterns (``"part-*.txt"``), which are read one after the other; ``.gz`` and ``.zst`` are unpacked.
    **reading
        How they are read: the flags of "Reading data" with underscores: ``input_format="letor"``, ``list="query"``, ``label="grade"``,
        ``features=["price", "brand*"]``, ``categorical=["brand"]``, ``regroup=True`` and so on. ``keep=["title"]`` keeps columns as
        text, ``unlabelled=True`` takes no column for the label.

    Returns
    -------
    Data
        Features, labels, lists and names; `toprank.formats()` lists the formats.

    Examples
    --------
    >>> import pathlib, tempfile, toprank
    >>> file = pathlib.Path(tempfile.mkdtemp(), "data.txt")
    >>> _ = file.write_text("1 qid:a 1:0.5 2:3\\n0 qid:a 1:0.25\\n")
    >>> data = toprank.read(file)
    >>> data.X.shape, data.y.tolist(), data.group.tolist()
    ((2, 2), [1.0, 0.0], [2])
    """
    names: list[Any] = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    found = _toprank.read([*map(os.fspath, names), *words_of(reading)])
    features = found.pop("features")
    if isinstance(features, tuple):
        width, offsets, indices, values = features
        try:
            from scipy.sparse import csr_matrix
        except ImportError:
            pass
        else:
            features = csr_matrix((values, indices.astype(np.int32, copy=False), offsets.astype(np.int64)), (len(offsets) - 1, width))
    return Data(X=features, y=found.pop("labels"), **found)


def split(
    y: Any,
    method: str = "lists",
    *,
    group: Any = None,
    qid: Any = None,
    times: Any = None,
    seed: int = 1,
) -> dict[str, np.ndarray]:
    """Divide rows into train, validation and test, or into folds, as ``toprank split`` does; lists stay whole.

    Parameters
    ----------
    y : array
        The labels. Of a single list the rows are divided.
    method : str
        Fractions such as ``"80/10/10"``, or a split with parameters: ``"k-fold:k=5"``, ``"stratified"``, ``"leave-last"``,
        ``"random:fractions=80/20"``; ``toprank split --help`` lists them.
    group, qid : array, optional
        Sizes of the lists, or a name per row.
    times : array, optional
        The time of each row, for ``leave-last``.
    seed : int
        Seed of the random draws.

    Returns
    -------
    dict
        For each part (``train``, ``vali``, ``test``; ``fold1.train``, ``fold1.test`` …) the numbers of its rows.

    Examples
    --------
    >>> import toprank
    >>> parts = toprank.split([1, 0, 2, 0, 1, 0], "60/40", group=[2, 2, 2])
    >>> {name: len(rows) for name, rows in parts.items()}
    {'train': 4, 'test': 2}
    """
    labels = labels_of(y, unjudged=True)
    offsets, _, order = regrouped(labels.size, group, qid)
    labels = reordered(labels, order)
    if times is not None:
        times = vector(times, "times", np.float64)
        if times.size != labels.size:
            raise ValueError(f"times: found {times.size} numbers, expected {labels.size}")
        times = reordered(times, order)
    parts = _toprank.split(labels, offsets, times, method, seed)
    back = (lambda rows: rows) if order is None else (lambda rows: np.sort(order[rows]))
    return {name: back(rows.astype(np.intp)) for name, rows in parts}
