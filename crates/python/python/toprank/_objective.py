"""`toprank.Objective` and `toprank.gradient`: which way should each score move?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _toprank
from ._arrays import labels_of, lists_of, scores_of, vector, weights_of
from ._catalog import spec, table


class Gradient(NamedTuple):
    """What a step gives; arrays are in the order of the scores."""

    loss: float
    gradient: np.ndarray
    """∂loss/∂score: negative means that the score should rise."""
    curvature: np.ndarray | None
    """For Newton steps; None unless asked for."""
    losses: np.ndarray
    """Loss of each list, 0 where it could not contribute."""
    used: int
    idle: int
    """Lists that could not contribute (one item, nothing relevant …)."""
    gradient_previous: np.ndarray | None
    """Gradient at the previous scores, for objectives that use them."""


class Objective:
    """An objective with its parameters and what it remembers: trackers, thresholds, duals.

    >>> goal = toprank.Objective("song", gamma=0.3).prepare(labels, group=sizes)
    >>> loss, gradient, *_ = goal.step(scores)                       # all lists
    >>> loss, gradient, *_ = goal.step(some, lists=[4, 0], items=[[0, 2, 5], [1, 3]])   # drawn ones
    """

    def __init__(self, name: str, *, seed: int = 1, **params: Any) -> None:
        self._text = spec(name, params)
        self._seed = seed
        self._goal = _toprank.Objective(self._text, seed)
        self._told: tuple[Any, ...] | None = None

    @property
    def name(self) -> str:
        """As the command would be asked for it."""
        return self._goal.name

    @property
    def steps(self) -> int:
        """Steps done since `prepare`."""
        return self._goal.steps

    def __repr__(self) -> str:
        return f"Objective({self.name!r})"

    def prepare(
        self,
        labels: Any,
        *,
        group: Any = None,
        qid: Any = None,
        item_weight: Any = None,
        list_weight: Any = None,
        unjudged: bool = False,
    ) -> Objective:
        """Tells the labels and lists of the data set; what was remembered about others is forgotten."""
        labels = labels_of(labels, unjudged)
        offsets, _ = lists_of(labels.size, group, qid)
        items = weights_of(item_weight, labels.size, "item_weight")
        lists = weights_of(list_weight, offsets.size - 1, "list_weight")
        self._prepare((labels, offsets, items, lists))
        return self

    def _prepare(self, told: tuple[Any, ...]) -> None:
        self._goal.prepare(*told)
        self._told = told

    def step(
        self,
        scores: Any,
        *,
        lists: Any = None,
        items: Sequence[Any] | None = None,
        importance: Any = None,
        previous: Any = None,
        curvature: bool = False,
        sum: bool = False,
    ) -> Gradient:
        """Loss, gradient and curvature; what the objective remembers moves on by one step.

        scores: one per item of all lists, or of the drawn ones, draw after draw.
        lists: numbers of the drawn lists, in any order; items: for each of them the places of the drawn items (all if
        left out); importance: what each draw counts for where lists are not drawn evenly.
        previous: scores of the same items under the model of the step before, for objectives that use them.
        sum: the sum over lists instead of their mean, as boosted trees want it.
        """
        if self._goal.shape is None:
            raise RuntimeError("prepare(labels, …) first: the objective knows no lists yet")
        if lists is None:
            if items is not None or importance is not None:
                raise ValueError("items and importance belong to drawn lists: expected lists beside them")
            count = self._goal.shape[1]
            before = None if previous is None else scores_of(previous, count)
            return _gradient(self._goal.step(scores_of(scores, count), None, [], before, curvature, sum))
        draws = Draws(self._goal.offsets, lists, items, importance)
        now = draws.sort(scores_of(scores, draws.items.size))
        before = None if previous is None else draws.sort(scores_of(previous, draws.items.size))
        found = self._goal.step(now, draws.triple(), draws.importance, before, curvature, sum)
        for key in ("gradient", "curvature", "gradient_previous"):
            if key in found:
                found[key] = draws.unsort(found[key])
        found["losses"] = draws.unsort_lists(found["losses"])
        return _gradient(found)

    def state_dict(self) -> dict[str, Any]:
        """What the objective remembers, to go on later with the same lists: `load_state_dict` takes it."""
        return {"objective": self.name, "seed": self._seed, "steps": self.steps, "state": self._goal.state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes up what `state_dict` gave; `prepare` must have seen the same lists."""
        if state["objective"] != self.name or state["seed"] != self._seed:
            raise ValueError(
                f"the state is of {state['objective']} with seed {state['seed']}, "
                f"expected one of {self.name} with seed {self._seed}"
            )
        if state["state"] is not None:
            self._goal.load_state(state["state"], state["steps"])

    def __reduce__(self) -> Any:
        return _made_again, (self._text, self._seed, self._told, self.state_dict())


