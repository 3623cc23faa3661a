"""The build backend of the package: maturin, and the type stubs, which the package writes about itself.

Stubs name every objective and every setting. Made here, from the library's tables, they are not a place in the sources that a new
objective or setting would have to touch.
"""

import base64
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import maturin
from maturin import *  # noqa: F403 (the other hooks are maturin's)

STUBS = "toprank/__init__.pyi"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
    add_stubs(pathlib.Path(wheel_directory, name))
    return name


def add_stubs(wheel: pathlib.Path) -> None:
    """Adds the stubs to a wheel. One that cannot be imported here, built for another machine, stays without them."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as built:
            built.extractall(folder)
        stubs = pathlib.Path(folder, STUBS)
        call = [sys.executable, "-m", "toprank._stubs", str(stubs)]
        run = subprocess.run(call, env={**os.environ, "PYTHONPATH": folder}, capture_output=True, text=True)
        if run.returncode != 0:
            print(f"the wheel has no type stubs, because it cannot be imported here:\n{run.stderr}", file=sys.stderr)
            return
        content = stubs.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    complete = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as built, zipfile.ZipFile(complete, "w", zipfile.ZIP_DEFLATED) as new:
        for item in built.infolist():
            if item.filename == STUBS:  # of the sources, perhaps old
                continue
            data = built.read(item)
            if item.filename.endswith(".dist-info/RECORD"):
                entry = zipfile.ZipInfo(STUBS)  # dated 1980, as maturin's: the same sources give the same wheel
                entry.external_attr = 0o644 << 16
                new.writestr(entry, content, zipfile.ZIP_DEFLATED)
                lines = [line for line in data.decode().splitlines() if not line.startswith(f"{STUBS},")]
                data = "\n".join([*lines, f"{STUBS},sha256={digest},{len(content)}", ""]).encode()
            new.writestr(item, data)
    complete.replace(wheel)
