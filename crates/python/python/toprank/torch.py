"""Objectives inside PyTorch: `toprank.torch.loss("song", gamma=0.3)` is a module whose gradient comes from toprank."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ._objective import Objective, drawn


class _Step(torch.autograd.Function):
    """Scores in, loss out; the gradient is known with the loss."""

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, loss: float, gradient: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(gradient)
        return torch.tensor(loss, dtype=scores.dtype, device=scores.device)

    @staticmethod
    def backward(ctx: Any, upstream: torch.Tensor) -> Any:
        (gradient,) = ctx.saved_tensors
        return upstream * gradient, None, None


class Loss(torch.nn.Module):
    """A loss of scores, with what the objective remembers kept in `state_dict()`.

    With nothing remembered, labels come with the scores:

    >>> loss = toprank.torch.loss("listnet")
    >>> loss(scores, labels, group=sizes).backward()       # flat scores, sizes of the lists
    >>> loss(scores, labels, mask=real).backward()         # one list per row; mask: which places hold an item

    With trackers (SONG, K-SONG, AP …), labels come first and batches name what was drawn:

    >>> loss = toprank.torch.loss("song").prepare(all_labels, group=all_sizes)
    >>> loss(scores, lists=[4, 0], items=[[0, 2, 5], [1, 3]]).backward()
    """

    def __init__(self, name: str, *, seed: int = 1, sum: bool = False, **params: Any) -> None:
        super().__init__()
        self._sum = sum
        self._objective = Objective(name, seed=seed, **params)
        # For labels that come with the scores; nothing is remembered but how often it was called.
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
            flat, kept, sizes = _rows(scores, mask)
            objective = self._passing
            if sizes is not None:
                if group is not None or qid is not None:
                    raise ValueError("scores of two dimensions are one list per row: expected no group and no qid")
                group, labels = sizes, _array(labels).reshape(-1)
                labels = labels if kept is None else labels[kept]
            objective.prepare(_array(labels), group=group, qid=qid)
            # Objectives that draw random numbers have others in each call.
            objective._goal.steps, self._calls = self._calls, self._calls + 1
            draws = None
        else:
            if not self._prepared:
                raise RuntimeError("no labels: expected them beside the scores, or prepare(labels, …) before")
            if any(given is not None for given in (group, qid, mask)):
                raise ValueError("after prepare, batches name drawn lists: expected no group, qid and mask")
            if lists is None and (items is not None or importance is not None):
                raise ValueError("items and importance belong to drawn lists: expected lists beside them")
            flat, kept, objective = _numbers(scores).reshape(-1), None, self._objective
            draws = drawn(lists, items, importance)
        if flat.dtype == np.float32:
            loss, found = objective._goal.step32(np.ascontiguousarray(flat), draws, self._sum)
        else:
            wide = np.ascontiguousarray(flat, dtype=np.float64)
            loss, found, *_ = objective._goal.step(wide, draws, None, False, self._sum)
        gradient = torch.from_numpy(found)
        if kept is not None:
            whole = torch.zeros(scores.numel(), dtype=gradient.dtype)
            whole[torch.from_numpy(kept)] = gradient
            gradient = whole
        if gradient.dtype != scores.dtype or scores.device.type != "cpu":
            gradient = gradient.to(dtype=scores.dtype, device=scores.device)
        return _Step.apply(scores, loss, gradient.view(scores.shape))

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
    return scores.cpu().numpy()


def _array(values: Any) -> Any:
    return values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else np.asarray(values)


def _rows(scores: torch.Tensor, mask: Any) -> tuple[np.ndarray, Any, Any]:
    """Flat scores, which places of the flat tensor they are, and the sizes of lists if rows are lists."""
    array = _numbers(scores)
    if array.ndim == 1:
        if mask is not None:
            raise ValueError("a mask belongs to scores of two dimensions, one list per row")
        return array, None, None
    if array.ndim != 2:
        raise ValueError(f"scores: found the shape {array.shape}, expected one dimension, or one list per row")
    if mask is None:
        return array.reshape(-1), None, np.full(array.shape[0], array.shape[1])
    real = _array(mask).astype(bool)
    if real.shape != array.shape:
        raise ValueError(f"mask: found the shape {real.shape}, expected that of the scores, {array.shape}")
    return array[real], np.flatnonzero(real.reshape(-1)), real.sum(axis=1)


def loss(name: str, *, seed: int = 1, sum: bool = False, **params: Any) -> Loss:
    """An objective of `toprank.objectives()` as a module; see `Loss`."""
    return Loss(name, seed=seed, sum=sum, **params)
