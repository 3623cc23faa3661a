#!/usr/bin/env python3
"""Test NDCG@10 of boosted trees on five folds of MQ2008 and OHSUMED: ours and the peers', early stopping on validation.

    cargo build --release -p toprank-bench --no-default-features
    python bench/trees/quality_vs_peers.py DATA [--tools toprank,lightgbm,xgboost,catboost]

DATA is the folder with letor/mq2008 and letor/ohsumed. Parts i, i+1, i+2 train, i+3 validates, i+4 is the test. Ours are the
defaults of `toprank train --model trees` with each objective, mean over three seeds. Among the settings of a tool the one with
the best validation, mean over both sets, is its line "chosen"; test values never choose. Gain 2^y − 1, lists without a relevant
item skipped, ties averaged (the peers' scores are evaluated by the same rule). p: two-sided randomisation test over the test lists
against the chosen line of toprank.
"""
import argparse, csv, gzip, json, subprocess, sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402
OBJECTIVES = ["ndcg@10", "lambdarank", "lambdarank@10", "lambdarank@30:norm=lightgbm", "lambda-map", "lambda-err", "xe-ndcg",
              "yetirank", "listnet", "listwise-ce", "ranknet", "ndcg-loss2", "ndcg-loss2pp", "song", "song:gamma=1", "k-song",
              "approx-ndcg", "smoothi", "ap", "auroc", "squared"]
SEEDS = [1, 2, 3]
SETS = {"mq2008": "letor/mq2008/S{}.txt.gz", "ohsumed": "letor/ohsumed/fold{}.test.txt.gz"}


def read(path):
    labels, queries, rows = [], [], []
    for line in gzip.open(path, "rt"):
        words = line.split("#")[0].split()
        if not words:
            continue
        labels.append(float(words[0]))
        queries.append(words[1])
        rows.append({int(k): float(v) for k, v in (w.split(":") for w in words[2:])})
    width = max(max(row) for row in rows if row)
    x = np.zeros((len(rows), width), np.float32)
    for r, row in enumerate(rows):
        for k, v in row.items():
            x[r, k - 1] = v
    starts = [0] + [i for i in range(1, len(queries)) if queries[i] != queries[i - 1]] + [len(queries)]
    return x, np.array(labels, np.float32), np.diff(starts)


def ndcg(scores, labels, sizes, k=10):
    """Per list; equal scores share the mean gain of their places."""
    values, at = [], 0
    discount = 1 / np.log2(np.arange(2, 10_002))
    for n in sizes:
        y, s = labels[at : at + n], scores[at : at + n]
        at += n
        gains = 2.0**y - 1
        ideal = (np.sort(gains)[::-1][:k] * discount[: min(n, k)]).sum()
        if ideal == 0:
            values.append(None)
            continue
        dcg, place = 0.0, 0
        for score in np.unique(s)[::-1]:
            group = gains[s == score]
            cut = discount[place : place + len(group)].copy()
            cut[max(0, k - place) :] = 0
            dcg += group.mean() * cut.sum()
            place += len(group)
        values.append(dcg / ideal)
    return values


def mean(values):
    return float(np.mean([v for v in values if v is not None]))


def p_value(apart, random):
    """Two-sided randomisation test of differences list by list."""
    flips = random.choice([-1.0, 1.0], size=(10_000, len(apart)))
    return ((np.abs(flips @ apart) >= abs(apart.sum())).sum() + 1) / 10_001


def peers(tools, folder):
    for name, pattern in SETS.items():
        parts = [read(Path(folder) / pattern.format(i)) for i in range(1, 6)]
        for fold in range(5):
            pick = [parts[(fold + i) % 5] for i in range(5)]
            x = np.vstack([p[0] for p in pick[:3]])
            y = np.concatenate([p[1] for p in pick[:3]])
            g = np.concatenate([p[2] for p in pick[:3]])
            for tool in tools:
                for setting, predict in fits(tool, (x, y, g), pick[3]):
                    valid = mean(ndcg(predict(pick[3][0]), *pick[3][1:]))
                    test = ndcg(predict(pick[4][0]), *pick[4][1:])
                    yield dict(set=name, tool=tool, setting=setting, fold=fold + 1, valid=valid, test=mean(test),
                               per_list=test)


