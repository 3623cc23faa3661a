"""`toprank.reconcile` and `toprank.parity`: other tools' numbers and scores beside ours."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from . import _toprank
from ._arrays import labels_of, regrouped, reordered, scores_of
from ._html import table_html
from ._judge import _is_judged, run_rows


@dataclass(frozen=True)
class Reconciliation:
    """The conventions under which a metric is the number that another tool printed."""

    metric: str
    own: float | None
    """The metric under our defaults."""
    presets: dict[str, float]
    """Presets that give the number (``like=`` of `evaluate`), with the metric under them; ``xgboost:empty=zero`` is a preset with a rule
    that the tool lets its users choose."""
    conventions: list[tuple[dict[str, str], float]]
    """Rules that differ from our defaults, fewest first, with the metric under them (``policy=`` of `evaluate`)."""
    undecided: list[str]
    """Rules that the metric reads, but which change nothing on these data."""
    tried: int
    """Combinations that were tried."""

    def __bool__(self) -> bool:
        return bool(self.presets or self.conventions)

    def _lines(self) -> list[tuple[str, float]]:
        rules = [(" ".join(f"{key}={value}" for key, value in rules.items()) or "our defaults", mean) for rules, mean in self.conventions]
        return [*((f"like {name}", mean) for name, mean in self.presets.items()), *rules]

    def __repr__(self) -> str:
        if not self:
            return f"{self.metric}: none found among {self.tried} conventions"
        shown = [f"{mean:.6f}  {words}" for words, mean in self._lines()[:20]]
        undecided = [f"undecided on these data: {', '.join(self.undecided)}"] if self.undecided else []
        return "\n".join([f"{self.metric}:", *shown, *undecided])

    def _repr_html_(self) -> str:
        lines = [[html.escape(words), f"{mean:.6f}"] for words, mean in self._lines()[:20]]
        return table_html([self.metric, "value"], lines, "undecided", ", ".join(self.undecided))


def reconcile(
    labels: Any,
    scores: Any,
    metric: str,
    value: float | str,
    *,
    group: Any = None,
    qid: Any = None,
    unjudged: bool = False,
) -> Reconciliation:
    """Find the conventions under which a metric is the number that another tool printed.

    Parameters
    ----------
    labels, scores
        As in `evaluate`: one number per item, or judgements and a run.
    metric : str
        The metric, without the rules to find.
    value : float or str
        The number; half a unit of its last digit is no difference, so a text such as "0.4530" says more than a float.
    group, qid : array, optional
        Sizes of the lists, or a name per item.
    unjudged : bool
        Take the label NaN as "not judged".

    Returns
    -------
    Reconciliation
        Presets and rules that give the number; it is false if none does.

    Examples
    --------
    >>> import toprank
    >>> found = toprank.reconcile([0, 2, 1], [0.9, 0.5, 0.1], "ndcg", "0.6697")
    >>> found.conventions[0][0], "trec_eval" in found.presets
    ({'gain': 'linear'}, True)
    """
    text = value if isinstance(value, str) else repr(float(value))
    if _is_judged(labels) or _is_judged(scores):
        if group is not None or qid is not None:
            raise ValueError("judgements and runs name their lists: expected no group and no qid")
        report = _toprank.reconcile_run(run_rows(labels, "labels"), run_rows(scores, "scores"), metric, text)
    else:
        labels = labels_of(labels, unjudged)
        offsets, _, order = regrouped(labels.size, group, qid)
        scores = reordered(scores_of(scores, labels.size), order)
        report = _toprank.reconcile(reordered(labels, order), scores, offsets, metric, text)
    report["presets"] = dict(report["presets"])
    report["conventions"] = [(dict(rules), mean) for rules, mean in report["conventions"]]
    return Reconciliation(**report)


class Parity(NamedTuple):
    """Served scores beside those of the model."""

    rows: int
    difference: float
    """Largest difference."""
    largest: float
    """Largest |score| of the model."""
    worst: int
    """The row that differs most, from 0."""
    beyond: int
    """Rows that differ by more than the tolerance times the largest score; 0: the scores agree."""


def parity(model: Any, X: Any, served: Any, *, group: Any = None, qid: Any = None, tolerance: float = 1e-6) -> Parity:
    """Replay logged features through a model and compare with the scores that were served.

    Parameters
    ----------
    model : Ranker or Classifier
        A fitted model.
    X : array or frame
        The features as the serving tool logged them.
    served : array
        Its scores, one per row.
    group, qid : array, optional
        The lists, for models that look at whole lists.
    tolerance : float
        Largest difference, relative to the largest score of the model.

    Returns
    -------
    Parity
        Where the scores differ most, and how many do.
    """
    if not (tolerance >= 0 and np.isfinite(tolerance)):
        raise ValueError(f"tolerance: found {tolerance}, expected a number of 0 or above")
    ours = np.ascontiguousarray(model._scores(X, group, qid), dtype=np.float64).reshape(-1)
    return Parity(*_toprank.replayed(ours, scores_of(served, ours.size), tolerance))
