"""What LibAUC says, in double precision, on whole lists."""

import numpy as np
import torch
from libauc.losses.auc import APLoss, pAUC_DRO_Loss
from libauc.losses.ranking import ListwiseCELoss, NDCGLoss

from .cases import case
from .double import double_precision
from .lists import ideal_dcg


VALUE = "; its value only carries the gradient and is no objective"


def relevant_first(one):
    """LibAUC takes the relevant items first; the order that does it."""
    return np.argsort(-np.array(one["labels"]), kind="stable")


def back(gradient, order):
    out = np.empty(len(order))
    out[order] = gradient
    return out.tolist()


def visits(one, order, set_gamma, gamma, forward):
    """Value and gradient at the list's scores after visits at its earlier ones.

    Its trackers start at 0, ours at the first estimate: the first visit of several therefore has gamma 1.
    """
    seen = [*one.get("earlier", []), one["scores"]]
    for visit, scores in enumerate(seen):
        set_gamma(1.0 if visit == 0 and len(seen) > 1 else gamma)
        leaf = torch.tensor(np.array(scores)[order], requires_grad=True)
        value = forward(leaf)
    value.backward()
    return value.item(), [back(leaf.grad.numpy(), order)]


def ndcg(one, gamma=1.0, **settings):
    """Whole list as positives ++ negatives, so that its mean over the sample is the mean over the list."""
    order = relevant_first(one)
    labels = torch.tensor(np.array(one["labels"])[order])
    relevant = int((labels > 0).sum())
    batch = {
        "rating": labels[None, :],
        "user_id": torch.tensor([0]),
        "num_pos_items": torch.tensor([float(relevant)]),
        "ideal_dcg": torch.tensor([ideal_dcg(one)]),
        "user_item_id": torch.arange(len(order))[None, :],
    }
    with double_precision():
        loss = NDCGLoss(max(relevant, 1), 1, len(order), relevant, topk=-1, device="cpu", **settings)
        set_gamma = lambda gamma: setattr(loss, "gamma0", gamma)
        return visits(one, order, set_gamma, gamma, lambda leaf: loss(leaf[None, :], batch))


def binary(kind, one, gamma=1.0, **settings):
    """APLoss and pAUC_DRO_Loss: scores, labels 0 and 1, numbers of the items."""
    order = np.arange(len(one["scores"]))
    labels = torch.tensor(one["labels"])
    with double_precision():
        loss = kind(data_len=len(order), device="cpu", **settings)
        set_gamma = lambda gamma: setattr(loss, "gamma", gamma)
        return visits(one, order, set_gamma, gamma, lambda leaf: loss(leaf, labels, torch.arange(len(order))))


def listwise_ce(one, whole_list):
    """`whole_list`: every item stands among the negatives, which makes its denominator the whole list."""
    order = relevant_first(one)
    relevant = int((np.array(one["labels"]) > 0).sum())
    scores = torch.tensor(np.array(one["scores"])[order], requires_grad=True)
    others = scores if whole_list else scores[relevant:]
    with double_precision():
        loss = ListwiseCELoss(N=relevant, num_pos=relevant, gamma=1.0, eps=0.0, device="cpu")
        ids = torch.arange(relevant + len(others))[None, :]
        value = loss(torch.cat([scores[:relevant], others])[None, :], {"user_item_id": ids})
        value.backward()
    return value.item(), [back(scores.grad.numpy(), order)], len(others) * relevant


def tracked(one):
    """Two visits at other scores before."""
    scores = np.array(one["scores"])
    return {**one, "earlier": [(scores[::-1] / 2).tolist(), (scores + np.arange(len(scores)) / 16).tolist()]}


