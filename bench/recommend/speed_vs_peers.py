#!/usr/bin/env python3
"""Recommenders against PyTorch with LibAUC's loss and against implicit, one thread each, interleaved (full rankings also on two).

    cargo build --release -p toprank-bench --no-default-features
    target/release/toprank-bench recommend-speed make FOLDER 6040 3706 165
    python bench/recommend/speed_vs_peers.py FOLDER --movielens SHARED/data/recsys/ml-1m-implicit

- step: NeuMF (64 dimensions, one layer of 64) under SONG, 256 users with 10 relevant items and 300 others each: gathering,
  forward, loss, backward, optimiser. PyTorch with Adam over the whole tables, and with SparseAdam over touched rows.
- bpr: CPU seconds of matrix factorisation under BPR until NDCG@10 of the held-out items of MovieLens is that of implicit after
  40 epochs (64 factors, learning rate and regularisation 0.01: more epochs and learning rates of 0.02 and 0.05 gave it less),
  and of one epoch.
- rank: all unseen items ranked for all users and evaluated, against implicit's `recommend` called user by user in Python.

Needs numpy, scipy, torch, libauc, implicit.
"""
import argparse, csv, gzip, json, os, statistics, subprocess, sys, time
from pathlib import Path

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402
USERS, RELEVANT, OTHERS = 256, 10, 300
# One other item per relevant one, as implicit draws them: large steps for the price of a pass, small ones for the way to a figure.
SAMPLER_OF_AN_EPOCH = 'sampler = "pairs:batch=32768:group=20:items=20"'
BPR = ['sampler = "pairs:batch=2048:group=20:items=20"', "rate = 0.01", 'optimiser = "adam:decay=0.0001"']


def pairs(folder, name):
    users, items = [], []
    file = Path(folder, f"{name}.txt")
    for line in open(file) if file.exists() else gzip.open(f"{file}.gz", "rt"):
        user, *taken = map(int, line.split())
        users += [user] * len(taken)
        items += taken
    return users, items


def shape(folder):
    users, items = pairs(folder, "train")
    more = pairs(folder, "test")
    return max(users + more[0]) + 1, max(items + more[1]) + 1


def torch_step(folder, steps, sparse):
    import numpy as np
    import torch
    from libauc.losses.ranking import NDCGLoss

    torch.set_num_threads(1)
    users, items = shape(folder)
    width = 64

    class NeuMF(torch.nn.Module):
        def __init__(self):
            super().__init__()
            table = lambda rows: torch.nn.Embedding(rows, width, sparse=sparse)
            self.tables = torch.nn.ModuleList([table(users), table(items), table(users), table(items)])
            self.offset = torch.nn.Embedding(items, 1, sparse=sparse)
            self.hidden = torch.nn.Linear(2 * width, 64)
            self.out = torch.nn.Linear(width + 64, 1)

        def forward(self, u, i):
            gmf_u, gmf_i, mlp_u, mlp_i = self.tables
            product = gmf_u(u)[:, None] * gmf_i(i)
            joined = torch.cat([mlp_u(u)[:, None].expand(-1, i.shape[1], -1), mlp_i(i)], -1)
            return self.out(torch.cat([product, torch.relu(self.hidden(joined))], -1)).squeeze(-1) + self.offset(i).squeeze(-1)

    model = NeuMF()
    tables = [*model.tables.parameters(), *model.offset.parameters()]
    rest = [*model.hidden.parameters(), *model.out.parameters()]
    if sparse:
        optimisers = [torch.optim.SparseAdam(tables, 0.01), torch.optim.Adam(rest, 0.01)]
    else:
        optimisers = [torch.optim.Adam(tables + rest, 0.01)]
    known = pairs(folder, "train")
    loss = NDCGLoss(len(known[0]), users, items, RELEVANT, gamma0=0.1, topk=-1, device="cpu")
    random = np.random.default_rng(1)
    ideal = float(sum(1 / np.log2(2 + rank) for rank in range(RELEVANT)))
    seconds = []
    for step in range(steps + 3):
        u = torch.tensor(random.choice(users, USERS, replace=False))
        i = torch.tensor(random.integers(0, items, (USERS, RELEVANT + OTHERS)))
        rating = torch.zeros(USERS, RELEVANT + OTHERS)
        rating[:, :RELEVANT] = 1
        ids = torch.zeros(USERS, RELEVANT + OTHERS, dtype=torch.long)
        ids[:, :RELEVANT] = torch.tensor(random.integers(0, len(known[0]), (USERS, RELEVANT)))
        batch = {"rating": rating, "user_id": u, "num_pos_items": torch.full((USERS,), float(RELEVANT)),
                 "ideal_dcg": torch.full((USERS,), ideal), "user_item_id": ids}
        start = time.perf_counter()
        for optimiser in optimisers:
            optimiser.zero_grad()
        loss(model(u, i), batch).backward()
        for optimiser in optimisers:
            optimiser.step()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[3:])


