#!/usr/bin/env python3
"""Boosted trees against LightGBM, XGBoost and CatBoost: binning, training with LambdaRank, prediction, text to bins.

    cargo build --release -p toprank-bench --no-default-features
    target/release/toprank-bench trees-speed make FOLDER 1500
    python bench/trees/speed_vs_peers.py FOLDER --leaves 31,255 --threads 1,2

All tools see the same rows (179,250 × 136, generated; `make FOLDER 15000`: 1.8 million) and take turns in one run; each
measurement runs in its own process. Wall and CPU seconds, and NDCG@10 on the training rows as a sign that the work is the same.
"text to bins" is from the text file to bins in memory: ours reads LETOR, LightGBM the same lines without qid and comments and a file
of list sizes, which are written before. "peak memory" is of a process that begins with that text and trains (its peers below begin
with numbers, in "peak memory given numbers"); "memory without numbers" is what training takes where no tool keeps the numbers: ours
over a memory-mapped file (its pages belong to the system), LightGBM with `two_round`. Where training time goes ("spent on …", and
"memory", what the machine moves when it does nothing else) is written to a file of its own.
Needs numpy, lightgbm; xgboost and catboost where installed. 1.8 million rows need 6 GB of memory and 7 GB of disk.
"""
import argparse, csv, json, os, resource, statistics, subprocess, sys, time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402


MEASURED = ["bin", "text to bins", "train", "predict", "predict one list", "peak memory", "peak memory given numbers",
            "memory without numbers"]


def peer(tool, folder, leaves, threads, trees):
    """Runs in a child process; prints one line of JSON per measurement, as ours does."""
    import numpy as np

    def cpu():
        use = resource.getrusage(resource.RUSAGE_SELF)
        return use.ru_utime + use.ru_stime

    def report(what, start, more=None):
        line = {"what": what, "wall": time.perf_counter() - start[0], "cpu": cpu() - start[1], **(more or {})}
        print(json.dumps(line), flush=True)

    def begin():
        return time.perf_counter(), cpu()

    def best(predict):
        """Scores, and the best wall and CPU seconds of three."""
        seconds = []
        for _ in range(3):
            start = begin()
            scores = predict()
            seconds.append((time.perf_counter() - start[0], cpu() - start[1]))
        return scores, min(seconds)

    if tool in ["lightgbm-text", "lightgbm-two-round"]:
        import lightgbm as lgb

        start = begin()
        params = dict(max_bin=255, num_threads=threads, verbose=-1, objective="lambdarank", num_leaves=leaves,
                      two_round=tool == "lightgbm-two-round")
        data = lgb.Dataset(f"{folder}/train.svm", params=params).construct()
        report("text to bins", start)
        lgb.train(params, data, num_boost_round=3)  # for its memory
        return

    x = np.fromfile(f"{folder}/x.f32", dtype=np.float32)
    y = np.fromfile(f"{folder}/y.f32", dtype=np.float32)
    sizes = np.fromfile(f"{folder}/sizes.u32", dtype=np.uint32).astype(np.int32)
    x = x.reshape(len(y), -1)

    def ndcg(scores, k=10):
        values, at = [], 0
        for n in sizes:
            labels, s = y[at : at + n], scores[at : at + n]
            at += n
            gains = 2.0 ** labels - 1
            discount = 1 / np.log2(np.arange(2, min(n, k) + 2))
            ideal = (np.sort(gains)[::-1][:k] * discount).sum()
            if ideal > 0:
                values.append((gains[np.argsort(-s, kind="stable")][:k] * discount).sum() / ideal)
        return float(np.mean(values))

    def lists(predict):
        seconds = []
        for start in range(0, min(len(y) - 100, 100 * 300), 100):
            rows = x[start : start + 100].copy()  # as if just computed, as ours
            t = time.perf_counter()
            predict(rows)
            seconds.append(time.perf_counter() - t)
        print(json.dumps({"what": "predict one list", "wall": statistics.median(seconds), "cpu": 0}), flush=True)

    if tool == "lightgbm":
        import lightgbm as lgb

        params = dict(objective="lambdarank", num_leaves=leaves, learning_rate=0.1, max_bin=255, num_threads=threads,
                      verbose=-1, min_data_in_leaf=20, min_sum_hessian_in_leaf=1e-3, lambdarank_truncation_level=30)
        start = begin()
        data = lgb.Dataset(x, y, group=sizes, params=params).construct()
        report("bin", start)
        start = begin()
        model = lgb.train(params, data, num_boost_round=trees)
        trained = (time.perf_counter() - start[0], cpu() - start[1])
        scores, predicted = best(lambda: model.predict(x, num_threads=threads))
        lists(lambda rows: model.predict(rows, num_threads=1))
    elif tool == "xgboost":
        import xgboost as xgb

        params = dict(objective="rank:ndcg", max_leaves=leaves, max_depth=0, grow_policy="lossguide", tree_method="hist",
                      eta=0.1, max_bin=255, nthread=threads, reg_lambda=0, min_child_weight=1e-3,
                      lambdarank_pair_method="topk", lambdarank_num_pair_per_sample=30)
        qid = np.repeat(np.arange(len(sizes)), sizes)
        start = begin()
        data = xgb.QuantileDMatrix(x, y, qid=qid, max_bin=255, nthread=threads)
        report("bin", start)
        start = begin()
        model = xgb.train(params, data, num_boost_round=trees)
        trained = (time.perf_counter() - start[0], cpu() - start[1])
        scores, predicted = best(lambda: model.inplace_predict(x))
        lists(model.inplace_predict)
    else:
        import catboost

        qid = np.repeat(np.arange(len(sizes)), sizes)
        start = begin()
        data = catboost.Pool(x, y, group_id=qid)
        data.quantize(border_count=254)
        report("bin", start)
        model = catboost.CatBoost(dict(loss_function="LambdaMart:metric=NDCG;top=30", iterations=trees, learning_rate=0.1,
                                       grow_policy="Lossguide", max_leaves=leaves, thread_count=threads, verbose=False,
                                       border_count=254, min_data_in_leaf=20, allow_writing_files=False))
        start = begin()
        model.fit(data)
        trained = (time.perf_counter() - start[0], cpu() - start[1])
        scores, predicted = best(lambda: model.predict(x, thread_count=threads))
        lists(lambda rows: model.predict(rows, thread_count=1))
    print(json.dumps({"what": "train", "wall": trained[0], "cpu": trained[1], "ndcg@10": ndcg(scores)}), flush=True)
    print(json.dumps({"what": "predict", "wall": predicted[0], "cpu": predicted[1]}), flush=True)


