#!/usr/bin/env python3
"""Would DART or interaction constraints pay? Asked of LightGBM, which has both: LambdaRank on five folds of MQ2008 and OHSUMED.

    python bench/trees/dart_and_interactions.py DATA

Folds, evaluation and tests as in quality_vs_peers.py. Trees of 7 leaves, learning rate 0.05, three seeds for DART; the number of trees is the best on
validation of 50, 100, 200 for every setting alike (DART changes trees it has, so it cannot be stopped early). "additive":
no tree may use two features, the strictest constraint there is. p: two-sided randomisation test over the test lists against plain
boosting. Row "chosen": the setting whose validation is best, mean over both sets.
"""
import argparse, csv
from pathlib import Path

import lightgbm as lgb
import numpy as np
from quality_vs_peers import SEEDS, SETS, mean, ndcg, p_value, read

ROUNDS = [50, 100, 200]


def settings(width):
    yield "plain", {}
    for drop, most in [(0.1, 50), (0.1, 5)]:
        yield f"dart, drop {drop}, at most {most}", dict(boosting="dart", drop_rate=drop, max_drop=most)
    yield "additive", dict(interaction_constraints=[[f] for f in range(width)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("-o", default=str(Path(__file__).with_suffix(".csv")))
    args = parser.parse_args()
    valid, test = {}, {}
    for name, pattern in SETS.items():
        parts = [read(Path(args.data) / pattern.format(i)) for i in range(1, 6)]
        for fold in range(5):
            pick = [parts[(fold + i) % 5] for i in range(5)]
            x, y, g = (np.concatenate([p[i] for p in pick[:3]]) for i in range(3))
            for setting, more in settings(x.shape[1]):
                for seed in SEEDS if more.get("boosting") else SEEDS[:1]:  # only DART draws
                    params = dict(objective="lambdarank", num_leaves=7, learning_rate=0.05, verbose=-1, seed=seed,
                                  num_threads=1, bagging_seed=seed, drop_seed=seed, **more)
                    best = None
                    for rounds in ROUNDS:
                        # DART rescales earlier trees, so each number of rounds is a run of its own.
                        if best is None or more.get("boosting"):
                            length = rounds if more.get("boosting") else ROUNDS[-1]
                            model = lgb.train(params, lgb.Dataset(x, y, group=g), length)
                        score = lambda rows: model.predict(rows, num_iteration=rounds)
                        on_valid = mean(ndcg(score(pick[3][0]), *pick[3][1:]))
                        if best is None or on_valid > best[0]:
                            best = on_valid, ndcg(score(pick[4][0]), *pick[4][1:])
                    valid.setdefault((name, setting), []).append(best[0])
                    test.setdefault((name, setting), {}).setdefault(seed, []).extend(best[1])
    random = np.random.default_rng(1)
    names = [setting for setting, _ in settings(1)]
    chosen = max(names, key=lambda s: np.mean([np.mean(valid[name, s]) for name in SETS]))
    with open(args.o, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["set", "setting", "chosen_on_validation", "valid_ndcg@10", "test_ndcg@10", "p"])
        for name in SETS:
            lists = {s: per_list(test[name, s]) for s in names}
            for s in names:
                p = "" if s == "plain" else f"{p_value(lists[s] - lists['plain'], random):.4f}"
                row = [name, s, "chosen" if s == chosen else "", f"{np.mean(valid[name, s]):.4f}", f"{np.mean(lists[s]):.4f}", p]
                print(*row, sep="\t", flush=True)
                writer.writerow(row)


def per_list(by_seed):
    """Mean over seeds of each list that counts."""
    return np.array([np.mean(values) for values in zip(*by_seed.values()) if values[0] is not None])


if __name__ == "__main__":
    main()