def implicit_data(folder):
    import numpy as np
    import scipy.sparse as sp

    size = shape(folder)
    parts = []
    for name in ["train", "test"]:
        u, i = pairs(folder, name)
        parts.append(sp.csr_matrix((np.ones(len(u), np.float32), (u, i)), size))
    return parts


def implicit_bpr(folder, epochs):
    import implicit

    train, test = implicit_data(folder)
    model = implicit.bpr.BayesianPersonalizedRanking(factors=64, learning_rate=0.01, regularization=0.01, iterations=epochs,
                                                     num_threads=1, random_state=1, verify_negative_samples=True)
    start = time.process_time()
    model.fit(train, show_progress=False)
    seconds = time.process_time() - start
    from peers import by, ndcg

    return seconds, ndcg(by(model), train, test, 10)


def implicit_rank(folder):
    import implicit
    import numpy as np

    train, test = implicit_data(folder)
    model = implicit.bpr.BayesianPersonalizedRanking(factors=64, iterations=1, num_threads=1, random_state=1)
    model.fit(train, show_progress=False)
    held = test.tocoo()
    start = time.perf_counter()
    values = []
    for user, item in zip(held.row, held.col):
        ids, _ = model.recommend(user, train[user], N=10)
        found = np.flatnonzero(ids == item)
        values.append(1 / np.log2(found[0] + 2.0) if len(found) else 0.0)
    return time.perf_counter() - start


def ours(*arguments, threads=1):
    environment = {**os.environ, "THREADS": str(threads)}
    command = [*harness.command("recommend-speed"), *map(str, arguments)]
    text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment).stdout
    return [json.loads(line) for line in text.splitlines()]


def child(function, *arguments):
    """In a process of its own: libraries set their threads up once."""
    call = f"import sys; sys.path.insert(0, {str(HERE)!r}); import json, speed_vs_peers as s; print(json.dumps(s.{function}(*{arguments!r})))"
    text = subprocess.run([sys.executable, "-c", call], stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(text.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--movielens", help="folder with train.txt.gz and test.txt.gz")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", default=str(HERE / "speed_vs_peers.csv"))
    args = parser.parse_args()
    rows = []

    def row(what, mine, other, theirs, note=""):
        rows.append([what, other, f"{mine:.6f}", f"{theirs:.6f}", f"{theirs / mine:.2f}", note])
        print(*rows[-1], sep="\t", flush=True)

    steps = {"ours": [], "dense": [], "sparse": []}
    for _ in range(args.rounds):
        steps["ours"].append(ours("step", args.folder, 40)[0]["seconds"])
        steps["dense"].append(child("torch_step", args.folder, 12, False))
        steps["sparse"].append(child("torch_step", args.folder, 12, True))
    best = {name: min(values) for name, values in steps.items()}
    row("NeuMF step under SONG", best["ours"], "PyTorch + LibAUC, Adam", best["dense"])
    row("NeuMF step under SONG", best["ours"], "PyTorch + LibAUC, SparseAdam", best["sparse"])

    epochs, folder = 40, args.movielens or args.folder
    theirs = min((child("implicit_bpr", folder, epochs) for _ in range(args.rounds)), key=lambda run: run[0])
    alone = min(ours("bpr", folder, 5, SAMPLER_OF_AN_EPOCH)[-1]["seconds"] / 5 for _ in range(args.rounds))
    row("BPR epoch", alone, "implicit", theirs[0] / epochs)
    mine = ours("bpr", folder, 20, *BPR)
    reached = next((line for line in mine if line["ndcg@10"] >= theirs[1]), None)
    if reached:
        row("BPR until equal NDCG@10", reached["seconds"], "implicit", theirs[0],
            f"{reached['epoch']} and {epochs} epochs, NDCG@10 {theirs[1]:.4f}")

    loop = min(child("implicit_rank", args.folder) for _ in range(args.rounds))
    for threads in [1, 2]:
        lines = [line for _ in range(args.rounds) for line in ours("rank", args.folder, threads=threads)]
        seconds = min(line["seconds"] for line in lines)
        row("full ranking", seconds, "implicit, user by user", loop, f"ours on {threads} thread{'s' * (threads > 1)}")
    with open(args.o, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["what", "other", "ours", "theirs", "times faster", "note"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
