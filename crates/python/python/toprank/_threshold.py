"""`toprank.threshold`: choose a decision threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from . import _toprank
from ._arrays import labels_of, scores_of, weights_of


class Rate(NamedTuple):
    """A rate with its confidence interval (Wilson's)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class OperatingPoint:
    """What a threshold does: an alert is a row whose score is at least `threshold`."""

    threshold: float
    """The least score of an alert; inf: no alert is raised."""
    true_positives: float
    false_positives: float
    false_negatives: float
    true_negatives: float
    alerts: float
    """Rows that are alerted, or the sum of their weights."""
    items: float
    recall: Rate | None
    precision: Rate | None
    lift: Rate | None
    """Precision by the fraction of relevant rows."""
    false_positive_rate: float | None
    cost: float | None
    """What the errors cost, if costs were given."""
    next: tuple[float, float, float] | None
    """The next lower threshold, its alerts, and the relevant ones among them."""

    def predict(self, scores: Any) -> np.ndarray:
        """Return True for every score that raises an alert."""
        return np.asarray(scores) >= self.threshold


def threshold(
    labels: Any,
    scores: Any,
    *,
    recall: float | None = None,
    precision: float | None = None,
    alerts: float | str | None = None,
    cost: tuple[float, float] | None = None,
    at: float | None = None,
    sample_weight: Any = None,
    relevant: str | None = None,
    level: float = 0.95,
) -> OperatingPoint:
    """Choose a decision threshold for a recall, a precision, a number of alerts or a cost, or evaluate one.

    Rows of equal score cannot be separated by a threshold: they are alerted together or not at all. A threshold that was chosen on the
    same rows looks a little too good on them: choose it on out-of-fold or validation scores, and evaluate it with `at` on others.

    Parameters
    ----------
    labels, scores : array
        One number per row, all of one list; a higher score is more likely relevant.
    recall : float, optional
        Find at least this fraction of the relevant rows, with as few alerts as possible.
    precision : float, optional
        Keep at least this precision, with as many alerts as possible.
    alerts : float or str, optional
        Raise at most this many alerts: a number, or a fraction of the rows such as ``"0.5%"``.
    cost : (float, float), optional
        The costs of a false alert and of a missed row, whose sum is minimised.
    at : float, optional
        Evaluate this threshold.
    sample_weight : array, optional
        One weight per row.
    relevant : str, optional
        Smallest relevant label, such as ``"2"``, or ``">0.5"``; by default labels above 0 are relevant.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    OperatingPoint
        The threshold with its confusion table and its rates.

    Raises
    ------
    ValueError
        If no threshold meets the wish.

    Examples
    --------
    >>> import toprank
    >>> point = toprank.threshold([1, 1, 0, 0], [0.9, 0.8, 0.8, 0.1], recall=1.0)
    >>> point.threshold, point.alerts
    (0.8, 3.0)
    """
    wishes = {"recall": recall, "precision": precision, "alerts": alerts, "cost": cost, "at": at}
    given = [name for name, value in wishes.items() if value is not None]
    if len(given) != 1:
        raise ValueError(f"found {' and '.join(given) or 'no wish'}, expected one of recall, precision, alerts, cost, at")
    for name in ("recall", "precision"):
        value = wishes[name]
        if value is not None and not 0 < value <= 1:
            raise ValueError(f"{name}: found {value}, expected a fraction in (0, 1]")
    if not 0 < level < 1:
        raise ValueError(f"level: found {level}, expected a number in (0, 1)")
    if cost is not None and not (len(cost) == 2 and all(0 <= part < np.inf for part in cost)):
        raise ValueError(f"cost: found {cost!r}, expected two numbers from 0 on: of a false alert and of a missed row")
    count, fraction = _alerts(alerts)
    labels = labels_of(labels, unjudged=True)
    scores = scores_of(scores, labels.size)
    weights = weights_of(sample_weight, labels.size, "sample_weight")
    wanted = {"recall": recall, "precision": precision, "alerts": count, "alert_fraction": fraction, "cost": cost, "at": at}
    wanted = {name: value if value is None or name == "cost" else float(value) for name, value in wanted.items()}
    found = _toprank.threshold(labels, scores, weights, relevant, wanted, level)
    if found is None:
        raise ValueError(f"no threshold meets {given[0]}={wishes[given[0]]!r}; expected less, or more relevant rows (see relevant)")
    for name in ("recall", "precision", "lift"):
        found[name] = None if found[name] is None else Rate(*found[name])
    return OperatingPoint(**found)


def _alerts(alerts: float | str | None) -> tuple[float | None, float | None]:
    """A number of alerts, or a fraction of the rows."""
    if alerts is None:
        return None, None
    try:
        if isinstance(alerts, str) and alerts.endswith("%"):
            fraction = float(alerts[:-1]) / 100
            if 0 <= fraction <= 1:
                return None, fraction
        elif float(alerts) >= 0:
            return float(alerts), None
    except (TypeError, ValueError):
        pass
    raise ValueError(f'alerts: found {alerts!r}, expected a number such as 100 or a fraction such as "0.5%"')
