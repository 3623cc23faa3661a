"""Do the tests notice a broken kernel? Breaks the kernels of crates/objectives on purpose, one place at a time, and runs the tests.

    python bench/mutate/run.py                      # all of mutations.toml, writes bench/mutate/result.csv
    python bench/mutate/run.py --only kernels/order # those whose file or text contains this; replaces their rows
    python bench/mutate/run.py --all                # every failing test of the first binary that fails, not only one
    python bench/mutate/run.py --resume             # only those without a row in result.csv
    python bench/mutate/run.py --check              # runs nothing: is every text once in its file, which rows are missing?

A mutation is a file, an exact text and its replacement: a flipped sign, a dropped term, a shifted index. It is made in
a copy of the checkout under target/mutate, with a target folder of its own that is used again from one mutation to the
next, so a mutation costs one incremental build and the tests up to the first that fails: first those beside the file,
then the peers' values, the traps and the top, then the contract of all objectives, then all others. A test that does not
end counts as failed. result.csv has one row for each mutation that was run, in the order of mutations.toml, and none for
mutations that are no longer in it. Exit code 0: every mutation was caught, 1: at least one survived, 2: the table or the
checkout is at fault. Needs Python 3.11 and a Rust toolchain.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCRATCH = ROOT / "target" / "mutate"
CHECKOUT = SCRATCH / "checkout"
PACKAGE = "toprank-objectives"
SOURCES = pathlib.Path("crates/objectives/src")
KINDS = {"sign", "term", "index"}
SECONDS = 300  # of CPU time, as the machine may be busy; a mutated loop may never end


class Fault(Exception):
    """The table or the checkout is at fault."""


def load():
    """The mutations, each checked against the present sources."""
    with open(HERE / "mutations.toml", "rb") as table:
        mutations = tomllib.load(table)["mutation"]
    faults = []
    for mutation in mutations:
        if set(mutation) != {"file", "kind", "old", "new"} or mutation["kind"] not in KINDS:
            faults.append(f"{mutation}: expected file, kind (sign, term or index), old and new")
            continue
        path = ROOT / SOURCES / mutation["file"]
        text = path.read_text() if path.exists() else ""
        found = text.count(mutation["old"])
        if found != 1:
            faults.append(f"{mutation['file']}: {mutation['old']!r} stands there {found} times; expected once")
        mutation["line"] = text[: text.find(mutation["old"])].count("\n") + 1
    if faults:
        raise Fault("\n".join(faults))
    return mutations


def copy_checkout():
    """Brings the scratch copy up to date; a file that is the same keeps its time, so cargo does not rebuild it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\0")
    wanted = {name for name in listed if name and (ROOT / name).is_file()}
    for name in wanted:
        there, content = CHECKOUT / name, (ROOT / name).read_bytes()
        if not there.exists() or there.read_bytes() != content:
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(content)
    for there in [path for path in CHECKOUT.rglob("*") if path.is_file()]:
        if str(there.relative_to(CHECKOUT)) not in wanted:
            there.unlink()


def build(targets):
    """Builds test binaries; (name, path) of each, or None if the code does not compile."""
    environment = os.environ | {"CARGO_TARGET_DIR": str(SCRATCH / "target"), "CARGO_PROFILE_DEV_DEBUG": "0"}
    command = ["cargo", "test", "-q", "-p", PACKAGE, "--locked", "--no-run", "--message-format=json", *targets]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0:
        errors = [m["message"]["rendered"] for m in messages if m.get("reason") == "compiler-message"]
        print("".join(error for error in errors if error.startswith("error")), done.stderr, file=sys.stderr)
        return None
    binaries = []
    for message in messages:
        if message.get("reason") == "compiler-artifact" and message.get("executable"):
            binaries.append((message["target"]["name"], message["executable"]))
    return binaries


def failures(binary, module, every):
    """Names of the failing tests of a binary, in a fixed order: the first one, or all; empty if all pass."""
    command = [binary, "--test-threads=1", *([module] if module else [])]
    # Standard error is discarded: a mutated kernel may print many panics.
    run = subprocess.Popen(
        command, cwd=CHECKOUT / "crates/objectives", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
    )
    failed = []
    for line in run.stdout:
        if match := re.match(r"test (.+?)(?: - should panic)? \.\.\. (?:.*)FAILED$", line):
            failed.append(match[1])
            if not every:
                run.kill()
                break
    run.stdout.close()
    code = run.wait()
    if code != 0 and not failed:
        endless = code in (-signal.SIGKILL, -signal.SIGXCPU)
        return [f"no end within {SECONDS} s" if endless else f"exit code {code}"]
    return failed


