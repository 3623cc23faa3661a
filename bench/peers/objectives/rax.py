"""What Rax says, in double precision."""

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import rax  # noqa: E402

from .cases import case  # noqa: E402
from .lists import ANY, BATCH, WITH_PAIRS, distinct, padded, unpadded  # noqa: E402


def in_jax(loss, lists, **parameters):
    scores, labels, items = padded(lists, 0.0)
    where = {} if items.all() else {"where": jnp.asarray(items)}
    call = lambda s: loss(s, jnp.asarray(labels), **where, **parameters)
    value, gradient = jax.value_and_grad(call)(jnp.asarray(scores))
    return float(value), unpadded(gradient, lists)


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
    lambdas["lambdaweight_fn"] = weight(rax.dcg_lambdaweight, gain_fn=lambda label: label)
    floats = ("graded 13", "distinct labels")
    yield from run("pairwise_logistic_loss", "lambdarank:gain=linear", floats, note + ", gain_fn = label", scale=per_item, **lambdas)
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

    yield from _weighted(lists)

    note = "mean over items"
    yield from run("pointwise_mse_loss", "squared", ("one item", "graded 13", "distinct labels"), note)
    binary = ("two items", "binary 10", "binary 24")
    yield from run("pointwise_sigmoid_loss", "logistic", binary, note)


def _weighted(lists):
    """Its pairs weigh as much as their better item, ours as the product: the same where the worse one weighs 1."""
    graded = lists["graded 13"] | {"weights": [0.5 + i % 4 / 2 for i in range(13)]}
    weights = jnp.asarray([graded["weights"]])
    value, gradient = in_jax(rax.softmax_loss, [graded], weights=weights, label_fn=rax.utils.normalize_probabilities)
    note = "label_fn = normalize_probabilities of label × weight"
    yield case("rax", "softmax_loss", "listnet:target=linear", [graded], value, gradient, note)
    labels = lists["binary 10"]["labels"]
    binary = lists["binary 10"] | {"weights": [1 + i / 4 if y else 1.0 for i, y in enumerate(labels)]}
    value, gradient = in_jax(rax.pairwise_logistic_loss, [binary], weights=jnp.asarray([binary["weights"]]), reduce_fn=jnp.sum)
    note = "weights on the relevant items only, reduce_fn = sum"
    yield case("rax", "pairwise_logistic_loss", "ranknet:sum=true", [binary], value, gradient, note)
    ndcg = rax.approx_t12n(rax.ndcg_metric)
    value, gradient = in_jax(ndcg, [graded], weights=weights)
    dcg = lambda values: sum(value / np.log2(2 + at) for at, value in enumerate(sorted(values, reverse=True)))
    gains = [2.0**y - 1 for y in graded["labels"]]
    scale = dcg([w * g for w, g in zip(graded["weights"], gains)]) / dcg(gains)
    note = "weights multiply its gains and its ideal DCG, ours the gains only: scale is the ratio of the two ideal DCGs"
    how = {"scale": scale, "offset": 1.0}
    yield case("rax", "approx_t12n(ndcg_metric)", "approx-ndcg:temperature=1", [graded], value, gradient, note, **how)