def without_qid(folder):
    """The text as LightGBM reads it: no qid and no comments, sizes of lists in a file beside it."""
    plain = Path(folder) / "train.svm"
    if plain.exists():
        return
    sizes, last = [], None
    with open(f"{folder}/train.txt", "rb") as text, open(f"{plain}.part", "wb") as out:
        for line in text:
            label, qid, rest = line.split(b"#")[0].strip().split(b" ", 2)
            if qid != last:
                sizes.append(0)
                last = qid
            sizes[-1] += 1
            out.write(label + b" " + rest + b"\n")
    Path(f"{plain}.query").write_text("".join(f"{size}\n" for size in sizes))
    Path(f"{plain}.part").rename(plain)


def measure(tool, folder, leaves, threads, trees):
    if tool in ["toprank", "toprank-mapped"]:
        command = [*harness.command("trees-speed"), "run", folder, f"leaves={leaves}", f"threads={threads}", f"trees={trees}",
                   f"from={'mapped' if tool == 'toprank-mapped' else 'text'}"]
    elif tool == "memory":
        command = [*harness.command("memory"), str(threads)]
    else:
        command = [sys.executable, __file__, folder, "--child", tool, "--leaves", str(leaves), "--threads", str(threads),
                   "--trees", str(trees)]
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": str(threads)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        text, _ = process.stdout.read(), None
        _, status, use = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{tool} failed")
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    rows.append({"what": "peak memory", "wall": use.ru_maxrss / 1024 / 1024, "cpu": 0})
    found = {row["what"]: row for row in rows}
    if tool == "toprank":
        found["text to bins"] = {part: found["read"][part] + found["bin"][part] for part in ["wall", "cpu"]}
        found["memory without numbers"] = measure("toprank-mapped", folder, leaves, threads, 3)["own memory"]
        found["memory"] = measure("memory", folder, leaves, threads, trees)["memory"]
    if tool == "lightgbm":
        text = measure("lightgbm-text", folder, leaves, threads, trees)
        found["peak memory given numbers"] = found["peak memory"]
        found |= {what: text[what] for what in ["text to bins", "peak memory"]}
        found["memory without numbers"] = measure("lightgbm-two-round", folder, leaves, threads, trees)["peak memory"]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--leaves", default="31,255")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--tools", default="toprank,lightgbm,xgboost,catboost")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--child")
    parser.add_argument("-o", default=str(HERE / "speed_vs_peers.csv"))
    args = parser.parse_args()
    if args.child:
        return peer(args.child, args.folder, int(args.leaves), int(args.threads), args.trees)
    without_qid(args.folder)
    table, spent = [], []
    for leaves in map(int, args.leaves.split(",")):
        for threads in map(int, args.threads.split(",")):
            found = {tool: [] for tool in args.tools.split(",")}
            for _ in range(args.repeats):
                for tool in found:
                    found[tool].append(measure(tool, args.folder, leaves, threads, args.trees))
            base = found.get("lightgbm")
            for tool, runs in found.items():
                for what in MEASURED:
                    if any(what not in run for run in runs):
                        continue
                    best = min(run[what]["wall"] for run in runs)
                    cpu = min(run[what]["cpu"] for run in runs)
                    ratio = best / min(run[what]["wall"] for run in base) if base and what in base[0] else float("nan")
                    quality = runs[0][what].get("ndcg@10", "")
                    table.append([leaves, threads, tool, what, f"{best:.6f}", f"{cpu:.2f}", f"{ratio:.3f}", quality])
                    print(*table[-1], sep="\t", flush=True)
                for what, row in min(runs, key=lambda run: run["train"]["wall"]).items():
                    if what.startswith("spent") or what == "memory":
                        spent.append([leaves, threads, what, f"{row['wall']:.3f}", row["gb_per_s"]])
                        print(*spent[-1], sep="\t", flush=True)
    with open(args.o, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["leaves", "threads", "tool", "what", "wall", "cpu", "times_lightgbm", "ndcg@10"])
        writer.writerows(table)
    if spent:
        with open(Path(args.o).with_suffix(".spent.csv"), "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["leaves", "threads", "what", "seconds", "gb_per_s"])
            writer.writerows(spent)


if __name__ == "__main__":
    main()
