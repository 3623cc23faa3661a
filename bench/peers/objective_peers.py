"""What the neural peers say: allRank and LibAUC (PyTorch) and Rax (JAX), in double precision, gradients by autograd.

Each function yields cases, see make_objectives.py. A peer gets one list at a time, because most of them average over the
pairs or items of a whole batch; the lists of a case with several are padded as the peer wants it.
"""

import contextlib
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

import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
import rax  # noqa: E402
from allrank.models import losses as allrank  # noqa: E402
from libauc.losses.auc import APLoss  # noqa: E402
from libauc.losses.ranking import ListwiseCELoss, NDCGLoss  # noqa: E402

from objective_cases import case  # noqa: E402

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


@contextlib.contextmanager
def double_precision():
    """The peers write `torch.float32` and `.float()` into their code: both mean 64 bits in here."""
    saved = torch.float, torch.float32, torch.Tensor.float
    torch.float = torch.float32 = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float, torch.float32, torch.Tensor.float = saved


PADDED = -1.0
TINY = 1e-30


def padded(lists, fill):
    """Score and label matrices with one row per list, and which cells are items."""
    longest = max(len(one["scores"]) for one in lists)
    matrix = lambda key, empty: np.array([one[key] + [empty] * (longest - len(one[key])) for one in lists])
    labels = matrix("labels", np.nan)
    return matrix("scores", 0.0), np.where(np.isnan(labels), fill, labels), ~np.isnan(labels)


def unpadded(gradient, lists):
    return [row[: len(one["scores"])].tolist() for row, one in zip(np.asarray(gradient), lists)]


def in_torch(loss, lists, **parameters):
    """Value and gradient of a loss of (scores, labels)."""
    scores, labels, _ = padded(lists, PADDED)
    scores = torch.tensor(scores, requires_grad=True)
    with double_precision():
        value = loss(scores, torch.tensor(labels), **parameters)
        value.backward()
    return value.item(), unpadded(scores.grad.numpy(), lists)


def in_jax(loss, lists, **parameters):
    scores, labels, items = padded(lists, 0.0)
    where = {} if items.all() else {"where": jnp.asarray(items)}
    call = lambda s: loss(s, jnp.asarray(labels), **where, **parameters)
    value, gradient = jax.value_and_grad(call)(jnp.asarray(scores))
    return float(value), unpadded(gradient, lists)


# ------------------------------------------------------------------------------------------------ allRank

ANY = ("one item", "two items", "graded 5", "graded 13", "graded 40", "two grades, none 0", "tied scores", "large scores")
WITH_PAIRS = ANY[1:]
NO_TIED_SCORES = tuple(name for name in WITH_PAIRS if name != "tied scores")
BATCH = ("graded 5", "binary 10", "tied scores")


def distinct(one):
    """The same scores with distinct labels: the best item gets the length, the last 1, equal ones by their place."""
    labels = np.empty(len(one["labels"]))
    labels[np.argsort(-np.array(one["labels"]), kind="stable")] = np.arange(len(labels), 0, -1)
    return {"scores": one["scores"], "labels": labels.tolist()}


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
    ndcg = lambda one: -np.sum([(2.0**y - 1) / np.log2(1 + r) for y, r in zip(*_ranked(one[0]))]) / _ideal(one[0])
    note = "its sum has the pairs i = i too, whose log2 σ(0) adds the NDCG of the order: offset −NDCG"
    scheme = {"weighing_scheme": "ndcgLoss1_scheme", **lambdas}
    yield from run("lambdaLoss", "ndcg-loss1", NO_TIED_SCORES, note, offset=ndcg, **scheme)
    note = "sum over pairs, log2, eps = 1e-30"
    yield from run("lambdaLoss", "ndcg-loss2", NO_TIED_SCORES, note, weighing_scheme="ndcgLoss2_scheme", **lambdas)
    scheme = {"weighing_scheme": "ndcgLoss2PP_scheme", **lambdas}
    yield from run("lambdaLoss", "ndcg-loss2pp", NO_TIED_SCORES, note + ", mu = 10", **scheme)
    yield from run("lambdaLoss", "ndcg-loss2pp:mu=0.5", ("graded 13",), note + ", mu = 0.5", mu=0.5, **scheme)
    note = "its lambdaRank scheme in natural logarithms"
    scheme = {"weighing_scheme": "lambdaRank_scheme", **lambdas, "reduction_log": "natural"}
    yield from run("lambdaLoss", "lambdarank", NO_TIED_SCORES, note, **scheme)

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


