"""How scripts call the program of the harnesses, crates/bench."""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def command(name, profile="release"):
    """The command line of one harness. `profile` is "release" where something is timed, else "debug"."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = target / profile / "toprank-bench"
    if not program.exists():
        release = "--release " if profile == "release" else ""
        sys.exit(f"{program} was not found; build it first: cargo build {release}-p toprank-bench")
    return [str(program), name]
