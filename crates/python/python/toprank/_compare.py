"""`toprank.compare`: is the difference between runs more than chance?"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _toprank
from ._arrays import labels_of, scores_of, weights_of
from ._judge import Evaluation, evaluate, metrics_text, rules_of


class Comparison:
    """Runs compared on some metrics; `to_frame()` has a line per metric and pair of runs."""

    def __init__(self, evaluations: dict[str, Evaluation], comparisons: list[dict[str, Any]]) -> None:
        self.evaluations = evaluations
        """What each run scored alone."""
        self.metrics: dict[str, dict[str, Any]] = comparisons_by_metric(evaluations, comparisons)
        """For each metric: means of the runs, and for each pair difference, interval, effect sizes, tests."""

    def to_frame(self) -> Any:
        """A pandas table: difference (second − first), its interval, wins, ties, losses, corrected p values."""
        import pandas

        lines = []
        for metric, comparison in self.metrics.items():
            for pair in comparison["pairs"]:
                interval = pair["interval"] or {"low": np.nan, "high": np.nan}
                line = {"metric": metric, "first": pair["first"], "second": pair["second"]}
                line |= {"difference": pair["mean_difference"], "low": interval["low"], "high": interval["high"]}
                line |= {name: pair[name] for name in ("win", "tie", "loss")}
                line |= {f"p {test['test']}": test["p_corrected"] for test in pair["tests"]}
                lines.append(line)
        return pandas.DataFrame(lines)

    def __repr__(self) -> str:
        lines = []
        for metric, comparison in self.metrics.items():
            means = (f"{run['name']} {_mean(run['mean'])}" for run in comparison["runs"])
            lines.append(f"{metric}: {', '.join(means)}")
        return "\n".join(self.verdicts + lines)

    @property
    def verdicts(self) -> list[str]:
        """One line per metric and pair: who wins by how much, the interval, the corrected p value, wins/ties/losses."""
        return [pair["verdict"] for comparison in self.metrics.values() for pair in comparison["pairs"]]


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def comparisons_by_metric(
    evaluations: dict[str, Evaluation], comparisons: list[dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    first = next(iter(evaluations.values()))
    names = first._names()
    for comparison in comparisons:
        for pair in comparison["pairs"]:
            for difference in pair["biggest"]:
                name = names[difference["list"]]
                difference["list"] = name.item() if isinstance(name, np.generic) else name
    return dict(zip(first, comparisons))


def compare(
    runs: Mapping[str, Any],
    labels: Any,
    *,
    metrics: str | Iterable[str] = ("ndcg@10", "map"),
    tests: str | Iterable[str] | None = None,
    correction: str = "holm",
    tukey: str | None = None,
    biggest: int = 10,
    level: float = 0.95,
    replicates: int = 2000,
    seed: int = 1,
    **judging: Any,
) -> Comparison:
    """Compares runs on the same lists: means, differences with intervals, paired tests, corrected p values.

    runs: scores by the name of the run; labels: as for `evaluate`. With judgements as labels (dictionary or file) runs are
    dictionaries or files too, and a query that a run does not answer is an empty ranking.
    tests: of every pair, "t", "wilcoxon", "sign", "randomisation:n=10000", "bootstrap" (default: "t", "randomisation"). Of one
    list (binary data) rows are drawn: "delong" (AUROC), "bootstrap", "permutation:n=10000" (default: all three).
    correction: of p values over all pairs and metrics, "holm", "bh", "none"; intervals of differences have its level.
    The other arguments are those of `evaluate`: group, qid, like, policy, list_weight …

    >>> toprank.compare({"bm25": old, "mlp": new}, labels, qid=query, metrics="ndcg@10").to_frame()
    """
    if not isinstance(runs, Mapping):
        raise TypeError(f"runs: found {type(runs).__name__}, expected scores by the name of the run, {{name: scores}}")
    if len(runs) < 2:
        raise ValueError(f"runs: found {len(runs)}, expected two or more to compare")
    evaluations = {
        name: evaluate(labels, scores, metrics=metrics, replicates=0, complete=True, **judging)
        for name, scores in runs.items()
    }
    first = next(iter(evaluations.values()))
    tests = tests if tests is None or isinstance(tests, str) else ",".join(tests)
    rest = correction, tukey
    if first.lists == 1 and not isinstance(labels, (str, os.PathLike, Mapping)):
        labels = labels_of(labels, judging.get("unjudged", False))
        text = _toprank.compare_rows(
            list(map(str, runs)),
            labels,
            [scores_of(scores, labels.size) for scores in runs.values()],
            metrics_text(metrics),
            judging.get("like"),
            rules_of(judging.get("policy")),
            weights_of(judging.get("item_weight"), labels.size, "item_weight"),
            tests,
            *rest,
            level,
            replicates,
            seed,
        )
        return Comparison(evaluations, json.loads(text))
    values = [[evaluation.per_list[metric] for evaluation in evaluations.values()] for metric in first]
    weights = judging.get("list_weight")
    text = _toprank.compare(
        list(map(str, runs)),
        list(first),
        values,
        [value.higher_is_better for value in first.results.values()],
        None if weights is None else np.ascontiguousarray(weights, dtype=np.float32),
        tests or "t,randomisation",
        *rest,
        biggest,
        level,
        replicates,
        seed,
    )
    return Comparison(evaluations, json.loads(text))