def stages(file, tests):
    """What to build and run, in which order: (arguments of cargo, only tests of this module)."""
    module = file.removesuffix(".rs").removesuffix("/mod").replace("/", "::")
    quick = ["--test", "peers", "--test", "traps", "--test", "top"]
    others = [argument for name in tests if name not in ("contract", *quick) for argument in ("--test", name)]
    return [(["--lib"], module + "::"), (quick, ""), (["--test", "contract"], ""), (["--lib"], ""), (others, "")]


def run_stages(file, tests, every):
    """(binary, failing tests) of the first binary that fails; None if it does not compile; ("", []) if all pass."""
    for targets, module in stages(file, tests):
        binaries = build(targets)
        if binaries is None:
            return None
        for name, path in binaries:
            if failed := failures(path, module, every):
                return ("unit tests" if targets == ["--lib"] else name), failed
    return "", []


def key_of(mutation):
    """What tells a mutation apart: its first four cells in result.csv."""
    old, new = (" ".join(mutation[key].split()) for key in ("old", "new"))
    return mutation["file"], mutation["kind"], old, new


def load_rows():
    """The rows of result.csv: key → (caught by, test)."""
    if not (HERE / "result.csv").exists():
        return {}
    with open(HERE / "result.csv", newline="") as table:
        return {tuple(row[:4]): row[4:] for row in list(csv.reader(table))[1:]}


def write_rows(mutations, known):
    """One row for each of `mutations` that has a result, in their order."""
    keys = [key for key in map(key_of, mutations) if key in known]
    with open(HERE / "result.csv", "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["file", "kind", "text", "replacement", "caught by", "test"])
        writer.writerows([*key, *known[key]] for key in keys)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="only mutations whose file or text contains this")
    parser.add_argument("--all", action="store_true", help="list every failing test of the binary, not only the first")
    parser.add_argument("--resume", action="store_true", help="keep the rows of result.csv and do the others")
    parser.add_argument("--check", action="store_true", help="only check the table")
    arguments = parser.parse_args()
    mutations, known = load(), load_rows()
    chosen = [m for m in mutations if not arguments.only or arguments.only in m["file"] or arguments.only in m["old"]]
    missing = [m for m in mutations if key_of(m) not in known]
    print(f"{len(mutations)} mutations, each text stands once in its file; {len(missing)} of them have no row in result.csv")
    if arguments.check:
        for mutation in missing:
            print(f"  {mutation['file']}:{mutation['line']}  {mutation['old']!r}")
        return 0
    copy_checkout()
    tests = sorted(path.stem for path in (CHECKOUT / "crates/objectives/tests").glob("*.rs")) + ["top"]
    sound = run_stages("", tests, True)
    if sound != ("", []):
        raise Fault(f"the tests must pass before anything is broken: {sound}")
    if arguments.resume:
        chosen = [m for m in chosen if key_of(m) not in known]
    bad = 0
    for mutation in chosen:
        start = time.monotonic()
        path = CHECKOUT / SOURCES / mutation["file"]
        text = path.read_text()
        path.write_text(text.replace(mutation["old"], mutation["new"]))
        try:
            result = run_stages(mutation["file"], tests, arguments.all)
        finally:
            path.write_text(text)
        binary, failed = ("does not compile", []) if result is None else result
        caught = bool(failed)
        bad += not caught
        seconds = time.monotonic() - start
        place = f"{mutation['file']}:{mutation['line']}"
        verdict = f"{binary}: {failed[0]}" if caught else binary or "SURVIVED"
        print(f"{seconds:5.1f} s  {mutation['kind']:5}  {place:40}  {verdict}", flush=True)
        known[key_of(mutation)] = [binary or "survived", "; ".join(failed)]
        write_rows(mutations, known)  # after each one: an interrupt loses little
    write_rows(mutations, known)
    print(f"{len(chosen) - bad} of {len(chosen)} mutations caught")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fault as fault:
        print(fault, file=sys.stderr)
        sys.exit(2)
