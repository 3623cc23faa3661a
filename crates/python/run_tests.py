"""Builds the package in the profile of `cargo test` and runs its tests: python crates/python/run_tests.py [--no-default-features] [pytest …]

Needs numpy and pytest; without them it says so and does nothing, so that it can follow `cargo test` on any machine.
"""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

ROOM = pathlib.Path(__file__).resolve().parent
ROOT = ROOM.parents[1]


def main(arguments: list[str]) -> int:
    missing = [name for name in ("numpy", "pytest") if importlib.util.find_spec(name) is None]
    if missing or sys.version_info < (3, 10):
        found = f"Python {sys.version_info.major}.{sys.version_info.minor} without {' and '.join(missing) or 'nothing missing'}"
        print(f"the Python tests are left out: found {found}, expected 3.10 or newer with numpy and pytest")
        return 0
    features = [word for word in arguments if word == "--no-default-features"]
    pytest = [word for word in arguments if word not in features]
    # The whole workspace: its features are those that `cargo test --workspace` has built already.
    which = ["-p", "toprank-python"] if features else ["--workspace"]
    subprocess.run(["cargo", "build", "--locked", *which, *features], cwd=ROOT, check=True)
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
    names = {"win32": ("_toprank.dll", "_toprank.pyd"), "darwin": ("lib_toprank.dylib", "_toprank.abi3.so")}
    library, name = names.get(sys.platform, ("lib_toprank.so", "_toprank.abi3.so"))
    shutil.copyfile(built / library, ROOM / "python" / "toprank" / name)
    path = os.pathsep.join(filter(None, [str(ROOM / "python"), os.environ.get("PYTHONPATH")]))
    call = [sys.executable, "-m", "pytest", "-q", *(pytest or [str(ROOM / "tests")])]
    return subprocess.run(call, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
