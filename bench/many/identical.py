"""Is a model the same for any number of workers? toprank, LightGBM and XGBoost on the workers of a Dask cluster.

python bench/many/identical.py DIR      with the package toprank installed, and dask[array,distributed], lightgbm, xgboost-cpu, scikit-learn

2,000 lists of 20 documents, 20 trees, whole lists on every worker. identical.csv has, for 2, 3 and (toprank) 4 workers, the largest difference of a
score from that of one worker, and for toprank the checksum of the model file, also of a run that was resumed with another number.
"""

import csv
import hashlib
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

LISTS, LENGTH, WIDTH, TREES = 2000, 20, 10, 20
HERE = pathlib.Path(__file__).resolve().parent


def data():
    random = np.random.default_rng(1)
    features = random.random((LISTS * LENGTH, WIDTH)).astype(np.float32)
    signal = features[:, 0] * features[:, 1] + 0.5 * features[:, 2] + 0.3 * random.random(len(features))
    return features, np.digitize(signal, np.quantile(signal, [0.5, 0.75, 0.9, 0.97])).astype(np.int32)


def parts(count):
    """Rows of each worker, whole lists."""
    cuts = [LISTS * part // count * LENGTH for part in range(count + 1)]
    return tuple(after - before for before, after in zip(cuts, cuts[1:]))


def of_lightgbm(client, features, labels, count):
    import dask.array as da
    import lightgbm

    rows = parts(count)
    model = lightgbm.DaskLGBMRanker(
        client=client, n_estimators=TREES, tree_learner="data", deterministic=True, num_threads=1, seed=1, verbose=-1, min_child_samples=20
    )
    groups = da.from_array(np.full(LISTS, LENGTH), chunks=(tuple(part // LENGTH for part in rows),))
    model.fit(da.from_array(features, chunks=(rows, (WIDTH,))), da.from_array(labels, chunks=(rows,)), group=groups)
    return model.to_local().predict(features)


def of_xgboost(client, features, labels, count):
    import dask.array as da
    import xgboost.dask

    rows = parts(count)
    lists = np.repeat(np.arange(LISTS), LENGTH)
    model = xgboost.dask.DaskXGBRanker(n_estimators=TREES, objective="rank:ndcg", random_state=1, n_jobs=1, allow_group_split=True)
    model.client = client
    chunked = da.from_array(features, chunks=(rows, (WIDTH,))), da.from_array(labels, chunks=(rows,))
    model.fit(*chunked, qid=da.from_array(lists, chunks=(rows,)))
    return model.get_booster().inplace_predict(features)


FLAGS = dict(model="trees", objective="lambdamart", seed=1, trees=TREES)


def of_toprank(client, folder, count):
    import toprank

    output = folder / f"m{count}.toprank"
    ranker = toprank.dask.train(client, data=folder / "train.txt", output=output, force=True, workers=count, **FLAGS)
    return ranker, hashlib.sha256(output.read_bytes()).hexdigest()[:16]


def resumed(folder, first, second):
    """The checksum after a run of `first` workers that is interrupted and resumed by `second`."""
    import toprank

    output = folder / f"r{first}{second}.toprank"
    words = ["train", "--data", str(folder / "train.txt"), "--workers", str(first), "--checkpoint-every", "0", "--quiet", "--force"]
    words += [f"--{name}={value}" for name, value in FLAGS.items()]
    child = subprocess.Popen([sys.executable, "-m", "toprank", *words, "-o", str(output)])
    checkpoint = pathlib.Path(f"{output}.checkpoint")
    begun = None
    while child.poll() is None:
        size = checkpoint.stat().st_size if checkpoint.exists() else None
        begun = begun or size
        # Some trees are done.
        if size and size > begun + 2000:
            break
        time.sleep(0.001)
    child.kill()
    child.wait()
    assert checkpoint.exists(), "killed before its end"
    toprank.command("train", resume=output, workers=second)
    return hashlib.sha256(output.read_bytes()).hexdigest()[:16]


def main():
    import distributed

    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    features, labels = data()
    with open(folder / "train.txt", "w") as file:
        for row, (label, values) in enumerate(zip(labels, features)):
            file.write(f"{label} qid:{row // LENGTH} " + " ".join(f"{k}:{value}" for k, value in enumerate(values, 1)) + "\n")
    os.environ["TOPRANK_HOST"] = "127.0.0.1"
    scores, sums = {}, {}
    for count in (1, 2, 3, 4):
        with distributed.LocalCluster(n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:
                ranker, sums[count] = of_toprank(client, folder, count)
                scores["toprank", count] = ranker.predict(features, group=np.full(LISTS, LENGTH))
                # Four workers of LightGBM did not find each other within minutes on two busy cores.
                for name, train in [("LightGBM", of_lightgbm), ("XGBoost", of_xgboost)] if count < 4 else []:
                    scores[name, count] = train(client, features, labels, count)
        print(count, sums[count], flush=True)
    again = {pair: resumed(folder, *pair) for pair in [(1, 3), (2, 1), (3, 2), (2, 4)]}
    import lightgbm
    import toprank
    import xgboost.dask

    versions = {"toprank": toprank.__version__, "LightGBM": lightgbm.__version__, "XGBoost": xgboost.__version__}
    with open(HERE / "identical.csv", "w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["tool", "version", "workers", "largest difference of a score", "sha256"])
        for (name, count), found in scores.items():
            difference = np.abs(found - scores[name, 1]).max()
            table.writerow([name, versions[name], count, f"{difference:.3g}", sums[count] if name == "toprank" else ""])
        for (first, second), checksum in again.items():
            table.writerow(["toprank", versions["toprank"], f"{first}, killed, then {second}", "", checksum])
    assert len({*sums.values(), *again.values()}) == 1, "one model"


if __name__ == "__main__":
    main()
