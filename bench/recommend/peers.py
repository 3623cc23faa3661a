"""implicit's ALS and BPR, and popularity, on the splits of the harness `recommend`: full ranking over unseen items.

    python bench/recommend/peers.py SHARED/data peers.csv

Needs numpy, scipy and implicit. Settings: 64 factors; ALS regularization 0.01 … 10 and alpha 1 … 40, BPR rate 0.01 and 0.05, each
chosen on the validation part; 3 seeds for the chosen one.
"""

import csv
import gzip
import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import implicit
import numpy as np
import scipy.sparse as sp


def ml100k(folder, by_item):
    rows = [line.split() for line in gzip.open(f"{folder}/recsys/ml-100k/u.data.gz", "rt")]
    users, items = {}, {}
    by = {}
    for k, (u, i, _, t) in enumerate(rows):
        u, number = users.setdefault(u, len(users)), int(i)
        by.setdefault(u, []).append((int(t), number if by_item else k, items.setdefault(i, len(items))))
    train, valid, test = [], [], []
    for u, taken in by.items():
        taken = [i for *_, i in sorted(taken)]
        test.append((u, taken.pop()))
        valid.append((u, taken.pop()))
        train += [(u, i) for i in taken]
    return len(users), len(items), train, valid, test


def ml1m(folder):
    parts, users, items = [], {}, {}
    for name in ["train", "valid", "test"]:
        pairs = []
        for line in gzip.open(f"{folder}/recsys/ml-1m-implicit/{name}.txt.gz", "rt"):
            u, *taken = line.split()
            u = users.setdefault(u, len(users))
            pairs += [(u, items.setdefault(i, len(items))) for i in taken]
        parts.append(pairs)
    return len(users), len(items), *parts


def matrix(shape, pairs):
    u, i = np.array(pairs).T
    return sp.csr_matrix((np.ones(len(u), np.float32), (u, i)), shape)


def ndcg(scores, seen, held, k):
    """Mean over users with a held-out item; scores: users -> all items."""
    values = []
    for start in range(0, held.shape[0], 512):
        stop = min(start + 512, held.shape[0])
        s = scores(start, stop).astype(np.float64)
        s[seen[start:stop].nonzero()] = -np.inf
        best = np.argpartition(-s, k, axis=1)[:, :k]
        order = np.take_along_axis(best, np.argsort(-np.take_along_axis(s, best, 1), axis=1, kind="stable"), 1)
        for r in range(stop - start):
            want = held.indices[held.indptr[start + r] : held.indptr[start + r + 1]]
            if len(want):
                gain = np.isin(order[r], want) / np.log2(np.arange(2, k + 2))
                values.append(gain.sum() / (1 / np.log2(np.arange(2, min(k, len(want)) + 2))).sum())
    return float(np.mean(values))


def main(folder, out):
    lines = []
    for name, k, data in [
        ("ml-100k", 10, ml100k(folder, False)),
        ("ml-100k-ties", 10, ml100k(folder, True)),
        ("ml-1m", 20, ml1m(folder)),
    ]:
        users, items, train, valid, test = data
        shape = (users, items)
        train, valid, test = (matrix(shape, pairs) for pairs in (train, valid, test))
        # The test of ml-1m has the validation items among its candidates.
        seen = train if name == "ml-1m" else train + valid
        popular = np.asarray(train.sum(0)).ravel()
        flat = lambda a, b: np.tile(popular, (b - a, 1))
        lines.append([name, "popularity", "", k, ndcg(flat, train, valid, k), ndcg(flat, seen, test, k), 0.0])
        settings = [("als", dict(regularization=r, alpha=a)) for r in (0.01, 1.0, 10.0) for a in (1.0, 5.0, 20.0)]
        settings += [("bpr", dict(learning_rate=rate, regularization=r)) for rate in (0.01, 0.05) for r in (0.01, 0.05)]
        for kind in ["als", "bpr"]:
            best = None
            for _, options in [s for s in settings if s[0] == kind]:
                value, model, seconds = fit(kind, options, train, valid, k, 1)
                if best is None or value > best[0]:
                    best = (value, options)
            runs = []
            for seed in (1, 2, 3):
                value, model, seconds = fit(kind, best[1], train, valid, k, seed)
                runs.append((value, ndcg(by(model), seen, test, k), seconds))
            value, tested, seconds = np.mean(runs, 0)
            lines.append([name, kind, str(best[1]).replace(",", ";"), k, value, tested, seconds])
            print(lines[-1], flush=True)
    with open(out, "w") as file:
        writer = csv.writer(file)
        writer.writerow(["set", "peer", "settings", "k", "valid ndcg@k", "test ndcg@k", "seconds"])
        writer.writerows([*line[:4], f"{line[4]:.4f}", f"{line[5]:.4f}", f"{line[6]:.1f}"] for line in lines)


def by(model):
    users, items = np.asarray(model.user_factors), np.asarray(model.item_factors)
    return lambda a, b: users[a:b] @ items.T


def fit(kind, options, train, valid, k, seed):
    common = dict(factors=64, num_threads=1, random_state=seed)
    started = time.time()
    if kind == "als":
        model = implicit.als.AlternatingLeastSquares(iterations=15, **common, **options)
    else:
        model = implicit.bpr.BayesianPersonalizedRanking(iterations=100, verify_negative_samples=True, **common, **options)
    model.fit(train, show_progress=False)
    seconds = time.time() - started
    return ndcg(by(model), train, valid, k), model, seconds


if __name__ == "__main__":
    main(*sys.argv[1:])
