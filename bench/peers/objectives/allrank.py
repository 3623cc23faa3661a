"""What allRank says, one list at a time: most of its losses average over the pairs or items of a whole batch."""

import sys
import types

import numpy as np
import torch


def _stub(name, **members):
    """allRank imports its readers of images and cloud files with every loss."""
    sys.modules[name] = module = types.ModuleType(name)
    module.__dict__.update(members)


_stub("torchvision", transforms=None)
_stub("torchvision.transforms", Compose=object)
_stub("allrank.utils.file_utils", open_local_or_gs=None, is_gs_path=None, copy_file_to_local=None)

from allrank.models import losses as allrank  # noqa: E402

from .cases import case  # noqa: E402
from .double import double_precision  # noqa: E402
from .lists import ANY, BATCH, NO_TIED_SCORES, WITH_PAIRS, distinct, ideal_dcg, padded, unpadded  # noqa: E402

PADDED = -1.0
TINY = 1e-30


def in_torch(loss, lists, **parameters):
    """Value and gradient of a loss of (scores, labels)."""
    scores, labels, _ = padded(lists, PADDED)
    scores = torch.tensor(scores, requires_grad=True)
    with double_precision():
        value = loss(scores, torch.tensor(labels), **parameters)
        value.backward()
    return value.item(), unpadded(scores.grad.numpy(), lists)


def _ranked(one):
    order = np.argsort(-np.array(one["scores"]), kind="stable")
    return np.array(one["labels"])[order], range(1, len(order) + 1)


def from_allrank(lists):
    """`eps` is its own parameter: with its default 1e-10 the losses are right to about that much only."""

    def run(loss, objective, names, note, function=None, scale=1.0, offset=0.0, **parameters):
        for name in names:
            one = [lists[part] for part in (name if isinstance(name, tuple) else (name,))]
            value, gradient = in_torch(function or getattr(allrank, loss), one, **parameters)
            shift = offset(one) if callable(offset) else offset
            yield case("allrank", loss, objective, one, value, gradient, note, scale=scale, offset=shift)

    yield from run("rankNet", "ranknet", WITH_PAIRS, "mean over pairs y_i > y_j of ln(1 + exp(s_j − s_i))")
    yield from run("listNet", "listnet", (*ANY, BATCH), "cross-entropy with softmax(y), eps = 1e-30", eps=TINY)
    binary = ("two items", "binary 10", "binary 24", "single relevant")
    yield from run("binary_listNet", "listnet:target=linear", (*binary, BATCH), "cross-entropy with y/Σy, eps = 1e-30", eps=TINY)
    note = "distinct labels, because it breaks ties at random; eps = 1e-30"
    for name in ANY:
        value, gradient = in_torch(allrank.listMLE, [distinct(lists[name])], eps=TINY)
        yield case("allrank", "listMLE", "listmle", [distinct(lists[name])], value, gradient, note)

    lambdas = {"eps": TINY, "reduction": "sum", "reduction_log": "binary"}
    ndcg = lambda one: -np.sum([(2.0**y - 1) / np.log2(1 + r) for y, r in zip(*_ranked(one[0]))]) / ideal_dcg(one[0])
    note = "its sum has the pairs i = i too, whose log2 σ(0) adds the NDCG of the order: offset −NDCG"
    scheme = {"weighing_scheme": "ndcgLoss1_scheme", **lambdas}
    yield from run("lambdaLoss", "ndcg-loss1", NO_TIED_SCORES, note, offset=ndcg, **scheme)
    note = "sum over pairs, log2, eps = 1e-30"
    yield from run("lambdaLoss", "ndcg-loss2", NO_TIED_SCORES, note, weighing_scheme="ndcgLoss2_scheme", **lambdas)
    scheme = {"weighing_scheme": "ndcgLoss2PP_scheme", **lambdas}
    yield from run("lambdaLoss", "ndcg-loss2pp", NO_TIED_SCORES, note + ", mu = 10", **scheme)
    yield from run("lambdaLoss", "ndcg-loss2pp:mu=0.5", ("graded 13",), note + ", mu = 0.5", mu=0.5, **scheme)
    scheme = {"weighing_scheme": "ndcgLoss2_scheme", **lambdas}
    yield from run("lambdaLoss", "ndcg-loss2:sigma=2", ("graded 13",), "sigma = 2", sigma=2.0, **scheme)
    note = "its lambdaRank scheme in natural logarithms"
    scheme = {"weighing_scheme": "lambdaRank_scheme", **lambdas, "reduction_log": "natural"}
    yield from run("lambdaLoss", "lambdarank", NO_TIED_SCORES, note, **scheme)
    yield from run("lambdaLoss", "lambdarank:sigma=0.5", ("graded 13",), note + ", sigma = 0.5", sigma=0.5, **scheme)

    note = "minus the smooth NDCG; alpha = 1/temperature; eps = 1e-30"
    smooth = {"eps": TINY, "offset": 1.0}
    yield from run("approxNDCGLoss", "approx-ndcg:temperature=1", (*ANY, BATCH), note, **smooth)
    yield from run("approxNDCGLoss", "approx-ndcg:temperature=0.1", ("graded 13", "large scores"), note, alpha=10.0, **smooth)
    # One item stops it with an error, and a batch is scaled until its slowest list has converged.
    note = "minus the smooth NDCG, deterministic; its ideal DCG has 1e-10 added"
    yield from run("neuralNDCG", "neural-ndcg:temperature=1", WITH_PAIRS, note, offset=1.0)
    yield from run("neuralNDCG", "neural-ndcg:temperature=0.1", ("graded 5", "binary 10"), note, offset=1.0, temperature=0.1)
    yield from run("neuralNDCG", "neural-ndcg@3:temperature=1", ("graded 13",), note, offset=1.0, k=3)
    linear = {"powered_relevancies": False, "offset": 1.0}
    yield from run("neuralNDCG", "neural-ndcg:temperature=1:gain=linear", ("graded 13",), note, **linear)

    yield from _allrank_pointwise(lists)
    yield from _allrank_slips(lists)


