"""Model files as bytes, for pickles: the file is the command's, checksum and self-test included."""

from __future__ import annotations

import os
import tempfile
from typing import Any


def to_bytes(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        model.save(path)
        with open(path, "rb") as file:
            return file.read()


def from_bytes(kind: Any, data: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        with open(path, "wb") as file:
            file.write(data)
        return kind.load(path)
