"""The command `toprank` inside the package: its console script, and functions for work from file to file."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

from . import _toprank


def main() -> int:
    """The console script `toprank`."""
    return _toprank.run_command(["toprank", *sys.argv[1:]])


def words_of(flags: dict[str, Any]) -> list[str]:
    """Keyword arguments as flags of the command: `list_weight="w"` is `--list-weight=w`, True a flag without a value, a list the flag
    once for each value; None and False omit it."""
    words = []
    for name, value in flags.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        values = value if isinstance(value, (list, tuple)) else [value]
        for value in values:
            if value is True:
                words.append(flag)
            elif value is not None and value is not False:
                words.append(f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    return words


def command(*words: Any, **flags: Any) -> Any:
    """Do the work of the command `toprank` in this process, from file to file.

    Ctrl-C raises `KeyboardInterrupt`; a training run leaves its checkpoint then.

    Parameters
    ----------
    *words
        The command and its arguments: ``"recommend", "top", "rec.toprank"``.
    **flags
        Its flags with underscores: ``min_rows=5`` is ``--min-rows=5``; True is a flag without a value, a list repeats the flag.

    Returns
    -------
    dict or str
        What it prints with ``--json``; a text where it prints no JSON.

    Examples
    --------
    >>> import toprank
    >>> toprank.command("metrics", "mrr")["name"]
    'mrr'
    """
    said = [os.fspath(word) if isinstance(word, os.PathLike) else str(word) for word in words]
    text = _toprank.call_command([*said, *words_of(flags), "--json", "--quiet"])
    try:
        return json.loads(text)
    except ValueError:
        return text


def inspect(file: Any, **reading: Any) -> Any:
    """Describe a data file, a graph or a model: what it holds, and what is odd about it.

    Parameters
    ----------
    file : path
        The file.
    **reading
        How data are read: flags of ``toprank inspect`` with underscores.

    Returns
    -------
    dict
        What ``toprank inspect --json`` prints.
    """
    return command("inspect", file, **reading)


def convert(source: Any, to: Any, *, format: str | None = None, **reading: Any) -> None:
    """Read a data file and write it in another format.

    A file that ends in ``.toprank-data`` is memory-mapped by training and prediction, so it may be larger than memory.

    Parameters
    ----------
    source, to : path
        The file to read and the file to write; ``.gz`` and ``.zst`` compress.
    format : str, optional
        The format to write, one of `toprank.formats()`; by default it follows from the name.
    **reading
        How data are read: flags of ``toprank convert`` with underscores, such as ``list="query"``.
    """
    command("convert", source, to, to=format, **reading)


def generate(kind: str, output: Any, **params: Any) -> Any:
    """Write made-up data into a folder, for trials and tests.

    Parameters
    ----------
    kind : str
        What to generate: ``toprank generate --help`` lists it.
    output : path
        The folder; it is made if needed.
    **params
        Parameters of the generator, such as ``users=1000``; ``force=True`` replaces files of an earlier run.

    Returns
    -------
    dict
        The files that were written, with their sizes.
    """
    return command("generate", kind, output=output, **params)


def quickstart(output: Any = None, **flags: Any) -> Any:
    """Show the whole way on made-up data: generate, train, compare, predict.

    Parameters
    ----------
    output : path, optional
        The folder for data and models.
    **flags
        Further flags of ``toprank quickstart``.

    Returns
    -------
    dict or str
        What the command prints.
    """
    return command("quickstart", output=output, **flags)


def export(model: Any, to: str, path: Any, *, missing: str = "exact", probes: int | None = None) -> Any:
    """Write a model in the format of another tool, and verify that it computes the same scores there.

    Parameters
    ----------
    model : path, Ranker, Classifier, Recommender or Embedder
        A model file, or a fitted estimator.
    to : str
        ``lightgbm``, ``lightgbm-json``, ``xgboost``, ``ranklib``, ``solr``, ``es-ltr``, ``opensearch-ltr``, ``vespa`` or ``onnx``.
    path : path
        The file to write.
    missing : {"exact", "zero"}
        Missing values in formats without a branch for them: ``exact`` refuses models that need one, ``zero`` treats missing as 0.
    probes : int, optional
        Number of rows to verify it on.

    Returns
    -------
    dict
        What was written, on how many rows it was verified, and the largest difference.
    """
    flags = {"to": to, "output": path, "missing": missing, "probes": probes}
    if isinstance(model, (str, os.PathLike)):
        return command("export", model, **flags)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.toprank")
        model.save(file)
        return command("export", file, **flags)


def _imported(path: Any) -> Any:
    from ._estimators import Ranker

    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.toprank")
        command("import", path, output=file)
        return Ranker.load(file)


def load_lightgbm(model: Any) -> Any:
    """Load a model of LightGBM as a `Ranker`, with its handling of missing values and categories.

    Parameters
    ----------
    model : path or Booster or estimator
        A text file of LightGBM, a `lightgbm.Booster`, or an estimator with `booster_`.

    Returns
    -------
    Ranker
        It predicts raw scores: a link function is not applied, since it does not change an order.
    """
    if isinstance(model, (str, os.PathLike)):
        return _imported(model)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.txt")
        getattr(model, "booster_", model).save_model(file)
        return _imported(file)


def load_xgboost(model: Any) -> Any:
    """Load a model of XGBoost as a `Ranker`, with its handling of missing values and categories.

    Parameters
    ----------
    model : path or Booster or estimator
        A JSON file of XGBoost, an `xgboost.Booster`, or an estimator with `get_booster()`.

    Returns
    -------
    Ranker
        It predicts raw scores: a link function is not applied, since it does not change an order.
    """
    if isinstance(model, (str, os.PathLike)):
        return _imported(model)
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.json")
        booster.save_model(file)
        return _imported(file)
