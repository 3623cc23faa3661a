"""What LibAUC says, in double precision, on whole lists."""

import numpy as np
import torch
from libauc.losses.auc import (
    APLoss,
    AUCMLoss,
    MultiLabelAUCMLoss,
    PairwiseAUCLoss,
    pAUC_CVaR_Loss,
    pAUC_DRO_Loss,
    tpAUC_CVaR_loss,
    tpAUC_KL_Loss,
)
from libauc.losses.losses import FocalLoss
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


def once(one, forward):
    """Value and gradient of a loss of scores and labels."""
    scores = torch.tensor(one["scores"], requires_grad=True)
    with double_precision():
        value = forward(scores, torch.tensor(one["labels"]))
        value.backward()
    return value.item(), [scores.grad.tolist()]


def share(one):
    """p(1 − p), p the share of relevant items: what AUCM's first version multiplies everything by."""
    p = np.mean(np.array(one["labels"]) > 0)
    return p * (1 - p)


def aucm(one, kind=AUCMLoss, margin=1.0, version="v1", **settings):
    """With a, b and α at their solution."""

    def forward(scores, labels):
        relevant, others = scores[labels > 0].mean().item(), scores[labels == 0].mean().item()
        loss = kind(margin=margin, version=version, device="cpu", **settings)
        for name, best in (("a", relevant), ("b", others), ("alpha", max(0.0, margin + others - relevant))):
            getattr(loss, name).data.fill_(best)
        columns = (lambda x: x) if kind is AUCMLoss else (lambda x: x[:, None])
        return loss(columns(scores), columns(labels)).sum()

    return once(one, forward)


def pair_losses(one):
    """Squared hinges with margin 1, a row per relevant item, each falling."""
    s, y = np.array(one["scores"]), np.array(one["labels"])
    rows = np.maximum(1 - (s[y > 0][:, None] - s[y == 0][None, :]), 0) ** 2
    return -np.sort(-rows, axis=1), np.flatnonzero(y > 0)


def cvar(one, fpr):
    """With every dual variable at the largest loss outside the region."""
    losses, relevant = pair_losses(one)
    count = int(fpr * losses.shape[1])

    def forward(scores, labels):
        loss = pAUC_CVaR_Loss(len(labels), len(relevant), beta=count / losses.shape[1], device="cpu")
        loss.u_pos[relevant, 0] = torch.tensor(losses[:, count])
        return loss(scores, labels, torch.arange(len(labels)))

    return once(one, forward)


def staco(one, fpr, tpr):
    """With thresholds and weights at the solution, and no steps of them."""
    losses, relevant = pair_losses(one)
    others, hardest = int(fpr * losses.shape[1]), int((1 - tpr) * len(relevant))
    costs = losses[:, :others].mean(1)

    def forward(scores, labels):
        shares = {"theta_0": hardest / len(relevant), "theta_1": others / losses.shape[1]}
        loss = tpAUC_CVaR_loss(len(labels), threshold=1.0, alpha=0.0, beta_0=0.0, beta_1=0.0, device="cpu", **shares)
        loss.s1[relevant, 0] = torch.tensor(losses[:, others])
        loss.dual_var[relevant, 0] = torch.tensor(costs >= -np.sort(-costs)[hardest - 1]).double()
        return loss(scores, labels, torch.arange(len(labels)))

    return once(one, forward)


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
    yield from _areas(lists)
    yield from _slips(lists)