def _allrank_pointwise(lists):
    for name in ("graded 5", "graded 13", "distinct labels"):
        one = [lists[name]]
        value, gradient = in_torch(allrank.pointwise_rmse, one, no_of_levels=1)
        note = "root of the mean square: value × value, gradient × 2 value"
        yield case("allrank", "pointwise_rmse", "squared", one, value, gradient, note, scale=value, gradient_scale=2 * value)
    levels = 4
    theta = torch.arange(levels) + 1 - (levels + 1) / 2
    head = lambda s, y: allrank.ordinal(torch.sigmoid(s.unsqueeze(2) - theta), y, n=levels)
    for name in ("graded 5", "graded 13", "two grades, none 0"):
        one = [lists[name]]
        value, gradient = in_torch(head, one)
        note = "mean over items of the sum over 4 thresholds k − 2.5, fed σ(s − θ_k)"
        yield case("allrank", "ordinal", "ordinal:levels=4:spacing=1", one, value, gradient, note)


def _allrank_slips(lists):
    hidden = [{"scores": [2.0, 1.5, 1.0, 0.5], "labels": [0.0, 0.0, 0.0, 1.0]}]
    scheme = {"weighing_scheme": "lambdaRank_scheme", "reduction_log": "natural", "eps": TINY}
    for one, k in ((hidden, 2), ([lists["graded 13"]], 3)):
        value, gradient = in_torch(allrank.lambdaLoss, one, k=k, **scheme)
        slip = "drops pairs with one side inside k: a relevant item below k is not lifted"
        yield case("allrank", "lambdaLoss", f"lambdarank@{k}", one, value, gradient, slip=slip)
    one = [lists["huge scores"]]
    value, gradient = in_torch(allrank.listNet, one)
    slip = "1e-10 inside the logarithm: no gradient for items whose softmax is below it"
    yield case("allrank", "listNet", "listnet", one, value, gradient, slip=slip)
    no_pairs = [{"scores": [0.5, 0.25, 1.0], "labels": [1.0, 1.0, 1.0]}]
    value, gradient = in_torch(allrank.rankNet, no_pairs)
    yield case("allrank", "rankNet", "ranknet", no_pairs, value, gradient, slip="no pair gives NaN")
