"""`toprank.evaluate`: how good is one ranking?"""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _toprank
from ._arrays import labels_of, regrouped, reordered, scores_of, weights_of
from ._catalog import as_text, metric_names
from ._html import interval_html, table_html


@dataclass(frozen=True)
class Value:
    """One metric on all lists."""

    metric: str
    mean: float
    """Mean over the lists that have a value; NaN if none has."""
    interval: tuple[float, float] | None
    """Confidence interval of the mean; None if none was asked for or there is too little to draw from."""
    per_list: np.ndarray
    """One value per list; NaN where the metric is undefined and the policy leaves the list out."""
    used: int
    undefined: int
    higher_is_better: bool
    method: str | None = None
    """How the interval was found: "BCa bootstrap over lists, 1000 resamples", "DeLong" …"""

    def __float__(self) -> float:
        return self.mean


class Evaluation(Mapping[str, float]):
    """Means by metric; `values` has intervals and values per list, `to_frame()` a pandas table."""

    def __init__(self, report: dict[str, Any], names: np.ndarray | None = None) -> None:
        self.policy: str = report["policy"]
        self.like: str | None = report["like"]
        self.lists: int = report["lists"]
        self.items_judged: int = report["items"]
        self.list_names = names
        self.results: dict[str, Value] = {}
        for line in report["results"]:
            mean = float("nan") if line["mean"] is None else line["mean"]
            self.results[line["metric"]] = Value(
                line["metric"],
                mean,
                line["interval"],
                line["per_list"],
                line["used"],
                line["undefined"],
                line["higher_is_better"],
                line["method"],
            )

    def __getitem__(self, metric: str) -> float:
        return self.results[metric].mean

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def mean(self) -> dict[str, float]:
        """The mean of each metric."""
        return {name: value.mean for name, value in self.results.items()}

    @property
    def interval(self) -> dict[str, tuple[float, float] | None]:
        """The confidence interval of each mean; `results[metric].method` says how it was found."""
        return {name: value.interval for name, value in self.results.items()}

    @property
    def per_list(self) -> dict[str, np.ndarray]:
        """One value per list for each metric."""
        return {name: value.per_list for name, value in self.results.items()}

    def to_frame(self, per_list: bool = False) -> Any:
        """A pandas table: one line per metric, or per list."""
        import pandas

        if per_list:
            return pandas.DataFrame(self.per_list, index=pandas.Index(self._names(), name="list"))
        lines = [
            (v.metric, v.mean, *(v.interval or (np.nan, np.nan)), v.used, v.undefined) for v in self.results.values()
        ]
        head = ["metric", "mean", "low", "high", "used", "undefined"]
        return pandas.DataFrame(lines, columns=head).set_index("metric")

    def _names(self) -> Any:
        return range(self.lists) if self.list_names is None else self.list_names

    def _repr_html_(self) -> str:
        lines = []
        for value in self.results.values():
            ends = interval_html(value.mean, value.interval, [v.interval for v in self.results.values()])
            lines.append([html.escape(value.metric), f"{value.mean:.4f}", ends, str(value.used)])
        head = ["metric", "mean", "interval", "lists"]
        like = f"like {self.like}: " if self.like else ""
        return table_html(head, lines, "policy", f"{like}{self.policy}")

    def __repr__(self) -> str:
        width = max(map(len, self.results), default=0)
        lines = []
        for value in self.results.values():
            ends = "" if value.interval is None else "  [{:.4f}, {:.4f}]".format(*value.interval)
            lines.append(f"{value.metric:{width}}  {value.mean:.4f}{ends}  {value.used} list{'' if value.used == 1 else 's'}")
        like = f"like {self.like}: " if self.like else ""
        methods: dict[str, list[str]] = {}
        for value in self.results.values():
            if value.method is not None:
                methods.setdefault(value.method, []).append(value.metric)
        alone = len(methods) == 1
        found = [f"intervals{'' if alone else ' of ' + ', '.join(names)}: {method}" for method, names in methods.items()]
        return "\n".join([*lines, *found, f"policy: {like}{self.policy}"])


