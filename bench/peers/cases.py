"""Random lists for the peers, from a seed.

A list is a dict: `scores`, `labels` (None = retrieved but not judged), and where a case has them `weight` (of the
list), `item_weights`, `names` (of the items), `missed` (labels of judged items that were not retrieved).
Scores have few digits, so that text, f32 and f64 hold the same number unless a case wants the contrary.
"""

import numpy as np

GRADES = ([0, 1, 2, 3, 4], [0.5, 0.2, 0.15, 0.1, 0.05])
BINARY = ([0, 1], [0.65, 0.35])
WEIGHTS = [0.25, 0.5, 1.0, 2.0, 3.5]


def make_list(rng, n, grades, levels=None, relevant=False):
    """n items; `levels`: scores come from that few values, else all differ; `relevant`: at least one is."""
    labels = rng.choice(grades[0], size=n, p=grades[1])
    if relevant and not labels.any():
        labels[rng.integers(n)] = 1
    if levels:
        scores = rng.integers(levels, size=n) / 4 - 0.5
    else:
        # 1/1024 steps are exact in f32 and in text; a little signal makes the values differ from chance.
        scores = rng.choice(4096, size=n, replace=False) / 1024 - 2
    return {"scores": [float(s) for s in scores], "labels": [int(y) for y in labels]}


def make_lists(rng, count, longest, grades, **how):
    """Lists of 1 to `longest` items, short ones more often."""
    lengths = 1 + (longest * rng.random(count) ** 2).astype(int)
    return [make_list(rng, int(n), grades, **how) for n in lengths]