def _ranked(one):
    order = np.argsort(-np.array(one["scores"]), kind="stable")
    return np.array(one["labels"])[order], range(1, len(order) + 1)


def _ideal(one):
    return sum((2.0**y - 1) / np.log2(2 + at) for at, y in enumerate(sorted(one["labels"], reverse=True)))


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


# ------------------------------------------------------------------------------------------------ Rax


def from_rax(lists):
    def run(loss, objective, names, note, function=None, scale=1.0, offset=0.0, **parameters):
        for name in names:
            one = [lists[part] for part in (name if isinstance(name, tuple) else (name,))]
            value, gradient = in_jax(function or getattr(rax, loss), one, **parameters)
            factor = scale(one[0]) if callable(scale) else scale
            yield case("rax", loss, objective, one, value, gradient, note, scale=factor, offset=offset)

    any_size = (*ANY, "huge scores")
    with_pairs = (*WITH_PAIRS, "huge scores")
    note = "labels as they are, so the loss is Σy times the cross-entropy"
    per_label = lambda one: 1 / sum(one["labels"])
    yield from run("softmax_loss", "listnet:target=linear", any_size, note, scale=per_label)
    note = "label_fn = softmax"
    of_labels = lambda labels, where: jax.nn.softmax(labels, where=where)
    yield from run("softmax_loss", "listnet", ("graded 13", "huge scores"), note, label_fn=of_labels)
    note = "label_fn = normalize_probabilities, padding by where"
    yield from run("softmax_loss", "listnet:target=linear", (BATCH,), note, label_fn=rax.utils.normalize_probabilities)

    note = "mean over pairs y_i > y_j"
    yield from run("pairwise_logistic_loss", "ranknet", with_pairs, note)
    yield from run("pairwise_logistic_loss", "bpr", ("binary 10", "binary 24", "single relevant"), note)
    yield from run("pairwise_hinge_loss", "ranksvm", tuple(n for n in with_pairs if n != "tied scores"), note + ", margin 1")
    note = "reduce_fn = sum"
    yield from run("pairwise_logistic_loss", "ranknet:sum=true", ("graded 13", "large scores"), note, reduce_fn=jnp.sum)

    per_item = lambda one: 1 / len(one["scores"])
    weight = lambda function, **how: lambda *a, **k: function(*a, normalize=True, **how, **k)
    note = "lambda weights normalised, sum over pairs; it multiplies them by the list's length"
    lambdas = {"reduce_fn": jnp.sum, "lambdaweight_fn": weight(rax.dcg_lambdaweight)}
    yield from run("pairwise_logistic_loss", "lambdarank", with_pairs, note + " (dcg_lambdaweight)", scale=per_item, **lambdas)
    lambdas["lambdaweight_fn"] = weight(rax.dcg2_lambdaweight)
    note += " (dcg2_lambdaweight); natural logarithm, ours is log2"
    in_log2 = lambda one: 1 / len(one["scores"]) / np.log(2)
    yield from run("pairwise_logistic_loss", "ndcg-loss2", with_pairs, note, scale=in_log2, **lambdas)

    note = "distinct labels; scores that tie are among the slips"
    for name in ("one item", "two items", "graded 5", "graded 13", "graded 40", "large scores", "huge scores"):
        value, gradient = in_jax(rax.listmle_loss, [distinct(lists[name])])
        yield case("rax", "listmle_loss", "listmle", [distinct(lists[name])], value, gradient, note)
    tied = [distinct(lists["tied scores"])]
    value, gradient = in_jax(rax.listmle_loss, tied)
    slip = "where two items tie for the running maximum its gradient is wrong (the value is right): minimum(0, 0) has half a slope"
    yield case("rax", "listmle_loss", "listmle", tied, value, gradient, slip=slip)

    note = "minus the smooth measure"
    for temperature, names in ((1.0, (*ANY, BATCH)), (0.1, ("graded 13", "large scores"))):
        ndcg = rax.approx_t12n(rax.ndcg_metric, temperature=temperature)
        objective = f"approx-ndcg:temperature={temperature:g}"
        yield from run("approx_t12n(ndcg_metric)", objective, names, note, function=ndcg, offset=1.0)
        mrr = rax.approx_t12n(rax.mrr_metric, temperature=temperature)
        objective = f"approx-mrr:temperature={temperature:g}"
        one = ("two items", "single relevant")
        why = note + "; one relevant item, because it takes the best of them where ours takes the mean"
        yield from run("approx_t12n(mrr_metric)", objective, one, why, function=mrr, offset=1.0)

    note = "mean over items"
    yield from run("pointwise_mse_loss", "squared", ("one item", "graded 13", "distinct labels"), note)
    binary = ("two items", "binary 10", "binary 24")
    yield from run("pointwise_sigmoid_loss", "logistic", binary, note)


