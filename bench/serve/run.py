"""Requests per second of `toprank serve` beside FastAPI + LightGBM, in one run, with the same model and the same requests.

    python bench/serve/run.py TOPRANK DIR [--seconds 10] [--memory 100000]

TOPRANK is the command of a release build with the feature serve, DIR an empty folder. Needs fastapi, uvicorn, uvloop, httptools, orjson,
lightgbm and numpy in this Python, and Debian's wrk and hey. Lists are 100 items x 136 features as JSON; the model is 100 trees of 31 leaves,
trained by toprank and exported to LightGBM. Servers take turns, each alone on the machine with the load tool; result.csv gets the medians.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request

import lightgbm
import numpy as np

ITEMS, FEATURES, BODIES, CONNECTIONS = 100, 136, 50, 8
HERE = pathlib.Path(__file__).resolve().parent

WRK = """
local bodies = {}
for i = 1, COUNT do
  local file = io.open("DIR/body" .. i .. ".json")
  bodies[i] = file:read("*a")
  file:close()
end
local turn = 0
function request()
  turn = turn % COUNT + 1
  return wrk.format("POST", "/rank", {["content-type"] = "application/json"}, bodies[turn])
end
"""


def prepare(toprank, folder):
    """The model in both forms, and the bodies."""
    rng = np.random.default_rng(1)
    weights = rng.normal(size=FEATURES)
    with open(folder / "train.txt", "w", encoding="utf-8") as out:
        for q in range(300):
            rows = rng.normal(size=(ITEMS, FEATURES)).astype(np.float32)
            grades = np.clip(np.round(rows @ weights / 8 + 1 + rng.normal(size=ITEMS) / 2), 0, 4)
            for row, grade in zip(rows, grades):
                out.write(f"{grade:.0f} qid:{q} " + " ".join(f"{f}:{value:.6g}" for f, value in enumerate(row, 1)) + "\n")
    train = "train --data train.txt --model trees:leaves=31 --trees 100 --patience 0 --objective lambdarank --seed 1 -o model.toprank --quiet"
    subprocess.run([toprank, *train.split()], cwd=folder, check=True)
    subprocess.run([toprank, *"export model.toprank --to lightgbm -o model.txt --quiet".split()], cwd=folder, check=True)
    for i in range(1, BODIES + 1):
        rows = rng.normal(size=(ITEMS, FEATURES)).astype(np.float32)
        rows = [[float(f"{value:.6g}") for value in row] for row in rows]
        (folder / f"body{i}.json").write_text(json.dumps({"features": rows}), encoding="utf-8")
    (folder / "load.lua").write_text(WRK.replace("COUNT", str(BODIES)).replace("DIR", str(folder)), encoding="utf-8")


def post(port, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/rank", data=body, headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["scores"]


class Server:
    def __init__(self, words, folder, port):
        self.process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.port = port
        for _ in range(200):
            try:
                post(port, (folder / "body1.json").read_bytes())
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit(f"{words[0]} did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def pids(self):
        """The process and its children."""
        own = str(self.process.pid)
        return [own] + pathlib.Path(f"/proc/{own}/task/{own}/children").read_text(encoding="ascii").split()

    def cpu(self):
        """CPU seconds of the process and its children."""
        total = 0
        for pid in self.pids():
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        return total / os.sysconf("SC_CLK_TCK")

    def resident(self):
        """Memory of the process and of its children in MB."""
        total = 0
        for pid in self.pids():
            status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
            total += int(re.search(r"VmRSS:\s+(\d+)", status)[1])
        return total / 1024


def most(folder, port, seconds):
    """Requests per second with all connections busy, and requests in all."""
    words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", str(folder / "load.lua"), f"http://127.0.0.1:{port}/rank"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in text, text
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), int(re.search(r"(\d+) requests in", text)[1])


def at_rate(folder, port, rate, seconds):
    """p50 and p99 in milliseconds at a fixed rate, spread over the connections."""
    words = ["hey", "-z", f"{seconds}s", "-c", str(CONNECTIONS), "-q", f"{rate / CONNECTIONS:.4f}", "-m", "POST", "-T", "application/json",
             "-D", str(folder / "body1.json"), f"http://127.0.0.1:{port}/rank"]
    text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    reached = float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1])
    place = lambda part: 1000 * float(re.search(rf"{part}%+ in ([\d.]+) secs", text)[1])
    return reached, place(50), place(99)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("toprank")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", type=int, default=100_000)
    args = parser.parse_args()
    folder = args.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    toprank = str(pathlib.Path(args.toprank).resolve())
    for tool in ["wrk", "hey"]:
        if not shutil.which(tool):
            sys.exit(f"{tool} was not found; expected Debian's packages wrk and hey")
    if not (folder / "load.lua").exists():
        prepare(toprank, folder)
    ours = [toprank, "serve", "model.toprank", "--listen", "127.0.0.1:18080", "--quiet"]
    theirs = [sys.executable, "-m", "uvicorn", "fastapi_lightgbm:app", "--app-dir", str(HERE), "--port", "18081", "--workers", "2",
              "--log-level", "critical", "--no-access-log"]
    servers = {"toprank": (ours, 18080), "fastapi+lightgbm": (theirs, 18081)}

    # Are the scores those of `predict`, to the bit, and those of LightGBM?
    booster = lightgbm.Booster(model_file=str(folder / "model.txt"))
    with Server(ours, folder, 18080) as server:
        furthest = 0.0
        for i in range(1, BODIES + 1):
            body = (folder / f"body{i}.json").read_bytes()
            served = post(server.port, body)
            predicted = subprocess.run([toprank, "predict", "model.toprank", "--jsonl", "--quiet"], cwd=folder, input=body + b"\n",
                                       capture_output=True, check=True).stdout
            assert json.loads(predicted)["scores"] == served, f"body {i}"
            rows = np.array(json.loads(body)["features"])
            furthest = max(furthest, np.abs(booster.predict(rows) - served).max())
    print(f"scores of {BODIES} lists equal those of predict to the bit; LightGBM's differ by {furthest:.1e} at most")

    found = {name: [] for name in servers}
    for _ in range(args.rounds):
        for name, (words, port) in servers.items():
            with Server(words, folder, port) as server:
                most(folder, port, 2)
                before = server.cpu()
                rate, requests = most(folder, port, args.seconds)
                cpu = 1000 * (server.cpu() - before) / requests
                reached, p50, p99 = at_rate(folder, port, rate / 2, args.seconds)
                found[name].append((rate, cpu, reached, p50, p99, server.resident()))
                print(f"{name}: {rate:.0f}/s, {cpu:.2f} ms of CPU each; at {reached:.0f}/s p50 {p50:.2f} ms, p99 {p99:.2f} ms; {server.resident():.0f} MB", flush=True)

    with Server(ours, folder, 18080) as server:
        most(folder, server.port, 5)
        before, done = server.resident(), 0
        started = time.monotonic()
        while done < args.memory:
            done += most(folder, server.port, 20)[1]
        after = server.resident()
        print(f"memory: {before:.1f} MB, after {done} more requests {after:.1f} MB ({time.monotonic() - started:.0f} s)")

    medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in found.items()}
    with open(HERE / "result.csv", "w", newline="", encoding="utf-8") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["server", "requests_per_second", "cpu_ms_per_request", "half_load", "p50_ms", "p99_ms", "resident_mb"])
        for name, values in medians.items():
            table.writerow([name] + [f"{value:.2f}" for value in values])
        table.writerow([f"toprank after {done} requests", "", "", "", "", "", f"{after:.2f}"])
    ratio = medians["toprank"][0] / medians["fastapi+lightgbm"][0]
    cpu = medians["fastapi+lightgbm"][1] / medians["toprank"][1]
    print(f"toprank: {ratio:.1f} x the requests per second, {cpu:.1f} x less CPU for each")


if __name__ == "__main__":
    main()
