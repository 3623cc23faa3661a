"""Trees of LightGBM and XGBoost trained with toprank's objectives beside their own: MQ2008 and OHSUMED, five folds.

    python bench/python/objectives_in_trees.py DATA [-o bench/python/objectives_in_trees.csv] [--rounds 500]

DATA is the folder with letor/mq2008 and letor/ohsumed; the package toprank, LightGBM and XGBoost must be installed. Parts i, i+1,
i+2 train, i+3 validates, i+4 is the test. Every fit has the same trees (LightGBM 7 leaves, XGBoost depth 3, rate 0.05, one
thread, the other settings as they come), is stopped early by toprank's ndcg@10 on the validation part, and is evaluated on the
test part; nothing is tuned. XGBoost's rank:map learns from labels above 0, since it takes no grades. p: two-sided paired
randomisation test over the test lists of all folds against the library's own ndcg objective (lambdarank, rank:ndcg), corrected by Holm over the lines of a library and a set; lists without a relevant
item are excluded.
"""

import argparse
import csv
import gzip
import pathlib
import time
import warnings

import lightgbm
import numpy as np
import xgboost

import toprank
import toprank.lightgbm
import toprank.xgboost

HERE = pathlib.Path(__file__).resolve().parent
SETS = {"mq2008": "letor/mq2008/S{}.txt.gz", "ohsumed": "letor/ohsumed/fold{}.test.txt.gz"}
OWN = {"lightgbm": ["lambdarank", "rank_xendcg"], "xgboost": ["rank:ndcg", "rank:map", "rank:pairwise"]}
OURS = ["song", "k-song@10", "ap", "xe-ndcg", "lambdarank", "lambda-map", "ndcg-loss2pp", "yetirank", "listnet", "approx-ndcg"]
PATIENCE = 100
RATE = 0.05


def read(path):
    labels, queries, rows = [], [], []
    for line in gzip.open(path, "rt"):
        words = line.split("#")[0].split()
        if words:
            labels.append(float(words[0]))
            queries.append(words[1])
            rows.append([float(word.split(":")[1]) for word in words[2:]])
    sizes = np.diff(np.flatnonzero(np.concatenate([[True], np.array(queries[1:]) != np.array(queries[:-1]), [True]])))
    return np.array(rows, np.float32), np.array(labels, np.float32), sizes


def joined(parts):
    return tuple(np.concatenate(columns) for columns in zip(*parts))


def by_lightgbm(objective, ours, train, valid, test, rounds):
    data = lightgbm.Dataset(train[0], train[1], group=train[2])
    watch = lightgbm.Dataset(valid[0], valid[1], group=valid[2], reference=data)
    params = {
        "objective": toprank.lightgbm.objective(objective) if ours else objective,
        "metric": "None",
        "num_leaves": 7,
        "learning_rate": RATE,
        "num_threads": 1,
        "seed": 1,
        "verbose": -1,
    }
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    trees = lightgbm.train(
        params, data, rounds, valid_sets=[watch], feval=toprank.lightgbm.metric("ndcg@10"), callbacks=[stop]
    )
    return trees.best_iteration, trees.predict(test[0], raw_score=True)


def by_xgboost(objective, ours, train, valid, test, rounds):
    # XGBoost's map takes labels of 0 and 1 alone.
    labels = train[1] > 0 if objective == "rank:map" else train[1]
    data, watch = xgboost.DMatrix(train[0], labels), xgboost.DMatrix(valid[0], valid[1])
    data.set_group(train[2])
    watch.set_group(valid[2])
    params = {"max_depth": 3, "eta": RATE, "nthread": 1, "seed": 1, "base_score": 0, "disable_default_eval_metric": 1}
    trees = xgboost.train(
        params if ours else {**params, "objective": objective},
        data,
        rounds,
        obj=toprank.xgboost.objective(objective) if ours else None,
        custom_metric=toprank.xgboost.metric("ndcg@10"),
        evals=[(watch, "valid")],
        maximize=True,
        early_stopping_rounds=PATIENCE,
        verbose_eval=False,
    )
    end = (0, trees.best_iteration + 1)
    return trees.best_iteration + 1, trees.predict(xgboost.DMatrix(test[0]), output_margin=True, iteration_range=end)


def holm(p):
    """Corrected p values, in the order they came in."""
    order = sorted(range(len(p)), key=p.__getitem__)
    corrected, largest = [0.0] * len(p), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, p[place] * (len(p) - rank)))
        corrected[place] = largest
    return corrected


def block(name, tool, parts, rounds):
    """The lines of a set and a library."""
    fit = by_lightgbm if tool == "lightgbm" else by_xgboost
    runs = {}
    for objective, ours in [(o, False) for o in OWN[tool]] + [(o, True) for o in OURS]:
        start, scores, trees = time.process_time(), [], []
        for fold in range(5):
            train, valid, test = joined([parts[(fold + i) % 5] for i in range(3)]), parts[(fold + 3) % 5], parts[(fold + 4) % 5]
            count, found = fit(objective, ours, train, valid, test, rounds)
            trees.append(count)
            scores.append(found)
        runs[objective, ours] = np.concatenate(scores), np.mean(trees), time.process_time() - start
        print(name, tool, objective, "ours" if ours else "own", f"{time.process_time() - start:.1f} s", flush=True)
    _, labels, sizes = joined([parts[(fold + 4) % 5] for fold in range(5)])
    base = runs[OWN[tool][0], False][0]
    lines, p = [], []
    for (objective, ours), (scores, trees, seconds) in runs.items():
        found = toprank.evaluate(labels, scores, group=sizes, metrics="ndcg@10,map")
        line = {"set": name, "trees": tool, "objective": objective, "by": "toprank" if ours else tool}
        line |= {"ndcg@10": f"{found['ndcg@10']:.4f}", "map": f"{found['map']:.4f}", "difference": "", "p": "", "p_holm": ""}
        if scores is not base:
            pair = toprank.compare(
                {"own": base, "this": scores}, labels, group=sizes, metrics="ndcg@10", tests="randomisation", correction="none"
            ).metrics["ndcg@10"]["pairs"][0]
            line["difference"] = f"{pair['mean_difference']:+.4f}"
            p.append(pair["tests"][0]["p_corrected"])
            line["p"] = f"{p[-1]:.4f}"
        lines.append(line | {"mean_trees": f"{trees:.0f}", "cpu_seconds": f"{seconds:.1f}"})
    for line, corrected in zip([line for line in lines if line["p"]], holm(p)):
        line["p_holm"] = f"{corrected:.4f}"
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("-o", type=pathlib.Path, default=HERE / "objectives_in_trees.csv")
    parser.add_argument("--rounds", type=int, default=500)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("lightgbm", lightgbm.__version__, "xgboost", xgboost.__version__, "toprank", toprank.__version__)
    lines = []
    for name, pattern in SETS.items():
        parts = [read(args.data / pattern.format(i)) for i in range(1, 6)]
        for tool in OWN:
            lines += block(name, tool, parts, args.rounds)
    with args.o.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    for line in lines:
        print(*line.values(), sep="\t")


if __name__ == "__main__":
    main()