def _areas(lists):
    def run(loss, objective, names, note, call, valued=False, scale=lambda one: 1.0):
        for name in names:
            one = lists[name]
            value, gradient = call(one)
            value, said = (value, note) if valued else (None, note + VALUE)
            yield case("libauc", loss, objective, [one], value, gradient, said, scale(one))

    labelled = ("two items", "binary 10", "binary 24", "single relevant")
    for surrogate, theirs, margin in (
        ("squared-hinge", "squared_hinge", 1.0),
        ("hinge", "hinge", 1.0),
        ("square", "squared", 1.0),
        ("logistic:temperature=0.5", "logistic", 2.0),
        ("barrier-hinge", "barrier_hinge", (50.0, 200.0)),
    ):
        call = lambda one: once(one, lambda s, y: PairwiseAUCLoss(theirs, margin)(s, y))
        yield from run("PairwiseAUCLoss", f"auroc:surrogate={surrogate}", labelled, f"surr_loss = {theirs}", call, True)
    for margin in (1.0, 3.0):
        objective = f"auroc-margin:variables=exact:margin={margin:g}"
        note = "version v1 at its solution in a, b, alpha; it carries p(1 − p)"
        call = lambda one: aucm(one, margin=margin)
        yield from run("AUCMLoss", objective, labelled, note, call, True, lambda one: 1 / share(one))
        call = lambda one: aucm(one, MultiLabelAUCMLoss, margin, "v2", num_labels=1)
        note = "version v2 at its solution in a, b, alpha, one label"
        yield from run("MultiLabelAUCMLoss", objective, ("binary 10", "binary 24"), note, call, True)
    for strength, worst in ((1.0, 1.0), (5.0, 2.0), (5.0, 20.0)):
        objective = f"tpauc-kl:gamma=1:lambda={strength:g}:worst={worst:g}"
        call = lambda one: binary(tpAUC_KL_Loss, one, Lambda=strength, tau=worst, gammas=(1.0, 1.0))
        names = labelled if strength > 1 else ("two items", "binary 10", "single relevant")
        yield from run("tpAUC_KL_Loss", objective, names, "gammas = 1", call)
    region = ("binary 10", "binary 24")
    for fpr in (0.3, 0.5):
        note = "dual variables at the largest loss outside the region, beta a whole number of others"
        objective = f"pauc-cvar:variables=exact:fpr={fpr:g}"
        yield from run("pAUC_CVaR_Loss", objective, region, note, lambda one: cvar(one, fpr))
        note = "dual variables and weights at the solution, both shares whole numbers"
        objective = f"tpauc-minmax:variables=exact:fpr={fpr:g}:tpr=0.5"
        yield from run("tpAUC_CVaR_loss", objective, region, note, lambda one: staco(one, fpr, 0.5))


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
    one = [lists["binary 10"]]
    value, gradient = aucm(lists["binary 10"], version="v2")
    slip = "version v2: a bracket makes the gap of the means (share of others)·mean of others − mean of relevant"
    yield case("libauc", "AUCMLoss", "auroc-margin:variables=exact:margin=1", one, value, gradient, slip=slip)
    value, gradient = aucm(lists["binary 10"], MultiLabelAUCMLoss, 3.0, num_labels=1)
    slip = "version v1 for several labels does not heed its margin"
    scale = 1 / share(lists["binary 10"])
    yield case("libauc", "MultiLabelAUCMLoss", "auroc-margin:variables=exact:margin=3", one, value, gradient, scale=scale, slip=slip)
    zeros = {"scores": [0.0, 0.0, 0.75, -0.5, 0.0, -1.25], "labels": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]}
    value, gradient = aucm(zeros, MultiLabelAUCMLoss, 1.0, "v2", num_labels=1)
    slip = "version v2 leaves scores of 0 out of the number that a mean is divided by"
    yield case("libauc", "MultiLabelAUCMLoss", "auroc-margin:variables=exact:margin=1", [zeros], value, gradient, slip=slip)
    value, gradient = once(apart, lambda s, y: PairwiseAUCLoss("logistic", 400.0)(s, y))
    slip = "ln(1 + e^x) overflows"
    yield case("libauc", "PairwiseAUCLoss", "auroc:surrogate=logistic:temperature=0.0025", [apart], value, gradient, slip=slip)
    value, gradient = binary(tpAUC_KL_Loss, apart, Lambda=0.01, gammas=(1.0, 1.0))
    slip = "exponentials outside log space: NaN"
    yield case("libauc", "tpAUC_KL_Loss", "tpauc-kl:gamma=1:lambda=0.01", [apart], value, gradient, slip=slip)
    value, gradient = once(lists["binary 10"], lambda s, y: FocalLoss()(s, y))
    slip = "a column times a row: the weight of every item on every other, and that of the relevant on the others"
    yield case("libauc", "FocalLoss", "focal:alpha=0.25:focus=2", one, value, gradient, slip=slip)
