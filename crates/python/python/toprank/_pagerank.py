"""`toprank.PageRank`: where a walk on a graph is in the long run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _toprank
from ._arrays import vector


class PageRank:
    """PageRank with a certified error: classical, weighted, personalised.

    restart: probability of a restart at each step (others call 1 − restart the damping factor).
    dangling: where walks go from nodes without out-edges: "restart" (to the seeds) or "uniform" (to any node).
    error: largest error of the distribution in the 1-norm.

    >>> ranked = toprank.PageRank().fit(["a", "b", "c"], ["b", "c", "b"])
    >>> dict(zip(ranked.nodes_, ranked.scores_))
    """

    def __init__(self, *, restart: float = 0.15, dangling: str = "restart", error: float = 1e-9) -> None:
        self.restart = restart
        self.dangling = dangling
        self.error = error

    def fit(self, sources: Any, targets: Any, *, weights: Any = None, seeds: Any = None, nodes: Any = None) -> PageRank:
        """Ranks the nodes of edges sources[e] → targets[e].

        weights: one per edge, ≥ 0; seeds: where walks start, a list of nodes or a dictionary of weights (all alike if left
        out); nodes: names of all nodes, if some have no edge, or to fix their order.
        Afterwards `nodes_` names them, `scores_` holds their probabilities and `error_bound_` what their error is at most.
        """
        if self.dangling not in ("restart", "uniform"):
            raise ValueError(f"dangling must be restart or uniform, but is {self.dangling}")
        sources, targets = np.asarray(sources), np.asarray(targets)
        if sources.ndim != 1 or sources.shape != targets.shape:
            raise ValueError(
                f"edges: found sources of the shape {sources.shape} and targets of {targets.shape}, "
                "expected one of each per edge"
            )
        ends = np.concatenate([sources, targets])
        names, codes = np.unique(ends, return_inverse=True)
        if nodes is not None:
            given = np.asarray(nodes)
            place = {name: code for code, name in enumerate(given.tolist())}
            unknown = [name for name in names.tolist() if name not in place]
            if unknown or len(place) != given.size:
                what = f"{unknown[0]!r} of an edge is not among them" if unknown else "a name is there twice"
                raise ValueError(f"nodes: {what}; expected every node once")
            codes = np.array([place[name] for name in names.tolist()], dtype=np.uint32)[codes]
            names = given
        codes = np.ascontiguousarray(codes.reshape(-1), dtype=np.uint32)
        edges = sources.size
        weights = None if weights is None else vector(weights, "weights", np.float32)
        self.scores_, self.error_bound_, self.products_ = _toprank.pagerank(
            names.size,
            codes[:edges],
            codes[edges:],
            weights,
            _seeds(seeds, names),
            self.restart,
            self.dangling == "uniform",
            self.error,
        )
        self.nodes_ = names
        return self


def _seeds(seeds: Any, names: np.ndarray) -> list[tuple[int, float]] | None:
    if seeds is None:
        return None
    pairs = seeds.items() if isinstance(seeds, Mapping) else [(seed, 1.0) for seed in seeds]
    place = {name: code for code, name in enumerate(names.tolist())}
    found = []
    for name, weight in pairs:
        name = name.item() if isinstance(name, np.generic) else name
        if name not in place:
            raise ValueError(f"seeds: {name!r} is no node of the graph")
        found.append((place[name], float(weight)))
    return found
