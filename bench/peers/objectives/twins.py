"""Our objectives as plain formulas, so that a peer's number is known to be ours before the Rust test reads it.

Every twin takes one list, `s` (complex) and `y` (real), and returns the loss; some know item weights, or scores at which
the list was visited earlier. The gradient is the imaginary part under a
complex step, exact to rounding, because the twins use only functions that a complex number passes through; orders, ranks
and lambda weights come from the real part, which is what "frozen" means.
"""

import functools

import numpy as np

STEP = 1e-30


def parse(objective):
    """`name[@cut][:key=value]*` → name, cut or None, parameters."""
    head, *parameters = objective.split(":")
    name, _, cut = head.partition("@")
    return name, int(cut) if cut else None, dict(parameter.split("=") for parameter in parameters)


def value_and_gradient(objective, lists):
    """Mean over the lists, and one gradient per list of that mean."""
    name, cut, parameters = parse(objective)
    twin = functools.partial(TWINS[name], cut=cut, **parameters)
    value, gradients = 0.0, []
    for one in lists:
        s, y = np.array(one["scores"], dtype=complex), np.array(one["labels"])
        more = {key: np.array(one[key]) for key in ("weights", "earlier") if key in one}
        value += twin(s, y, **more).real / len(lists)
        nudged = s + 1j * STEP * np.eye(len(s))
        gradients.append([twin(row, y, **more).imag / STEP / len(lists) for row in nudged])
    return value, gradients


def hessian(objective, lists):
    """Σ over pairs of σ² w p(1 − p) on both items: the lambda family's."""
    name, cut, parameters = parse(objective)
    out = []
    for one in lists:
        s, y = np.array(one["scores"]), np.array(one["labels"])
        w, sigma = LAMBDA_WEIGHTS[name](s, y, cut, parameters), sigma_of(parameters)
        p = 1 / (1 + np.exp(sigma * differences(s)))
        h = sigma**2 * w * p * (1 - p)
        out.append(((h.sum(0) + h.sum(1)) / len(lists)).tolist())
    return out


# ------------------------------------------------------------------------------------------------ small parts


def softplus(x):
    positive = x.real > 0
    return np.where(positive, x, 0) + np.log1p(np.exp(np.where(positive, -x, x)))


def sigmoid(x):
    e = np.exp(np.where(x.real > 0, -x, x))
    return np.where(x.real > 0, 1, e) / (1 + e)


def relu(x):
    return np.where(x.real > 0, x, 0)


def largest(first, *others):
    for other in others:
        first = np.where(other.real > first.real, other, first)
    return first


def absolute(x):
    return x * np.sign(x.real)


def logsumexp(x):
    top = x.real.max()
    return top + np.log(np.exp(x - top).sum())


def gain(y, kind="exp"):
    return y if kind == "linear" else 2.0**y - 1


def discount(rank1):
    return np.log2(1 + rank1)


def ideal(y, cut=None, kind="exp"):
    gains = np.sort(gain(y, kind))[::-1][:cut]
    return (gains / discount(np.arange(1, len(gains) + 1))).sum()


def ranks(s):
    """1-based, ties in input order."""
    order = np.argsort(-s.real, kind="stable")
    rank1 = np.empty(len(s), dtype=int)
    rank1[order] = np.arange(1, len(s) + 1)
    return rank1


def above(y):
    """Pairs (i, j) with y_i > y_j."""
    return y[:, None] > y[None, :]


def differences(s):
    """s_i − s_j."""
    return s[:, None] - s[None, :]


# ------------------------------------------------------------------------------------------------ the objectives


def squared(s, y, cut=None):
    return ((s - y) ** 2).mean()


def logistic(s, y, cut=None):
    return (softplus(s) - s * (y > 0)).mean()


