"""Runs the tests of the Python package: python crates/python/run_tests.py [pytest …]

Builds the package in the profile of `cargo test`, so that third-party crates are compiled once, copies library and Python
sources into a folder of the target and runs pytest on it. `cargo test` calls this with the library it has built.
Without numpy and pytest it prints a note and does nothing.

    --library FILE          a library that is built already
    --no-default-features   build without networks, in a fraction of the time
    --stubs                 instead write the type stubs beside the sources, for editors; git ignores them, wheels have their own
"""

import argparse
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).resolve().parent
ROOT = PACKAGE.parents[1]
SOURCES = PACKAGE / "python" / "toprank"
LIBRARIES = {"win32": ("_toprank.dll", "_toprank.pyd"), "darwin": ("lib_toprank.dylib", "_toprank.abi3.so")}
BUILT, IMPORTED = LIBRARIES.get(sys.platform, ("lib_toprank.so", "_toprank.abi3.so"))


def build(plain: bool) -> pathlib.Path:
    # The whole workspace: with the features that `cargo test --workspace` has built already.
    which = ["-p", "toprank-python", "-p", "toprank-cli", "--no-default-features"] if plain else ["--workspace"]
    subprocess.run(["cargo", "build", "--locked", *which], cwd=ROOT, check=True)
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "debug" / BUILT


def lay_out(library: pathlib.Path) -> pathlib.Path:
    """The package as it would be installed, in a folder of its own."""
    folder = library.parent / "python-package"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCES, folder / "toprank", ignore=shutil.ignore_patterns("__pycache__", "*.so", "*.pyd"))
    shutil.copyfile(library, folder / "toprank" / IMPORTED)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--no-default-features", action="store_true")
    parser.add_argument("--stubs", action="store_true")
    given, pytest = parser.parse_known_args()
    missing = [name for name in ("numpy", "pytest") if importlib.util.find_spec(name) is None]
    if missing or sys.version_info < (3, 10):
        version = ".".join(map(str, sys.version_info[:2]))
        without = f" without {' and '.join(missing)}" if missing else ""
        print(
            f"the Python tests are skipped: found Python {version}{without} ({sys.executable}), expected 3.10 or newer "
            "with numpy and pytest; TOPRANK_PYTHON names another one",
            flush=True,
        )
        return 0
    library = given.library or build(given.no_default_features)
    folder = lay_out(library.resolve())
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    # The command of the same build, for the tests that compare the two; deps/ is where cargo test looks.
    places = [folder.parent / "toprank", folder.parent.parent / "toprank"]
    command = next((place for place in places if place.with_suffix(".exe").exists() or place.is_file()), None)
    if command is not None:
        environment.setdefault("TOPRANK_COMMAND", str(command))
    if given.stubs:
        call = [sys.executable, "-m", "toprank._stubs", str(SOURCES / "__init__.pyi")]
    else:
        call = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(pytest or [str(PACKAGE / "tests")])]
    return subprocess.run(call, cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
