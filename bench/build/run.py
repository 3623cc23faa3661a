"""How long does it take from a fresh clone to a result, and what does it need?

python bench/build/run.py DIR [--only first,test,release,pip,minimal] [--selftest]

DIR is an empty folder with some 15 GB of space. The commit that is checked out is cloned there; cargo's home and every target folder
begin empty. Downloads (crates, and the wheels that pip needs to build) are made first and timed apart: all builds run offline.
bench/build/result.csv has a line for each step: wall clock and CPU seconds, crates compiled, the largest sum of the resident memory
of all processes of the step (sampled five times a second; pages that processes share count for each), and the size of what was built.
A step that is measured again replaces its line. Needs git, cargo and python3 with venv.
"""

import argparse
import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULT = pathlib.Path(__file__).with_name("result.csv")
FIELDS = ["step", "command", "seconds", "cpu_seconds", "crates", "peak_mb", "size_mb", "limit", "holds"]
STEPS = ["first", "test", "release", "pip", "minimal"]
# What it may take at most.
LIMITS = {
    "first command": ("seconds", 300),
    "first command, crates": ("crates", 150),
    "quickstart alone": ("seconds", 10),
    "tests, beyond the first command": ("seconds", 480),
    "release build": ("seconds", 480),
    "command": ("size_mb", 25),
    "pip install": ("seconds", 480),
    "wheel": ("size_mb", 15),
    "minimal build": ("seconds", 150),
}
MOST_MEMORY_MB = 4000


def resident_mb(root):
    """The resident memory of a process and all its descendants."""
    parents, pages = {}, {}
    for folder in pathlib.Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            stat = (folder / "stat").read_text()
            pages[int(folder.name)] = int((folder / "statm").read_text().split()[1])
        except OSError:  # it has ended
            continue
        parents[int(folder.name)] = int(stat.rsplit(")", 1)[1].split()[1])
    total = 0
    for process, resident in pages.items():
        at = process
        while at not in (root, 0, None):
            at = parents.get(at)
        total += resident if at == root else 0
    return total * os.sysconf("SC_PAGE_SIZE") / 1e6


def compiled(text):
    """The number of crates that cargo compiled, by what it printed."""
    return len(set(re.findall(r"^\s*Compiling (\S+ v\S+)", text, re.MULTILINE)))


def measure(words, folder, environment, log):
    """Runs a command; seconds, CPU seconds, crates and peak memory. What it prints goes to the file `log`."""
    with open(log, "w") as out:
        start = time.monotonic()
        child = subprocess.Popen(words, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)
        peak, ended = [0.0], threading.Event()

        def watch():
            while not ended.is_set():
                peak[0] = max(peak[0], resident_mb(child.pid))
                ended.wait(0.2)

        watcher = threading.Thread(target=watch)
        watcher.start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        ended.set()
        watcher.join()
    text = pathlib.Path(log).read_text(errors="replace")
    if child.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))} ended with {child.returncode}:\n{text[-4000:]}")
    return {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "crates": compiled(text),
        "peak_mb": round(peak[0]),
    }


def checked(row):
    """The line with its limit and whether it holds."""
    what, limit = LIMITS.get(row["step"], (None, None))
    if what is not None:
        row["limit"] = f"{what} <= {limit}"
        row["holds"] = "yes" if float(row[what]) <= limit else "NO"
    return row


def write(rows, path=RESULT):
    """Adds lines to the file; one of the same step is replaced."""
    kept = []
    if path.exists():
        with open(path, newline="") as file:
            kept = list(csv.DictReader(file))
    for row in rows:
        row = {field: str(row.get(field, "")) for field in FIELDS}
        same = [i for i, old in enumerate(kept) if old["step"] == row["step"]]
        if same:
            kept[same[0]] = row
        else:
            kept.append(row)
        print(", ".join(f"{field} {value}" for field, value in row.items() if value))
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