def _made_again(text: str, seed: int, told: tuple[Any, ...] | None, state: dict[str, Any]) -> Objective:
    objective = Objective(text, seed=seed)
    if told is not None:
        objective._prepare(told)
        objective.load_state_dict(state)
    return objective


Objective.__doc__ += "\n\nObjectives:\n" + "\n".join(f"    {e.name}: {e.about}" for e in table("objectives").values())


class Draws:
    """Drawn lists and items in the order that the library wants, and the way back."""

    def __init__(self, offsets: np.ndarray, lists: Any, items: Sequence[Any] | None, importance: Any) -> None:
        drawn = vector(lists, "lists", np.int64)
        sizes = np.diff(offsets.astype(np.int64))
        if drawn.size and (drawn.min() < 0 or drawn.max() >= sizes.size):
            bad = drawn[(drawn < 0) | (drawn >= sizes.size)][0]
            raise ValueError(f"lists: found the number {bad}, expected numbers of lists from 0 to {sizes.size - 1}")
        order = np.argsort(drawn, kind="stable")
        if np.any(np.diff(drawn[order]) == 0):
            raise ValueError("lists: a list was drawn twice, expected each at most once")
        if items is None:
            places = [np.arange(sizes[q]) for q in drawn]
        else:
            places = [vector(draw, "items", np.int64) for draw in items]
            if len(places) != drawn.size:
                raise ValueError(f"items: found {len(places)} draws, expected one for each of {drawn.size} lists")
            for q, draw in zip(drawn, places):
                if draw.size and (draw.min() < 0 or draw.max() >= sizes[q]):
                    raise ValueError(f"items: list {q} has places from 0 to {sizes[q] - 1}, found others")
        starts = np.concatenate([[0], np.cumsum([draw.size for draw in places])]).astype(np.int64)
        inner = [np.argsort(places[d], kind="stable") for d in order]
        # Where each entry of the library's order stands in the caller's.
        moved = [starts[d] + place for d, place in zip(order, inner)]
        self.places = np.concatenate(moved) if moved else np.zeros(0, dtype=np.int64)
        self.lists = drawn[order]
        self.order = order
        self.items = np.concatenate(places)[self.places] if places else np.zeros(0, dtype=np.int64)
        self.offsets = np.concatenate([[0], np.cumsum([place.size for place in inner])])
        self.importance = []
        if importance is not None:
            weights = vector(importance, "importance", np.float64)
            if weights.size != drawn.size:
                raise ValueError(f"importance: found {weights.size} numbers, expected {drawn.size}")
            self.importance = weights[order].tolist()

    def triple(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.lists.astype(np.uint32), self.offsets.astype(np.uint64), self.items.astype(np.uint32)

    def sort(self, values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values[self.places])

    def unsort(self, values: np.ndarray) -> np.ndarray:
        back = np.empty_like(values)
        back[self.places] = values
        return back

    def unsort_lists(self, values: np.ndarray) -> np.ndarray:
        back = np.empty_like(values)
        back[self.order] = values
        return back


def _gradient(found: dict[str, Any]) -> Gradient:
    return Gradient(
        found["loss"],
        found["gradient"],
        found.get("curvature"),
        found["losses"],
        found["used"],
        found["idle"],
        found.get("gradient_previous"),
    )


def gradient(
    objective: str,
    scores: Any,
    labels: Any,
    *,
    group: Any = None,
    qid: Any = None,
    item_weight: Any = None,
    list_weight: Any = None,
    curvature: bool = True,
    sum: bool = False,
    unjudged: bool = False,
    seed: int = 1,
    **params: Any,
) -> Gradient:
    """Loss, gradient and curvature of an objective at these scores, with nothing remembered.

    >>> toprank.gradient("ranknet", [0.0, 0.0], [1, 0]).gradient
    array([-0.5,  0.5])
    """
    goal = Objective(objective, seed=seed, **params)
    weights = {"item_weight": item_weight, "list_weight": list_weight}
    goal.prepare(labels, group=group, qid=qid, unjudged=unjudged, **weights)
    return goal.step(scores, curvature=curvature, sum=sum)
