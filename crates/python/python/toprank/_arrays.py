"""Arguments as contiguous arrays of the kernels' types; what already is one is not copied."""

from __future__ import annotations

from typing import Any

import numpy as np


def vector(values: Any, name: str, dtype: Any) -> np.ndarray:
    """One number per item: a list, an array, a column of pandas, polars or Arrow."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name}: found values of type {array.dtype}, expected numbers") from None
    if array.ndim != 1:
        raise ValueError(f"{name}: found the shape {array.shape}, expected one number per item (one dimension)")
    return np.ascontiguousarray(array, dtype=dtype)


def labels_of(values: Any, unjudged: bool = False) -> np.ndarray:
    """Labels as the library stores them; NaN is an error unless `unjudged` is set."""
    labels = vector(values, "labels", np.float32)
    # The smallest is NaN if one is: found without memory of its own.
    if not unjudged and labels.size and np.isnan(labels.min()):
        raise ValueError(
            f"labels: item {np.flatnonzero(np.isnan(labels))[0]} has the label NaN, expected a number; "
            "unjudged=True treats such items as not judged"
        )
    return labels


def scores_of(values: Any, items: int) -> np.ndarray:
    scores = vector(values, "scores", np.float64)
    if scores.size != items:
        raise ValueError(f"{scores.size} scores were given for {items} items; expected one score per item")
    return scores


def weights_of(values: Any, count: int, name: str) -> np.ndarray | None:
    if values is None:
        return None
    weights = vector(values, name, np.float32)
    if weights.size != count:
        raise ValueError(f"{name}: found {weights.size} numbers, expected {count}")
    if weights.size and not (weights.min() >= 0 and weights.max() < np.inf):
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[0]
        raise ValueError(f"{name}: number {bad} is {weights[bad]}, expected finite weights ≥ 0")
    return weights


def lists_of(items: int, group: Any = None, qid: Any = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Where lists begin and end, and their names: from sizes (`group`) or a name per item (`qid`); neither: one list."""
    if group is not None and qid is not None:
        raise ValueError("group and qid were both given; expected the sizes of the lists or one name per item")
    if group is not None:
        sizes = np.asarray(group)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iuf" or not np.all(sizes == np.floor(sizes)):
            raise ValueError(f"group: found {sizes.dtype} of the shape {sizes.shape}, expected integers, the sizes of the lists")
        if np.any(sizes < 0):
            bad = np.flatnonzero(sizes < 0)[0]
            raise ValueError(f"group: list {bad} has the size {sizes[bad]}, expected sizes ≥ 0")
        if int(sizes.sum()) != items:
            raise ValueError(f"group: the sizes add up to {int(sizes.sum())}, but there are {items} items")
        offsets = np.zeros(sizes.size + 1, dtype=np.uint64)
        offsets[1:] = np.cumsum(sizes)
        return offsets, None
    if qid is None:
        return np.array([0, items], dtype=np.uint64), None
    names = np.asarray(qid)
    if names.ndim != 1 or names.size != items:
        raise ValueError(f"qid: found the shape {names.shape}, expected one name of a list for each of {items} items")
    if names.dtype.kind == "f" and np.any(np.isnan(names)):
        raise ValueError(f"qid: item {np.flatnonzero(np.isnan(names))[0]} is NaN, expected the name of its list")
    starts = np.flatnonzero(np.concatenate([[items > 0], names[1:] != names[:-1]]))
    offsets = np.append(starts, items).astype(np.uint64)
    found, first, count = np.unique(names[starts], return_index=True, return_counts=True)
    if np.any(count > 1):
        again = found[np.argmax(count > 1)]
        second = starts[np.flatnonzero(names[starts] == again)[1]]
        raise ValueError(
            f"qid {again} appears again at item {second} after it ended; expected all items of a list to be adjacent. "
            "Sort by qid first, for example by numpy.argsort(qid, kind='stable')"
        )
    return offsets, names[starts]


def regrouped(items: int, group: Any = None, qid: Any = None) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """The same for a `qid` whose lists need not be adjacent: with the order of items that brings them together, lists in order of first
    appearance; None: they are together already."""
    if qid is None or group is not None:
        return (*lists_of(items, group, qid), None)
    names = np.asarray(qid)
    if names.ndim != 1 or names.size != items or names.dtype.kind == "f" and np.any(np.isnan(names)):
        return (*lists_of(items, group, qid), None)  # which says what is wrong
    starts = np.flatnonzero(np.concatenate([[items > 0], names[1:] != names[:-1]]))
    _, first, code = np.unique(names[starts], return_index=True, return_inverse=True)
    if first.size == starts.size:
        return np.append(starts, items).astype(np.uint64), names[starts], None
    appearance = np.argsort(np.argsort(first))[code.reshape(-1)]
    order = np.argsort(np.repeat(appearance, np.diff(np.append(starts, items))), kind="stable")
    return (*lists_of(items, None, names[order]), order)


def reordered(values: Any, order: np.ndarray | None) -> Any:
    """The values in this order; None: as they are."""
    return values if values is None or order is None else np.ascontiguousarray(np.asarray(values)[order])