def pairs(inner):
    def loss(s, y, cut=None, sum="false", weights=None):
        w = 1.0 * above(y) if weights is None else above(y) * np.outer(weights, weights)
        total = (w * inner(differences(s))).sum()
        return total if sum == "true" or not w.any() else total / w.sum()

    return loss


def sigma_of(parameters):
    return float(parameters.get("sigma", 1))


def lambdarank_weights(s, y, cut, parameters):
    """|ΔNDCG| of swapping, for pairs with one side in the top `cut`; LightGBM's two norms on request."""
    kind = parameters.get("gain", "exp")
    rank1, gains = ranks(s), gain(y, kind)
    z = ideal(y, cut, kind)
    if z == 0:
        return np.zeros((len(s), len(s)))
    w = np.abs(differences(gains)) * np.abs(differences(1 / discount(rank1))) / z
    w = np.where(above(y), w, 0)
    if cut:
        w = np.where(np.minimum(rank1[:, None], rank1[None, :]) <= cut, w, 0)
    return lambda_norm(w, s, parameters)


def lambda_norm(w, s, parameters):
    if parameters.get("norm") != "lightgbm":
        return w
    d, sigma = differences(s.real), sigma_of(parameters)
    if d.any():
        w = w / (0.01 + np.abs(d))
    total = 2 * (sigma * w / (1 + np.exp(sigma * d))).sum()
    return w * np.log2(1 + total) / total if total > 0 else w


def lambda_map_weights(s, y, cut, parameters):
    """|ΔAP| of swapping, by doing the swap."""
    order = np.argsort(-s.real, kind="stable")
    relevant = (y > 0)[order].astype(float)
    at = np.arange(1, len(s) + 1)
    precision = lambda hits: (hits * np.cumsum(hits) / at).sum() / hits.sum()
    w = np.zeros((len(s), len(s)))
    for a in range(len(s)):
        for b in range(len(s)):
            if relevant[a] > relevant[b]:
                swapped = relevant.copy()
                swapped[[a, b]] = relevant[[b, a]]
                w[order[a], order[b]] = abs(precision(swapped) - precision(relevant))
    return lambda_norm(w, s, parameters)


def pairwise_weights(s, y, cut, parameters):
    return above(y).astype(float)


LAMBDA_WEIGHTS = {"lambdarank": lambdarank_weights, "lambda-map": lambda_map_weights, "ranknet": pairwise_weights}


def lambda_loss(name):
    def loss(s, y, cut=None, **parameters):
        w = LAMBDA_WEIGHTS[name](s, y, cut, parameters)
        return (w * softplus(-sigma_of(parameters) * differences(s))).sum()

    return loss


def ndcg_loss1(s, y, cut=None):
    if ideal(y) == 0:
        return 0j
    w = gain(y) / ideal(y) / discount(ranks(s))
    terms = w[:, None] * softplus(-differences(s)) / np.log(2)
    return terms[~np.eye(len(s), dtype=bool)].sum()


def loss2_weights(s, y):
    if ideal(y) == 0:
        return np.zeros((len(s), len(s)))
    apart = np.abs(differences(ranks(s)))
    apart = np.where(apart == 0, 1, apart)
    w = np.abs(1 / discount(apart) - 1 / discount(apart + 1)) * np.abs(differences(gain(y))) / ideal(y)
    return np.where(above(y), w, 0)


def ndcg_loss2(s, y, cut=None, sigma="1"):
    return (loss2_weights(s, y) * softplus(-float(sigma) * differences(s))).sum() / np.log(2)


def ndcg_loss2pp(s, y, cut=None, mu="10"):
    """LambdaLoss, NDCG-Loss2++: (ρ_ij + μ δ_ij)|G_i − G_j|, ρ LambdaRank's, δ NDCG-Loss2's."""
    w = lambdarank_weights(s, y, None, {}) + float(mu) * loss2_weights(s, y)
    return (w * softplus(-differences(s))).sum() / np.log(2)


