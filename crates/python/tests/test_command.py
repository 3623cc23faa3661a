"""The command inside the package: the same words, the same results, and a Python call for everything it can do."""

import json
import os
import subprocess
import sys

import pytest

import toprank
from toprank import _toprank

#: For each command the call that does its work on data in memory or, where the work is from file to file, on files.
CALLS = {
    "evaluate": "evaluate",
    "compare": "compare",
    "report": "report",
    "threshold": "threshold",
    "fuse": "fuse",
    "train": "Ranker.fit",
    "tune": "tune",
    "predict": "Ranker.predict",
    "explain": "explain",
    "export": "export",
    "import": "load_lightgbm load_xgboost",
    "parity": "parity",
    "recommend train": "Recommender.fit",
    "recommend compare": "Recommender.compare",
    "recommend evaluate": "Recommender.evaluate Recommender.compare",
    "recommend top": "Recommender.recommend Recommender.recommend_new",
    "embed train": "Embedder.fit",
    "embed apply": "Embedder.transform",
    "retrieve": "Embedder.search Embedder.evaluate",
    "pagerank rank": "PageRank.fit",
    "pagerank train": "PageRank.fit",
    "pagerank predict": "PageRank.predict",
    "pagerank evaluate": "PageRank.score",
    "pagerank sessions": "command",
    "inspect": "inspect",
    "convert": "convert",
    "split": "split",
    "reconcile": "reconcile",
    "quickstart": "quickstart",
    "gradient": "gradient Objective.step",
    "metrics": "metrics",
    "objectives": "objectives",
    "models": "models",
    "formats": "formats",
}
#: Commands that are about the command itself.
OF_THE_SHELL = {"completions", "man", "serve"}


def python(*words, **options):
    return subprocess.run([sys.executable, "-m", "toprank", *words], capture_output=True, text=True, **options)


def test_every_command_has_a_python_call():
    commands = set(_toprank.commands()) - OF_THE_SHELL
    generators = {name for name in commands if name.startswith("generate ")}
    assert len(generators) > 5 and hasattr(toprank, "generate")
    missing = sorted(commands - generators - set(CALLS))
    assert not missing, f"commands without a Python call: {missing}"
    assert not set(CALLS) - commands, "calls for commands that do not exist"
    for command, calls in CALLS.items():
        for call in calls.split():
            place = toprank
            for name in call.split("."):
                assert hasattr(place, name), f"toprank {command}: there is no toprank.{call}"
                place = getattr(place, name)
            assert callable(place)


def test_the_module_runs_the_command_with_its_output_and_its_exit_codes(tmp_path, command):
    for words in (["--version"], ["metrics", "ndcg"], ["metrics", "ncdg"], ["--hlep"], ["inspect", "nowhere.txt"], ["-h"]):
        theirs = subprocess.run([command, *words], capture_output=True, text=True)
        ours = python(*words)
        assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr), words
        # Command and package may be built with other features.
        assert ours.stdout == theirs.stdout or words == ["--version"], words


def test_a_closed_pipe_ends_the_module_in_silence():
    call = f'"{sys.executable}" -m toprank objectives | head -1'
    run = subprocess.run(call, shell=True, capture_output=True, text=True)
    assert run.returncode == 0 and run.stderr == "" and run.stdout.count("\n") == 1


def test_the_command_needs_neither_numpy_nor_any_other_package():
    program = "import sys, toprank._command; print(sorted(m for m in ('numpy', 'sklearn', 'pandas') if m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"


def test_the_command_in_this_process_returns_what_it_prints_and_raises_what_it_says(tmp_path):
    assert toprank.command("metrics", "mrr")["name"] == "mrr"
    with pytest.raises(ValueError, match="did you mean"):
        toprank.command("metrics", "ncdg")
    with pytest.raises(ValueError, match="unexpected argument"):
        toprank.command("metrics", no_such_flag=1)
    with pytest.raises(ValueError, match="number of threads is that of the process"):
        toprank.command("metrics", threads=2)
    with pytest.raises(OSError, match="nowhere.txt"):
        toprank.inspect(tmp_path / "nowhere.txt")
    files = toprank.generate("interactions", tmp_path / "demo", users=60, items=90)["files"]
    assert os.path.exists(files[0]["path"])
    # What one call reads, the next one may write.
    table = tmp_path / "demo" / "interactions.csv"
    copy = tmp_path / "copy.csv"
    toprank.convert(table, copy, input_format="interactions")
    toprank.convert(copy, table, input_format="interactions", list="qid", item="item", format="interactions")
    with pytest.raises(ValueError, match="a file that this command reads"):
        toprank.convert(table, table, input_format="interactions")


def test_the_command_in_this_process_gives_the_numbers_of_the_command(tmp_path, command):
    data = tmp_path / "data.csv"
    data.write_text("label,a\n" + "".join(f"{k % 3 % 2},{(k * 7) % 11}\n" for k in range(60)))
    words = ["evaluate", "--data", str(data), "--feature", "a", "-m", "auroc,map"]
    theirs = subprocess.run([command, *words, "--json", "--quiet"], capture_output=True, text=True, check=True)
    assert toprank.command(*words) == json.loads(theirs.stdout)