def metrics_text(metrics: str | Iterable[str]) -> str:
    return metric_names(metrics)


def rules_of(policy: str | Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Rules from a dictionary or from the text that results print: `ties=worst empty=zero`."""
    if policy is None:
        return []
    if isinstance(policy, str):
        pairs = [word.partition("=") for word in policy.split()]
        return [(key, value) for key, _, value in pairs]
    return [(key, as_text(value)) for key, value in policy.items()]


def evaluate(
    labels: Any,
    scores: Any,
    *,
    group: Any = None,
    qid: Any = None,
    metrics: str | Iterable[str] = ("ndcg@10", "map", "mrr"),
    like: str | None = None,
    policy: str | Mapping[str, Any] | None = None,
    item_weight: Any = None,
    list_weight: Any = None,
    unjudged: bool = False,
    complete: bool = False,
    depth: int | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 1,
) -> Evaluation:
    """Evaluates scores: means, confidence intervals and values per list.

    labels, scores: one number per item, higher is better; or judgements and a run: {query: {document: number}} or a file.
    group: sizes of the lists; qid: the name of each item's list, in any order (lists then count in order of first appearance);
    neither: all items are one list (binary data).
    metrics: names as the command takes them: "ndcg@10", "pauc:fpr=0.1", "ndcg@10:gain=linear:ties=worst"; those of trec_eval
    ("P_5"), ir_measures ("nDCG@10") and scikit-learn ("roc_auc") are understood, results have our names.
    like: another tool's conventions; one of `toprank.presets()`.
    policy: rules for all metrics, {"ties": "worst", "empty": "zero"}; they are stronger than `like`.
    unjudged: True takes the label NaN as "not judged" instead of refusing it.
    complete: judged queries that a run does not answer are empty rankings (trec_eval -c) instead of being excluded.
    depth: evaluate only that many documents of each query of a run (trec_eval -M).
    replicates: resamples of the interval; 0: no interval. Several lists are resampled; of one list its rows are, relevant and
    other ones separately, and AUROC has DeLong's interval. With fewer than 50 relevant rows intervals are too short.

    >>> toprank.evaluate([1, 0, 0, 2], [0.9, 0.8, 0.3, 0.7], group=[2, 2], metrics="mrr")["mrr"]
    1.0
    """
    if _is_judged(labels) or _is_judged(scores):
        if any(given is not None for given in (group, qid, item_weight, list_weight)):
            raise ValueError("judgements and runs name their lists and have no weights: expected no group, qid, weights")
        rows = run_rows(labels, "labels"), run_rows(scores, "scores")
        rest = complete, depth, replicates, level, seed
        report = _toprank.evaluate_run(*rows, metrics_text(metrics), like, rules_of(policy), *rest)
        return Evaluation(report, np.array(report["names"], dtype=object))
    labels = labels_of(labels, unjudged)
    offsets, names, order = regrouped(labels.size, group, qid)
    report = _toprank.evaluate(
        reordered(labels, order),
        reordered(scores_of(scores, labels.size), order),
        offsets,
        metrics_text(metrics),
        like,
        rules_of(policy),
        reordered(weights_of(item_weight, labels.size, "item_weight"), order),
        weights_of(list_weight, offsets.size - 1, "list_weight"),
        replicates,
        level,
        seed,
    )
    return Evaluation(report, names)


def _is_judged(values: Any) -> bool:
    return isinstance(values, (str, os.PathLike, Mapping))


def run_rows(judged: Any, name: str) -> str | list[tuple[str, str, float]]:
    """A file, or (query, document, number) row by row."""
    if isinstance(judged, (str, os.PathLike)):
        return os.fspath(judged)
    if not isinstance(judged, Mapping) or not all(isinstance(docs, Mapping) for docs in judged.values()):
        raise TypeError(f"{name}: found {type(judged).__name__}, expected {{query: {{document: number}}}} or a file")
    return [(str(query), str(doc), float(value)) for query, docs in judged.items() for doc, value in docs.items()]
