"""`toprank.Objective` and `toprank.gradient`: loss and gradient of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from . import _toprank
from ._arrays import labels_of, lists_of, vector, weights_of
from ._catalog import spec, table


class Gradient(NamedTuple):
    """The result of a step; arrays are in the order of the scores."""

    loss: float
    gradient: np.ndarray
    """∂loss/∂score; negative where the score should rise."""
    hessian: np.ndarray | None
    """Diagonal of the Hessian, ∂²loss/∂score², or an upper bound of it; None unless asked for."""
    gradient_previous: np.ndarray | None
    """Gradient at the previous scores, for objectives that use them."""
    losses: np.ndarray
    """Loss of each list; 0 for lists without gradient."""
    used: int
    """Lists with a gradient."""
    without_gradient: int
    """Lists without gradient: of one item, without a relevant one, and so on."""


class Objective:
    """An objective with its parameters and its state: trackers, thresholds, duals.

    >>> goal = toprank.Objective("song", gamma=0.3).prepare(labels, group=sizes)
    >>> loss, gradient, *_ = goal.step(scores)                       # all lists
    >>> loss, gradient, *_ = goal.step(some, lists=[4, 0], items=[[0, 2, 5], [1, 3]])   # drawn ones
    """

    def __init__(self, name: str, *, seed: int = 1, **params: Any) -> None:
        self._text = spec(name, params)
        self._seed = seed
        self._goal = _toprank.Objective(self._text, seed)
        self._data: tuple[Any, ...] | None = None

    @property
    def name(self) -> str:
        """The objective as the command takes it."""
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
        """Sets the labels and lists of the data set, and resets the state."""
        labels = labels_of(labels, unjudged)
        offsets, _ = lists_of(labels.size, group, qid)
        items = weights_of(item_weight, labels.size, "item_weight")
        lists = weights_of(list_weight, offsets.size - 1, "list_weight")
        self._prepare((labels, offsets, items, lists))
        return self

    def _prepare(self, data: tuple[Any, ...]) -> None:
        self._goal.prepare(*data)
        self._data = data

    def step(
        self,
        scores: Any,
        *,
        lists: Any = None,
        items: Sequence[Any] | None = None,
        importance: Any = None,
        previous: Any = None,
        hessian: bool = False,
        sum: bool = False,
    ) -> Gradient:
        """Returns loss, gradient and Hessian diagonal, and updates the state by one step.

        scores: One per item of all lists, or of the drawn ones, draw after draw.
        lists: Numbers of the drawn lists, in any order.
        items: For each of them the positions of the drawn items; all if omitted.
        importance: Weight of each draw, where lists are not drawn with equal probability.
        previous: Scores of the same items under the model of the step before, for objectives that use them.
        hessian: Whether to compute the Hessian diagonal.
        sum: Sum over lists instead of their mean, as boosted trees use it.
        """
        if lists is None and (items is not None or importance is not None):
            raise ValueError("items and importance belong to drawn lists: expected lists beside them")
        now = vector(scores, "scores", np.float64)
        before = None if previous is None else vector(previous, "previous", np.float64)
        return Gradient(*self._goal.step(now, drawn(lists, items, importance), before, hessian, sum))

    def state_dict(self) -> dict[str, Any]:
        """Returns the state, to be restored with the same lists by `load_state_dict`."""
        return {"objective": self.name, "seed": self._seed, "steps": self.steps, "state": self._goal.state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restores what `state_dict` returned; `prepare` must have been called with the same lists."""
        if state["objective"] != self.name or state["seed"] != self._seed:
            raise ValueError(
                f"the state is of {state['objective']} with seed {state['seed']}, "
                f"expected one of {self.name} with seed {self._seed}"
            )
        if state["state"] is not None:
            self._goal.load_state(state["state"], state["steps"])

    def __reduce__(self) -> Any:
        return _made_again, (self._text, self._seed, self._data, self.state_dict())


def _made_again(text: str, seed: int, data: tuple[Any, ...] | None, state: dict[str, Any]) -> Objective:
    objective = Objective(text, seed=seed)
    if data is not None:
        objective._prepare(data)
        objective.load_state_dict(state)
    return objective


Objective.__doc__ += "\n\nObjectives:\n" + "\n".join(f"    {e.name}: {e.about}" for e in table("objectives").values())


def drawn(lists: Any, items: Sequence[Any] | None, importance: Any) -> tuple[Any, ...] | None:
    """Drawn lists, positions of their items and their weights, as the library takes them."""
    if lists is None:
        return None
    which = vector(lists, "lists", np.int64)
    counts = [] if importance is None else vector(importance, "importance", np.float64).tolist()
    if items is None:
        return which, None, counts
    places = [vector(draw, "items", np.int64) for draw in items]
    offsets = np.cumsum([0, *map(len, places)]).astype(np.uint64)
    return which, (offsets, np.concatenate(places) if places else np.zeros(0, dtype=np.int64)), counts


def gradient(
    objective: str,
    scores: Any,
    labels: Any,
    *,
    group: Any = None,
    qid: Any = None,
    item_weight: Any = None,
    list_weight: Any = None,
    hessian: bool = True,
    sum: bool = False,
    unjudged: bool = False,
    seed: int = 1,
    **params: Any,
) -> Gradient:
    """Returns loss, gradient and Hessian diagonal of an objective at these scores, without state.

    >>> toprank.gradient("ranknet", [0.0, 0.0], [1, 0]).gradient
    array([-0.5,  0.5])
    """
    goal = Objective(objective, seed=seed, **params)
    weights = {"item_weight": item_weight, "list_weight": list_weight}
    goal.prepare(labels, group=group, qid=qid, unjudged=unjudged, **weights)
    return goal.step(scores, hessian=hessian, sum=sum)
