"""Full training steps: ours against PyTorch (+ LibAUC's SONG), side by side in one run.

    cargo build --release -p toprank-bench
    python bench/training/run.py [--out bench/training/result.csv] [--rounds 7] [--threads 1 2]

PyTorch runs each case eager and with torch.compile; the faster one counts.

Generated data in the shape of MSLR: 136 features; 48 % of a list is relevant as there, and 10 % for comparison (a
smaller share is cheaper for LibAUC, whose pairs are a matrix). A step draws lists from data 8 times as large, gathers
their rows, scores them, computes loss and gradient (SONG: ours and LibAUC's NDCGLoss; ListNet), runs the backward pass
and updates the parameters by Adam (PyTorch: fused). Both sides are one process each with the same settings of
glibc's allocator, which keep the heap; cases go to them in turn, round after round. Reported: the median over rounds of
each side's median step by the wall clock, its CPU seconds a step, and the ratio's median and range. An epoch is 178,000 rows
in lists of 120, 32 lists a step, so 47 steps of the median length. Needs bench/peers/requirements-objectives.txt.
"""

import argparse
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import harness  # noqa: E402
KEEP_HEAP = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 31),
    "MALLOC_TOP_PAD_": str(64 << 20),
}
SMALL, LARGE = "mlp:hidden=256-128", "mlp:hidden=1024-512-256"
CONTEXT = "context:width=128:blocks=2:heads=2:hidden=256:dropout=0"
# Name, model, objective, lists, length, relevant, steps.
CASES = [
    ("small, short lists", SMALL, "song", 64, 100, 48, 30),
    ("small, short lists, 10 % relevant", SMALL, "song", 64, 100, 10, 30),
    ("small, long lists", SMALL, "song", 8, 1000, 480, 20),
    ("small, long lists, 10 % relevant", SMALL, "song", 8, 1000, 100, 20),
    ("large, short lists", LARGE, "song", 64, 100, 48, 6),
    ("large, long lists", LARGE, "song", 8, 1000, 480, 5),
    ("context, short lists", CONTEXT, "song", 64, 100, 48, 8),
    ("context, long lists", CONTEXT, "song", 8, 1000, 480, 3),
    ("context, prediction of short lists", CONTEXT, "predict", 64, 100, 48, 20),
    ("context, prediction of long lists", CONTEXT, "predict", 8, 1000, 480, 8),
    ("small, ListNet (a step of the epoch)", SMALL, "listnet", 32, 120, 58, 47),
]
WIDTH, WARM, STEPS_OF_DATA = 136, 3, 8


def peer(threads, compiled):
    """Answers cases from stdin, as the Rust program does; `compiled`: with torch.compile."""
    import torch

    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(1)
    for line in sys.stdin:
        model, objective, *numbers = line.split()
        batch, length, relevant, steps = map(int, numbers)
        print(json.dumps(steps_of(torch, compiled, model, objective, batch, length, relevant, steps)), flush=True)


class Context:
    """Built on first use, so that only the peer needs PyTorch."""

    def __new__(cls, torch, text):
        set_ = dict(part.split("=") for part in text.split(":")[1:])
        width = int(set_["width"])
        layer = torch.nn.TransformerEncoderLayer(
            width, int(set_["heads"]), int(set_["hidden"]), 0.0, batch_first=True, norm_first=True
        )
        encoder = torch.nn.TransformerEncoder(
            layer, int(set_["blocks"]), torch.nn.LayerNorm(width), enable_nested_tensor=False
        )
        return torch.nn.Sequential(torch.nn.Linear(WIDTH, width), encoder, torch.nn.Linear(width, 1))


def network(torch, text):
    if text.startswith("context"):
        return Context(torch, text)
    layers, inputs = [], WIDTH
    for units in map(int, text.split("hidden=")[1].split("-")):
        layers += [torch.nn.Linear(inputs, units), torch.nn.ReLU()]
        inputs = units
    return torch.nn.Sequential(*layers, torch.nn.Linear(inputs, 1))


def predictions(torch, model, batch, length, steps):
    parts = [torch.rand(batch, length, WIDTH) * 2 - 1 for _ in range(STEPS_OF_DATA)]
    times, start_cpu = [], 0.0
    with torch.inference_mode():
        for step in range(WARM + steps):
            if step == WARM:
                start_cpu = time.process_time()
            start = time.perf_counter()
            total = model(parts[step % STEPS_OF_DATA]).double().sum().item()
            if step >= WARM:
                times.append(time.perf_counter() - start)
    return {"wall": statistics.median(times), "cpu": (time.process_time() - start_cpu) / steps, "loss": total}