# ------------------------------------------------------------------------------------------------ LibAUC


def relevant_first(one):
    """LibAUC takes the relevant items first; the order that does it."""
    return np.argsort(-np.array(one["labels"]), kind="stable")


def back(gradient, order):
    out = np.empty(len(order))
    out[order] = gradient
    return out.tolist()


def libauc_ndcg(one, **settings):
    """Whole list as positives ++ negatives, so that its mean over the sample is the mean over the list."""
    order = relevant_first(one)
    labels = torch.tensor(np.array(one["labels"])[order])
    relevant = int((labels > 0).sum())
    scores = torch.tensor(np.array(one["scores"])[order][None, :], requires_grad=True)
    with double_precision():
        loss = NDCGLoss(N=max(relevant, 1), num_user=1, num_item=len(order), num_pos=relevant, topk=-1, device="cpu", **settings)
        batch = {
            "rating": labels[None, :],
            "user_id": torch.tensor([0]),
            "num_pos_items": torch.tensor([float(relevant)]),
            "ideal_dcg": torch.tensor([_ideal(one)]),
            "user_item_id": torch.arange(len(order))[None, :],
        }
        value = loss(scores, batch)
        value.backward()
    return value.item(), [back(scores.grad[0].numpy(), order)]


def libauc_listwise_ce(one, whole_list):
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


def from_libauc(lists):
    value_note = "; its value only carries the gradient and is no objective"
    graded = ("one item", "two items", "graded 5", "graded 13", "graded 40", "binary 24", "tied scores", "large scores")
    for name in graded:
        value, gradient = libauc_ndcg(lists[name], gamma0=1.0)
        note = "relevant items first, num_pos + num_neg = the whole list, gamma0 = 1" + value_note
        yield case("libauc", "NDCGLoss", "song:gamma=1:margin=1", [lists[name]], None, gradient, note)
    for name in ("graded 13", "binary 24"):
        value, gradient = libauc_ndcg(lists[name], gamma0=1.0, margin=0.3)
        note = "margin 0.3" + value_note
        yield case("libauc", "NDCGLoss", "song:gamma=1:margin=0.3", [lists[name]], None, gradient, note)

    for name in ("two items", "binary 10", "binary 24", "single relevant"):
        one = lists[name]
        loss = APLoss(data_len=len(one["scores"]), gamma=1.0, margin=1.0, device="cpu")
        scores = torch.tensor(one["scores"], requires_grad=True)
        value = loss(scores, torch.tensor(one["labels"]), torch.arange(len(one["scores"])))
        value.backward()
        note = "gamma = 1" + value_note
        yield case("libauc", "APLoss", "ap:gamma=1:margin=1", [one], None, [scores.grad.tolist()], note)

    for name in ("two items", "binary 10", "binary 24", "single relevant"):
        value, gradient, terms = libauc_listwise_ce(lists[name], whole_list=True)
        note = "every item passed among the negatives, so that the denominator is the whole list; it sums over relevant × others"
        scale = 1 / terms
        yield case("libauc", "ListwiseCELoss", "listwise-ce:gamma=1", [lists[name]], None, gradient, note + value_note, scale=scale)
    value, gradient, terms = libauc_listwise_ce(lists["binary 10"], whole_list=False)
    slip = "the denominator has the sampled negatives only (scale already divides its sum by relevant × others)"
    yield case("libauc", "ListwiseCELoss", "listwise-ce:gamma=1", [lists["binary 10"]], None, gradient, slip=slip, scale=1 / terms)

    value, gradient = libauc_ndcg(lists["graded 13"], gamma0=0.1)
    slip = "the first visit is averaged with 0: u = 0.1 g"
    yield case("libauc", "NDCGLoss", "song:gamma=0.1:margin=1", [lists["graded 13"]], None, gradient, slip=slip)
    nothing = {"scores": [0.5, 0.25, 1.0], "labels": [0.0, 0.0, 0.0]}
    value, gradient = libauc_ndcg(nothing, gamma0=1.0)
    slip = "a list without a relevant item gives NaN"
    yield case("libauc", "NDCGLoss", "song:gamma=1:margin=1", [nothing], value, gradient, slip=slip)