class Machine:
    def __init__(self, folder):
        self.folder = folder
        self.clone = folder / "clone"
        self.logs = folder / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.wheels = folder / "wheels"
        self.python = folder / "venv" / "bin" / "python"
        home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
        dropped = ("CARGO_TARGET_DIR", "RUSTFLAGS", "CARGO_BUILD_JOBS", "TOPRANK_PYTHON")
        self.environment = {key: value for key, value in os.environ.items() if key not in dropped}
        self.environment["CARGO_HOME"] = str(folder / "cargo-home")
        self.environment["CARGO_TERM_COLOR"] = "never"
        # Where rustup keeps the toolchain; only cargo's home is to be empty.
        self.environment.setdefault("RUSTUP_HOME", str(pathlib.Path.home() / ".rustup"))
        self.environment["PATH"] = f"{home / 'bin'}{os.pathsep}{self.environment['PATH']}"

    def run(self, step, words, target=None, shown=None, **more):
        environment = dict(self.environment)
        if target is not None:
            environment["CARGO_TARGET_DIR"] = str(self.folder / target)
        log = self.logs / f"{re.sub(r'[^a-z]+', '-', step)}.txt"
        found = measure(words, self.clone, environment, log)
        return checked({"step": step, "command": shown or " ".join(map(str, words)), **found, **more})

    def prepare(self, pip):
        """A fresh clone, and everything that comes from the network."""
        if not self.clone.exists():
            subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(self.clone)], check=True)
        head = lambda folder: subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=folder, text=True).strip()
        if head(self.clone) != head(ROOT):
            sys.exit(f"{self.clone} is another commit than {ROOT}; expected an empty folder")
        home = pathlib.Path(self.environment["CARGO_HOME"])
        fetched = home.exists()
        home.mkdir(exist_ok=True)
        # Only where crates come from, if this machine has a mirror of its own.
        own = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"), "config.toml")
        if own.exists():
            shutil.copy(own, home)
        if not fetched:
            write([self.run("download of crates", ["cargo", "fetch", "--locked"])])
        self.environment["CARGO_NET_OFFLINE"] = "true"
        if pip and not self.wheels.exists():
            subprocess.run([sys.executable, "-m", "venv", str(self.folder / "venv")], check=True)
            words = [self.python, "-m", "pip", "download", "--quiet", "--dest", self.wheels, "maturin>=1.9,<2", "numpy>=1.23"]
            write([self.run("download of wheels", words, shown="pip download 'maturin>=1.9,<2' 'numpy>=1.23'")])

    def empty(self, target):
        """Nothing is compiled yet."""
        shutil.rmtree(self.folder / target, ignore_errors=True)
        return target

    def first(self):
        words = ["cargo", "run", "--locked", "--bin", "toprank", "--", "quickstart"]
        row = self.run("first command", words, self.empty("target"))
        crates = checked({"step": "first command, crates", "command": row["command"], "crates": row["crates"]})
        write([row, crates, self.run("quickstart alone", words, "target")])

    def test(self):
        """Follows the first command and uses what it compiled, as the README's second command does."""
        build = self.run("tests, build", ["cargo", "test", "--workspace", "--locked", "--no-run"], "target")
        rest = self.run("tests, run", ["cargo", "test", "--workspace", "--locked"], "target")
        both = {
            "step": "tests, beyond the first command",
            "command": rest["command"],
            "seconds": round(build["seconds"] + rest["seconds"], 1),
            "cpu_seconds": round(build["cpu_seconds"] + rest["cpu_seconds"], 1),
            "crates": build["crates"] + rest["crates"],
            "peak_mb": max(build["peak_mb"], rest["peak_mb"]),
        }
        write([build, rest, checked(both)])

    def release(self):
        row = self.run("release build", ["cargo", "build", "--release", "--locked", "--package", "toprank-cli"], self.empty("target-release"))
        binary = self.folder / "target-release" / "release" / "toprank"
        size = {"step": "command", "command": "as the release profile leaves it", "size_mb": round(binary.stat().st_size / 1e6, 1)}
        write([row, checked(size)])

    def pip(self):
        offline = ["--quiet", "--no-index", "--find-links", self.wheels]
        words = [self.python, "-m", "pip", "install", *offline, "."]
        row = self.run("pip install", words, self.empty("target-pip"), shown="pip install .")
        built = self.folder / "built"
        words = [self.python, "-m", "pip", "wheel", *offline, "--no-deps", "--wheel-dir", built, "."]
        self.run("wheel", words, "target-pip", shown="pip wheel . --no-deps", size_mb=0)
        (wheel,) = built.glob("toprank-*.whl")
        size = {"step": "wheel", "command": "pip wheel . --no-deps", "size_mb": round(wheel.stat().st_size / 1e6, 1)}
        # pip does not show what cargo prints.
        row["crates"] = ""
        write([row, checked(size)])

    def minimal(self):
        words = ["cargo", "build", "--locked", "--package", "toprank-cli", "--no-default-features"]
        write([self.run("minimal build", words, self.empty("target-minimal"))])


def memory():
    """The largest memory of all steps, as a line of its own."""
    with open(RESULT, newline="") as file:
        peak = max((float(row["peak_mb"]) for row in csv.DictReader(file) if row["peak_mb"]), default=0)
    holds = "yes" if peak <= MOST_MEMORY_MB else "NO"
    write([{"step": "memory of all steps", "peak_mb": round(peak), "limit": f"peak_mb <= {MOST_MEMORY_MB}", "holds": holds}])


def selftest():
    """The parts that need no build."""
    import tempfile

    text = "   Compiling libc v0.2.180\n  Downloaded x v1\n   Compiling libc v0.2.180\n   Compiling toprank-cli v0.2.0 (/x)\n"
    assert compiled(text) == 2, compiled(text)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        child = "import time; block = bytearray(80_000_000); time.sleep(1); print('   Compiling a v1')"
        parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], check=True)"
        found = measure([sys.executable, "-c", parent], folder, dict(os.environ), folder / "log.txt")
        assert found["crates"] == 1 and 1 <= found["seconds"] < 30, found
        assert 80 <= found["peak_mb"] < 400, f"the child of a child counts: {found}"
        path = folder / "result.csv"
        write([checked({"step": "minimal build", "seconds": 100}), {"step": "other"}], path)
        write([checked({"step": "minimal build", "seconds": 151})], path)
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["step"] for row in rows] == ["minimal build", "other"], rows
        assert rows[0]["holds"] == "NO" and rows[1]["holds"] == "", rows
    print("the parts that need no build work")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--only", default=",".join(STEPS))
    parser.add_argument("--selftest", action="store_true")
    given = parser.parse_args()
    if given.selftest:
        return selftest()
    chosen = given.only.split(",")
    unknown = set(chosen) - set(STEPS)
    if given.folder is None or unknown:
        parser.error(f"expected an empty folder, and steps of {', '.join(STEPS)}")
    machine = Machine(given.folder.resolve())
    machine.prepare("pip" in chosen)
    for step in chosen:
        getattr(machine, step)()
    memory()


if __name__ == "__main__":
    main()