def steps_of(torch, compiled, text, objective, batch, length, relevant, steps):
    lists = STEPS_OF_DATA * batch
    features = torch.rand(lists, length, WIDTH) * 2 - 1
    rating = torch.zeros(lists, length)
    rating[:, :relevant] = 1
    model = network(torch, text)
    if compiled:
        model = torch.compile(model)
    if objective == "predict":
        return predictions(torch, model.eval(), batch, length, steps)
    model.train()
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)
    if objective == "song":
        from libauc.losses.ranking import NDCGLoss

        song = NDCGLoss(lists * relevant, lists, length, relevant, gamma0=0.1, topk=-1, device="cpu")
        ideal = torch.full((lists,), float(sum(1 / torch.log2(torch.tensor(2.0 + r)) for r in range(relevant))))
        ids = torch.zeros(lists, length, dtype=torch.long)
        ids[:, :relevant] = torch.arange(lists * relevant).reshape(lists, relevant)
        count = torch.full((lists,), float(relevant))
    times, start_cpu = [], 0.0
    for step in range(WARM + steps):
        if step == WARM:
            start_cpu = time.process_time()
        start = time.perf_counter()
        drawn = torch.randperm(lists)[:batch]
        scores = model(features[drawn]).squeeze(-1)
        if objective == "song":
            loss = song(scores, {"rating": rating[drawn], "user_id": drawn, "num_pos_items": count[drawn],
                                 "ideal_dcg": ideal[drawn], "user_item_id": ids[drawn]})
        else:
            loss = -(torch.softmax(rating[drawn], 1) * torch.log_softmax(scores, 1)).sum(1).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        if step >= WARM:
            times.append(time.perf_counter() - start)
    cpu = (time.process_time() - start_cpu) / steps
    return {"wall": statistics.median(times), "cpu": cpu, "loss": loss.item()}


class Side:
    def __init__(self, command, threads):
        env = {**os.environ, **KEEP_HEAP, "RAYON_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def ask(self, case):
        print(*case, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.process.args}: no answer to {case}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=ROOT / "bench/training/result.csv")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--peer", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--compiled", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peer:
        return peer(arguments.peer, arguments.compiled)
    cases = [case for case in CASES if arguments.only in case[0]]
    rows, alone = [], {}
    for threads in arguments.threads:
        ours = Side(harness.command("training"), threads)
        peers = [[sys.executable, __file__, "--peer", str(threads)] + how for how in ([], ["--compiled"])]
        theirs = [Side(command, threads) for command in peers]
        seen = {case[0]: [] for case in cases}
        for _ in range(arguments.rounds):
            for case in cases:
                answers = [side.ask(case[1:]) for side in theirs]
                # The faster of eager and compiled counts.
                seen[case[0]].append((ours.ask(case[1:]), min(answers, key=lambda answer: answer["wall"])))
        for side in [ours, *theirs]:
            side.close()
        for name, *_ in cases:
            pairs = seen[name]
            middle = lambda side, key: statistics.median(pair[side][key] for pair in pairs)
            ratios = sorted(theirs["wall"] / ours["wall"] for ours, theirs in pairs)
            row = {
                "case": name,
                "threads": threads,
                "toprank_ms": round(1e3 * middle(0, "wall"), 2),
                "pytorch_ms": round(1e3 * middle(1, "wall"), 2),
                "toprank_cpu_ms": round(1e3 * middle(0, "cpu"), 2),
                "pytorch_cpu_ms": round(1e3 * middle(1, "cpu"), 2),
                "ratio": round(statistics.median(ratios), 2),
                "ratio_low": round(ratios[0], 2),
                "ratio_high": round(ratios[-1], 2),
                "toprank_best_ms": round(1e3 * min(pair[0]["wall"] for pair in pairs), 2),
                "pytorch_best_ms": round(1e3 * min(pair[1]["wall"] for pair in pairs), 2),
            }
            first = alone.setdefault(name, row["toprank_best_ms"])
            row["toprank_speed_up"] = round(first / row["toprank_best_ms"], 2)
            rows.append(row)
            print(row, flush=True)
    with open(arguments.out, "w", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys())
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