def listnet(s, y, cut=None, target="exp", weights=1.0):
    p = weights * (np.exp(y - y.max()) if target == "exp" else y)
    return -(p / p.sum() * (s - logsumexp(s))).sum() if p.sum() else 0j


def listmle(s, y, cut=None):
    s = s[np.argsort(-y, kind="stable")]
    return sum(logsumexp(s[k:]) - s[k] for k in range(len(s)))


def approx_ranks(s, temperature):
    return 0.5 + sigmoid(-differences(s) / temperature).sum(1)


def approx_ndcg(s, y, cut=None, temperature="1", weights=1.0):
    rank1 = approx_ranks(s, float(temperature))
    return 1 - (weights * gain(y) / (np.log(1 + rank1) / np.log(2))).sum() / ideal(y)


def approx_mrr(s, y, cut=None, temperature="1"):
    return 1 - (y / approx_ranks(s, float(temperature))).sum() / y.sum()


def neural_ndcg(s, y, cut=None, temperature="1", gain="exp"):
    n = len(s)
    spread = absolute(differences(s)).sum(1)
    row = lambda r: ((n + 1 - 2 * r) * s - spread) / float(temperature)
    p = np.array([np.exp(row(r) - logsumexp(row(r))) for r in range(1, n + 1)])
    for _ in range(50):
        p = p / p.sum(0, keepdims=True)
        p = p / p.sum(1, keepdims=True)
        if max(np.abs(p.real.sum(axis) - 1).max() for axis in (0, 1)) < 1e-6:
            break
    gains = globals()["gain"](y, gain)
    return 1 - ((p @ gains) / discount(np.arange(1, n + 1)))[:cut].sum() / ideal(y, cut, gain)


def surrogate_of(margin="1", surrogate="squared-hinge", temperature="1"):
    c, tau = float(margin), float(temperature)
    return {
        "squared-hinge": lambda x: relu(x + c) ** 2,
        "hinge": lambda x: relu(x + c),
        "square": lambda x: (x + c) ** 2,
        "logistic": lambda x: softplus(x / tau),
        "barrier-hinge": lambda x: largest(200 * (x - 50) + 50, -200 * (x + 50), x + 50),
    }[surrogate]


def tracker(component, s, earlier, gamma):
    """The moving average of a component over the visits, this one included; the first visit sets it."""
    u = None
    for visit in (*(earlier if earlier is not None else ()), s.real):
        now = component(visit.astype(complex)).real
        u = now if u is None else (1 - float(gamma)) * u + float(gamma) * now
    return u


def song(s, y, cut=None, gamma="1", earlier=None, **surrogate):
    """The loss at a first visit; after earlier ones Σ f'(u) g, whose gradient is the step's."""
    ell, n, relevant = surrogate_of(**surrogate), len(s), y > 0
    if not relevant.any():
        return 0j
    g = lambda s: ell(-differences(s)).mean(1)[relevant]
    gains = gain(y)[relevant] / ideal(y)
    if earlier is None:
        return 1 - (gains / (np.log(n * g(s) + 1) / np.log(2))).sum()
    u = tracker(g, s, earlier, gamma)
    return (gains * n / (np.log(2) * (n * u + 1) * np.log2(n * u + 1) ** 2) * g(s)).sum()


def average_precision(s, y, cut=None, gamma="1", earlier=None, **surrogate):
    ell, relevant = surrogate_of(**surrogate), y > 0
    first = lambda s: ell(-differences(s))[relevant][:, relevant].sum(1)
    second = lambda s: ell(-differences(s))[relevant].sum(1)
    if earlier is None:
        return 1 - (first(s) / second(s)).mean()
    u1, u2 = (tracker(part, s, earlier, gamma) for part in (first, second))
    return (u1 / u2**2 * second(s) - first(s) / u2).mean()