def edge_lists(top):
    """Lists at which definitions part: without a relevant item, all relevant, one item, constant scores."""
    down = sorted([0, 0, 0, 1, top // 2, top], reverse=True)
    return [
        {"scores": [0.5, 0.25, 1.0, 0.75], "labels": [0, 0, 0, 0]},
        {"scores": [0.5, 0.25, 1.0, 0.75], "labels": [top] * 4},
        {"scores": [0.5], "labels": [top]},
        {"scores": [0.5], "labels": [0]},
        {"scores": [0.0] * 6, "labels": down},
        {"scores": [0.0] * 6, "labels": down[::-1]},
        {"scores": [2.0, 1.0], "labels": [0, 1]},
        {"scores": [1.0, 2.0], "labels": [0, 1]},
        {"scores": [3.0, 2.0, 1.0, 0.0, -1.0, -2.0, -3.0], "labels": [0, 0, 0, 0, 0, 0, 1]},
    ]


def almost():
    """1 and 1 + 1e-10 are equal in f32: who rounds sees ties."""
    return [
        {"scores": [1.0, 1.0000000001, 0.5, 1.0], "labels": [1, 0, 1, 0]},
        {"scores": [1.0, 1.0000000001, 0.5, 1.0], "labels": [0, 1, 1, 0]},
        {"scores": [1.0, 1.0000000001, 0.5], "labels": [2, 0, 1]},
    ]


def with_list_weights(rng, lists):
    return [dict(one, weight=float(rng.choice(WEIGHTS))) for one in lists]


def with_item_weights(rng, one):
    return dict(one, item_weights=[float(w) for w in rng.choice(WEIGHTS, size=len(one["scores"]))])


def grouped(seed, times=1):
    """Cases for peers that judge a data set cut into lists; weighted ones have a relevant item in every list.
    `times`: so many times more lists."""
    rng = np.random.default_rng(seed)
    return [
        ("graded, all scores differ", make_lists(rng, 24 * times, 30, GRADES)),
        ("graded, tied scores", make_lists(rng, 24 * times, 30, GRADES, levels=5)),
        ("binary, all scores differ", make_lists(rng, 24 * times, 30, BINARY)),
        ("binary, tied scores", make_lists(rng, 24 * times, 30, BINARY, levels=5)),
        ("graded edges", edge_lists(4)),
        ("binary edges", edge_lists(1)),
        ("scores that tie only in f32", almost()),
        ("graded, list weights", with_list_weights(rng, make_lists(rng, 20 * times, 20, GRADES, levels=5, relevant=True))),
        ("binary, list weights", with_list_weights(rng, make_lists(rng, 20 * times, 20, BINARY, levels=5, relevant=True))),
    ]


def fractional(seed, times=1):
    """Labels 0.125 apart up to 1, some of them exactly at 0.5, above which an item is relevant to some peers."""
    rng = np.random.default_rng(seed + 3)
    lists = make_lists(rng, 12 * times, 12, (list(range(9)), [1 / 9] * 9), levels=5)
    low = {"scores": [0.75, 0.5, 0.25], "labels": [1, 4, 2]}
    return [dict(one, labels=[y / 8 for y in one["labels"]]) for one in [*lists, low]]


def empty_and_weighted():
    """Trap: two lists, the second without a relevant item, weights (1, 0.1) and (0.1, 0.1)."""
    first = {"scores": [3.0, 2.0, 1.0], "labels": [1, 0, 0]}
    second = {"scores": [3.0, 2.0, 1.0], "labels": [0, 0, 0]}
    return [
        (f"the second list has no relevant item, weights {a} and {b}", [dict(first, weight=a), dict(second, weight=b)])
        for a, b in [(1.0, 0.1), (0.1, 0.1)]
    ]


def single(seed):
    """Cases of one list, a whole binary data set: AUC and the like."""
    rng = np.random.default_rng(seed + 1)
    plain = make_list(rng, 60, BINARY)
    tied = make_list(rng, 80, BINARY, levels=6)
    return [
        ("one binary list, all scores differ", [plain]),
        ("one binary list, tied scores", [tied]),
        ("one binary list, constant scores", [{"scores": [0.5] * 9, "labels": [1, 0, 0, 1, 0, 0, 0, 1, 0]}]),
        ("one binary list, item weights", [with_item_weights(rng, make_list(rng, 60, BINARY))]),
        ("one binary list, tied scores, item weights", [with_item_weights(rng, make_list(rng, 60, BINARY, levels=6))]),
    ]


def judged(seed, longest, times=1):
    """Cases of qrels and a run: names, judged items that were not retrieved, retrieved ones that are not judged."""
    rng = np.random.default_rng(seed + 2)

    def dress(lists):
        out = []
        for one in lists:
            n = len(one["scores"])
            # Names whose order is neither that of the scores nor that of the input; d9 sorts above d10.
            names = [f"d{i}" for i in rng.permutation(4 * n)[:n]]
            labels = [None if rng.random() < 0.2 else y for y in one["labels"]]
            if all(y is None for y in labels):
                labels[0] = one["labels"][0]
            missed = [int(y) for y in rng.choice(*[GRADES[0]], size=int(rng.integers(4)), p=GRADES[1])]
            out.append(dict(one, names=names, labels=labels, missed=missed))
        return out

    def named(lists):
        return [dict(one, names=[f"d{i}" for i in range(len(one["scores"]))], missed=[]) for one in lists]

    # trec_eval counts a judgement below 0 as no judgement.
    negative = [
        {"scores": [0.9, 0.7, 0.5, 0.3], "labels": [-1, 0, 1, 2], "names": ["a", "b", "c", "d"], "missed": [-1, 1]},
        {"scores": [0.9, 0.7, 0.5, 0.3], "labels": [-2, -1, 1, None], "names": ["a", "b", "c", "d"], "missed": []},
        {"scores": [0.9, 0.7], "labels": [-1, -1], "names": ["a", "b"], "missed": []},
    ]
    return [
        ("graded, all scores differ", dress(make_lists(rng, 24 * times, 30, GRADES))),
        ("graded, tied scores", dress(make_lists(rng, 24 * times, longest, GRADES, levels=4))),
        ("binary, tied scores", dress(make_lists(rng, 16 * times, longest, BINARY, levels=4))),
        ("graded edges", named(edge_lists(4))),
        ("scores that tie only in f32", named(almost())),
        ("judgements below 0", negative),
    ]


# numba's argsort is not stable beyond 15 items: ranx's order among ties is then arbitrary.
RANX_STABLE = 15


def of(peer, seed, times=1):
    """The cases that a peer can judge: (name, lists)."""
    if peer in ("pytrec_eval", "ranx"):
        return judged(seed, RANX_STABLE if peer == "ranx" else 30, times)
    found = grouped(seed, times) + single(seed)
    if peer in ("catboost", "sklearn"):  # the others refuse such labels
        found.append(("labels that are not whole", fractional(seed, times)))
    if peer == "sklearn":
        found = [(name, [one for one in lists if defined(name, one)]) for name, lists in found]
    return found


def defined(name, one):
    """ndcg_score refuses a list of one item, roc_auc_score one class, kendalltau constants (edges: the first only)."""
    varied = len(set(one["labels"])) > 1 and len(set(one["scores"])) > 1
    return len(one["labels"]) > 1 and (varied or "edges" in name or "constant" in name)