def fits(tool, train, valid):
    x, y, g = train
    vx, vy, vg = valid
    if tool == "lightgbm":
        import lightgbm as lgb

        for objective in ["lambdarank", "rank_xendcg"]:
            for leaves in [7, 31]:
                data = lgb.Dataset(x, y, group=g)
                params = dict(objective=objective, metric="ndcg", eval_at=[10], num_leaves=leaves, learning_rate=0.05,
                              verbose=-1, seed=1)
                model = lgb.train(params, data, 500, valid_sets=[lgb.Dataset(vx, vy, group=vg, reference=data)],
                                  callbacks=[lgb.early_stopping(100, verbose=False)])
                yield f"{objective}, {leaves} leaves", model.predict
    elif tool == "xgboost":
        import xgboost as xgb

        data, watch = xgb.DMatrix(x, y), xgb.DMatrix(vx, vy)
        data.set_group(g)
        watch.set_group(vg)
        for depth in [3, 6]:
            params = dict(objective="rank:ndcg", eval_metric="ndcg@10", eta=0.05, max_depth=depth, seed=1)
            model = xgb.train(params, data, 500, evals=[(watch, "valid")], early_stopping_rounds=100, verbose_eval=False)
            end = (0, model.best_iteration + 1)
            yield f"rank:ndcg, depth {depth}", lambda rows: model.predict(xgb.DMatrix(rows), iteration_range=end)
    else:
        import catboost

        ids = lambda sizes: np.repeat(np.arange(len(sizes)), sizes)
        model = catboost.CatBoost(dict(loss_function="YetiRank", eval_metric="NDCG:top=10;type=Exp", iterations=500,
                                       learning_rate=0.05, random_seed=1, verbose=False, allow_writing_files=False))
        model.fit(catboost.Pool(x, y, group_id=ids(g)), eval_set=catboost.Pool(vx, vy, group_id=ids(vg)),
                  early_stopping_rounds=100)
        yield "YetiRank, depth 6", model.predict


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--tools", default="toprank,lightgbm,xgboost,catboost")
    parser.add_argument("-o", default=str(HERE / "quality_vs_peers.csv"))
    args = parser.parse_args()
    tools = args.tools.split(",")
    rows = []
    if "toprank" in tools:
        settings = [f'objective = "{name}"; seed = {seed}' for name in OBJECTIVES for seed in SEEDS]
        text = subprocess.run([*harness.command("trees-quality"), args.data] + settings, stdout=subprocess.PIPE, text=True, check=True).stdout
        ours = [json.loads(line) for line in text.splitlines()]
        rows += [row | {"setting": row["setting"].split('"')[1]} for row in ours]
    rows += list(peers([tool for tool in tools if tool != "toprank"], args.data))

    def mine(name, tool, setting):
        return [row for row in rows if (row["set"], row["tool"], row["setting"]) == (name, tool, setting)]

    def of(name, tool, setting, what):
        return float(np.mean([row[what] for row in mine(name, tool, setting)]))

    def lists(name, tool, setting):
        """One value per test list, fold after fold, mean over seeds."""
        values = []
        for fold in range(1, 6):
            runs = [row["per_list"] for row in mine(name, tool, setting) if row["fold"] == fold]
            values += [np.mean(run) for run in zip(*runs) if run[0] is not None]
        return np.array(values)

    chosen = {}
    for tool in tools:
        settings = sorted({row["setting"] for row in rows if row["tool"] == tool})
        chosen[tool] = max(settings, key=lambda s: sum(of(name, tool, s, "valid") for name in SETS))
    random = np.random.default_rng(1)
    table = []
    for name in SETS:
        best = lists(name, "toprank", chosen["toprank"]) if "toprank" in tools else None
        for tool in tools:
            for setting in sorted({row["setting"] for row in rows if row["tool"] == tool}):
                p = ""
                if best is not None and (tool, setting) != ("toprank", chosen["toprank"]):
                    p = f"{p_value(lists(name, tool, setting) - best, random):.4f}"
                mark = "chosen" if setting == chosen[tool] else ""
                values = [f"{of(name, tool, setting, what):.4f}" for what in ("valid", "test")]
                table.append([name, tool, setting, mark, *values, p])
    with open(args.o, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["set", "tool", "setting", "chosen_on_validation", "valid_ndcg@10", "test_ndcg@10", "p"])
        writer.writerows(table)
    for row in table:
        print(*row, sep="\t")


if __name__ == "__main__":
    main()
