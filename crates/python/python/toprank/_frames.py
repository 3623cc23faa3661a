"""Tables of features: numpy, pandas, polars, Arrow, scipy; names and categories kept, NaN = missing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Features(NamedTuple):
    """Features as the library takes them."""

    values: np.ndarray
    """Rows of f32, contiguous."""
    names: list[str]
    """Names of the columns; without names they are called by their number from 1, as in LETOR files."""
    levels: dict[int, list[str]]
    """Strings of the categorical columns, in sorted order: string i has code i."""
    named: bool


def column_names(table: Any) -> list[Any] | None:
    """Names of the columns of a frame; None for an array."""
    names = getattr(table, "column_names", None)  # Arrow
    if names is None and hasattr(table, "dtypes"):  # pandas, polars
        names = getattr(table, "columns", None)
    return None if names is None else list(names)


def column(table: Any, name: Any) -> Any:
    return table.column(name) if hasattr(table, "column_names") else table[name]


def without(table: Any, name: Any) -> Any:
    """The frame without a column."""
    if hasattr(table, "column_names"):
        return table.drop_columns([name])
    return table.drop(columns=[name]) if hasattr(table, "iloc") else table.drop(name)


def features_of(table: Any) -> Features:
    names = column_names(table)
    if names is None:
        return _array(table)
    values = np.empty((len(table), len(names)), dtype=np.float32)
    levels: dict[int, list[str]] = {}
    for place, name in enumerate(names):
        numbers, strings = _column(column(table, name), name)
        values[:, place] = numbers
        if strings is not None:
            levels[place] = strings
    return _finite(Features(values, [str(name) for name in names], levels, True))


def _array(table: Any) -> Features:
    if hasattr(table, "toarray"):  # scipy
        table = table.toarray()
    array = np.asarray(table)
    if array.ndim != 2:
        raise ValueError(
            f"X: found the shape {array.shape}, expected rows and columns. Reshape your data: X.reshape(-1, 1) if it has "
            "a single feature, X.reshape(1, -1) if it is a single row"
        )
    if array.dtype.kind == "c":
        raise ValueError("X: Complex data not supported, expected real numbers")
    try:
        values = np.ascontiguousarray(array, dtype=np.float32)
    except (TypeError, ValueError) as error:
        found = f"X: found values of type {array.dtype}, expected numbers; strings are accepted in a data frame ({error})"
        raise type(error)(found) from None
    return _finite(Features(values, [str(place + 1) for place in range(array.shape[1])], {}, False))


def _finite(features: Features) -> Features:
    values = features.values
    # The extremes of what is not NaN: found without memory of their own.
    if values.size and not (np.isfinite(np.fmin.reduce(values, axis=None)) and np.isfinite(np.fmax.reduce(values, axis=None))):
        if not np.isinf(values).any():  # nothing but NaN
            return features
        row, place = np.argwhere(np.isinf(features.values))[0]
        raise ValueError(
            f"X: row {row} has inf (or a number too large for 32 bits) in column {features.names[place]}, "
            "expected finite numbers; NaN is missing"
        )
    return features


def _column(series: Any, name: Any) -> tuple[np.ndarray, list[str] | None]:
    """A column as numbers, and the strings they stand for if it has strings."""
    array = None
    if hasattr(series, "na_value") or hasattr(series, "cat") and str(getattr(series, "dtype", "")) == "category":
        array = np.asarray(series, dtype=object)
    else:
        array = np.asarray(series)
    if array.dtype.kind in "biuf":
        return array.astype(np.float32), None
    if array.dtype.kind not in "OUTS" and array.dtype.kind != "V":
        raise TypeError(f"X: column {name} has values of type {array.dtype}, expected numbers or strings")
    codes: dict[str, int] = {}
    strings: bool | None = None
    numbers = np.empty(len(array), dtype=np.float32)
    for row, value in enumerate(array.tolist()):
        if value is None or value != value or type(value).__name__ == "NAType":
            numbers[row] = np.nan
            continue
        strings = isinstance(value, str) if strings is None else strings
        if strings != isinstance(value, str):
            found = "strings" if strings else "numbers"
            raise TypeError(f"X: column {name} has {found} and, in row {row}, {value!r}; expected either strings or numbers")
        numbers[row] = codes.setdefault(value, len(codes)) if strings else float(value)
    if not codes:
        return numbers, None
    # Codes follow the sorted strings, like those of a file (the order of code points is that of UTF-8 bytes), so that they
    # do not depend on the order of the rows. A categorical column's own order and its unused categories do not count.
    levels = sorted(codes)
    places = np.empty(len(levels), dtype=np.float32)
    places[[codes[level] for level in levels]] = np.arange(len(levels), dtype=np.float32)
    known = ~np.isnan(numbers)
    numbers[known] = places[numbers[known].astype(np.intp)]
    return numbers, levels
