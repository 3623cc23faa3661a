"""Objectives as losses in PyTorch: `toprank.torch.loss("song", gamma=0.3)` is a module whose gradient comes from toprank."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ._objective import Objective, drawn


def _loss(scores: torch.Tensor, goal: Any, draws: Any, total: bool, kept: Any) -> torch.Tensor:
    """Scores in, loss out; the gradient is known with the loss.

    The result is the linear function of the scores whose slope is that gradient, with the loss as its value: PyTorch's own
    dot product has this gradient, and its backward pass runs without Python.
    """
    flat = np.ascontiguousarray(_numbers(scores).reshape(-1))
    if kept is not None:
        flat = flat[kept]
    if flat.dtype == np.float32:
        loss, found = goal.step32(flat, draws, total)
    else:
        loss, found, *_ = goal.step(flat, draws, None, False, total)
    gradient = torch.from_numpy(found)
    if kept is not None:
        whole = torch.zeros(scores.numel(), dtype=gradient.dtype)
        whole[torch.from_numpy(kept)] = gradient
        gradient = whole
    if gradient.dtype != scores.dtype or scores.device.type != "cpu":
        gradient = gradient.to(dtype=scores.dtype, device=scores.device)
    out = torch.dot(scores if scores.dim() == 1 else scores.reshape(-1), gradient)
    out.data.fill_(loss)
    return out


class Loss(torch.nn.Module):
    """A loss of scores; the state of the objective is part of `state_dict()`.

    Objectives without state take labels beside the scores:

    >>> loss = toprank.torch.loss("listnet")
    >>> loss(scores, labels, group=sizes).backward()       # flat scores, sizes of the lists
    >>> loss(scores, labels, mask=real).backward()         # one list per row; mask: which positions hold an item

    Objectives with trackers (SONG, K-SONG, AP …) are given all labels first; batches name the drawn lists and items:

    >>> loss = toprank.torch.loss("song").prepare(all_labels, group=all_sizes)
    >>> loss(scores, lists=[4, 0], items=[[0, 2, 5], [1, 3]]).backward()
    """

    def __init__(self, name: str, *, seed: int = 1, sum: bool = False, **params: Any) -> None:
        super().__init__()
        self._sum = sum
        self._objective = Objective(name, seed=seed, **params)
        # For labels that come with the scores; its only state is the number of calls.
        self._passing = Objective(name, seed=seed, **params)
        self._calls = 0
        self._waiting: dict[str, Any] | None = None
        self._prepared = False

    @property
    def name(self) -> str:
        """As the command would be asked for it."""
        return self._objective.name

    def extra_repr(self) -> str:
        return repr(self.name)

    def prepare(self, labels: Any, **lists: Any) -> Loss:
        """Tells labels and lists of the data set; the arguments are those of `toprank.Objective.prepare`."""
        self._objective.prepare(_array(labels), **lists)
        self._prepared = True
        if self._waiting is not None:
            self._objective.load_state_dict(self._waiting)
            self._waiting = None
        return self

    def forward(
        self,
        scores: torch.Tensor,
        labels: Any = None,
        *,
        group: Any = None,
        qid: Any = None,
        mask: Any = None,
        lists: Any = None,
        items: Any = None,
        importance: Any = None,
    ) -> torch.Tensor:
        if labels is not None:
            if lists is not None or items is not None or importance is not None:
                raise ValueError("labels beside the scores are whole lists: expected no lists, items and importance")
            sizes, kept = _rows(scores, mask)
            if sizes is not None:
                if group is not None or qid is not None:
                    raise ValueError("scores of two dimensions are one list per row: expected no group and no qid")
                group, labels = sizes, _array(labels).reshape(-1)
                labels = labels if kept is None else labels[kept]
            self._passing.prepare(_array(labels), group=group, qid=qid)
            # Objectives that draw random numbers have others in each call.
            self._passing._goal.steps, self._calls = self._calls, self._calls + 1
            return _loss(scores, self._passing._goal, None, self._sum, kept)
        if not self._prepared:
            raise RuntimeError("no labels: expected them beside the scores, or prepare(labels, …) before")
        if group is not None or qid is not None or mask is not None:
            raise ValueError("after prepare, batches name drawn lists: expected no group, qid and mask")
        if lists is None and (items is not None or importance is not None):
            raise ValueError("items and importance belong to drawn lists: expected lists beside them")
        return _loss(scores, self._objective._goal, drawn(lists, items, importance), self._sum, None)

    def get_extra_state(self) -> Any:
        return self._objective.state_dict() if self._prepared else None

    def set_extra_state(self, state: Any) -> None:
        if state is None:
            return
        if self._prepared:
            self._objective.load_state_dict(state)
        else:
            self._waiting = state


def _numbers(scores: torch.Tensor) -> np.ndarray:
    """Scores without a copy if they are on the CPU and of 32 or 64 bits."""
    scores = scores.detach()
    if scores.dtype not in (torch.float32, torch.float64):
        scores = scores.float()
    return scores.numpy() if scores.device.type == "cpu" else scores.cpu().numpy()


def _array(values: Any) -> Any:
    return values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)


def _rows(scores: torch.Tensor, mask: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The sizes of lists if rows are lists, and which positions of the flat tensor hold an item if not all do."""
    if scores.dim() == 1:
        if mask is not None:
            raise ValueError("a mask belongs to scores of two dimensions, one list per row")
        return None, None
    shape = tuple(scores.shape)
    if len(shape) != 2:
        raise ValueError(f"scores: found the shape {shape}, expected one dimension, or one list per row")
    if mask is None:
        return np.full(shape[0], shape[1]), None
    real = _array(mask).astype(bool)
    if real.shape != shape:
        raise ValueError(f"mask: found the shape {real.shape}, expected that of the scores, {shape}")
    return real.sum(axis=1), np.flatnonzero(real.reshape(-1))


def loss(name: str, *, seed: int = 1, sum: bool = False, **params: Any) -> Loss:
    """An objective of `toprank.objectives()` as a module; see `Loss`."""
    return Loss(name, seed=seed, sum=sum, **params)