def pauc_kl(s, y, cut=None, gamma="1", **surrogate):
    strength = float(surrogate.pop("lambda"))
    terms = pair_losses(s, y, **surrogate) / strength
    return strength * np.mean([logsumexp(row) - np.log(len(row)) for row in terms])


def pair_losses(s, y, **surrogate):
    """One row per relevant item, one column per other."""
    return surrogate_of(**surrogate)(-differences(s))[y > 0][:, y == 0]


def auroc(s, y, cut=None, **surrogate):
    return pair_losses(s, y, **surrogate).mean()


def auroc_margin(s, y, cut=None, margin="1", variables="exact"):
    relevant, others = s[y > 0], s[y == 0]
    spread = ((relevant - relevant.mean()) ** 2).mean() + ((others - others.mean()) ** 2).mean()
    return spread + relu(float(margin) + others.mean() - relevant.mean()) ** 2


def tpauc_kl(s, y, cut=None, worst="1", gamma="1", **parameters):
    strength, worst = float(parameters.pop("lambda")), float(worst)
    rows = pair_losses(s, y, **parameters) / strength
    rows = np.array([logsumexp(row) - np.log(len(row)) for row in rows]) * strength / worst
    return worst * (logsumexp(rows) - np.log(len(rows)))


def largest_mean(values, count):
    return values[np.argsort(-values.real, kind="stable")[:count]].mean()


def pauc_cvar(s, y, cut=None, fpr="0.1", variables="exact", **surrogate):
    rows = pair_losses(s, y, **surrogate)
    return np.mean([largest_mean(row, int(float(fpr) * len(row))) for row in rows])


def tpauc_minmax(s, y, cut=None, fpr="0.3", tpr="0.5", variables="exact", **surrogate):
    rows = pair_losses(s, y, **surrogate)
    costs = np.array([largest_mean(row, int(float(fpr) * len(row))) for row in rows])
    return largest_mean(costs, int((1 - float(tpr)) * len(costs)))


def focal(s, y, cut=None, alpha="0.25", focus="2"):
    """Lin and others: −α_t (1 − p_t)^γ ln p_t, α on the relevant items; mean over the items."""
    z = np.where(y > 0, s, -s)
    weight = np.where(y > 0, float(alpha), 1 - float(alpha))
    return (weight * sigmoid(-z) ** float(focus) * softplus(-z)).mean()


def listwise_ce(s, y, cut=None, gamma="1"):
    return (logsumexp(s) - s[y > 0]).mean()


def ordinal(s, y, cut=None, levels="4", spacing="1"):
    """Thresholds equally spaced round 0, mean over the items."""
    levels = int(levels)
    theta = lambda k: float(spacing) * (k - (levels + 1) / 2)
    return sum((softplus(s - theta(k)) - (y >= k) * (s - theta(k))).mean() for k in range(1, levels + 1))


TWINS = {
    "squared": squared,
    "logistic": logistic,
    "ordinal": ordinal,
    "ranknet": pairs(lambda d: softplus(-d)),
    "bpr": pairs(lambda d: softplus(-d)),
    "ranksvm": pairs(lambda d: relu(1 - d)),
    "lambdarank": lambda_loss("lambdarank"),
    "lambda-map": lambda_loss("lambda-map"),
    "ndcg-loss1": ndcg_loss1,
    "ndcg-loss2": ndcg_loss2,
    "ndcg-loss2pp": ndcg_loss2pp,
    "listnet": listnet,
    "listmle": listmle,
    "approx-ndcg": approx_ndcg,
    "approx-mrr": approx_mrr,
    "neural-ndcg": neural_ndcg,
    "song": song,
    "ap": average_precision,
    "pauc-kl": pauc_kl,
    "auroc": auroc,
    "auroc-margin": auroc_margin,
    "tpauc-kl": tpauc_kl,
    "pauc-cvar": pauc_cvar,
    "tpauc-minmax": tpauc_minmax,
    "focal": focal,
    "listwise-ce": listwise_ce,
}