def from_libauc(lists):
    def run(loss, objective, names, note, call):
        for name in names:
            one = lists[name] if isinstance(name, str) else name
            yield case("libauc", loss, objective, [one], None, call(one)[1], note + VALUE)

    graded = ("one item", "two items", "graded 5", "graded 13", "graded 40", "binary 24", "tied scores", "large scores")
    note = "relevant items first, num_pos + num_neg = the whole list, gamma0 = 1"
    yield from run("NDCGLoss", "song:gamma=1:margin=1", graded, note, ndcg)
    some = ("graded 13", "binary 24")
    yield from run("NDCGLoss", "song:gamma=1:margin=0.3", some, note, lambda one: ndcg(one, margin=0.3))
    for surrogate, theirs, margin in (
        ("hinge", "hinge", 1.0),
        ("square", "squared", 1.0),
        ("logistic:temperature=0.5", "logistic", 2.0),
        ("barrier-hinge", "barrier_hinge", (50.0, 200.0)),
    ):
        call = lambda one: ndcg(one, surrogate_loss=theirs, margin=margin)
        yield from run("NDCGLoss", f"song:gamma=1:surrogate={surrogate}", some, note + f", surrogate_loss = {theirs}", call)
    after = [tracked(lists[name]) for name in ("graded 13", "binary 10")]
    note = "third visit of the list, gamma0 = 1 on the first (its tracker starts at 0) and 0.3 after"
    yield from run("NDCGLoss", "song:gamma=0.3:margin=1", after, note, lambda one: ndcg(one, gamma=0.3))

    labelled = ("two items", "binary 10", "binary 24", "single relevant")
    yield from run("APLoss", "ap:gamma=1:margin=1", labelled, "gamma = 1", lambda one: binary(APLoss, one))
    call = lambda one: binary(APLoss, one, gamma=0.3, margin=0.6)
    note = "third visit of the list, gamma = 1 on the first and 0.3 after"
    yield from run("APLoss", "ap:gamma=0.3:margin=0.6", after[1:], note, call)

    for strength in (1.0, 5.0):
        call = lambda one: binary(pAUC_DRO_Loss, one, Lambda=strength)
        names = ("two items", "binary 10", "single relevant") if strength == 1.0 else labelled
        yield from run("pAUC_DRO_Loss", f"pauc-kl:gamma=1:lambda={strength:g}", names, "gamma = 1", call)

    for name in labelled:
        _, gradient, terms = listwise_ce(lists[name], whole_list=True)
        note = "every item passed among the negatives, so that the denominator is the whole list; it sums over relevant × others"
        one = [lists[name]]
        yield case("libauc", "ListwiseCELoss", "listwise-ce:gamma=1", one, None, gradient, note + VALUE, scale=1 / terms)
    yield from _slips(lists)


def _slips(lists):
    _, gradient, terms = listwise_ce(lists["binary 10"], whole_list=False)
    slip = "the denominator has the sampled negatives only (scale already divides its sum by relevant × others)"
    one = [lists["binary 10"]]
    yield case("libauc", "ListwiseCELoss", "listwise-ce:gamma=1", one, None, gradient, slip=slip, scale=1 / terms)
    _, gradient = ndcg(lists["graded 13"], gamma=0.1)
    slip = "the first visit is averaged with 0: u = 0.1 g"
    yield case("libauc", "NDCGLoss", "song:gamma=0.1:margin=1", [lists["graded 13"]], None, gradient, slip=slip)
    nothing = {"scores": [0.5, 0.25, 1.0], "labels": [0.0, 0.0, 0.0]}
    value, gradient = ndcg(nothing)
    slip = "a list without a relevant item gives NaN"
    yield case("libauc", "NDCGLoss", "song:gamma=1:margin=1", [nothing], value, gradient, slip=slip)
    apart = {"scores": [-2.0, 2.0, 1.0, -1.5], "labels": [1.0, 0.0, 1.0, 0.0]}
    value, gradient = binary(pAUC_DRO_Loss, apart, Lambda=0.01)
    slip = "exponentials outside log space: NaN"
    yield case("libauc", "pAUC_DRO_Loss", "pauc-kl:gamma=1:lambda=0.01", [apart], value, gradient, slip=slip)
