"""The examples do what they say."""

import importlib.util
import pathlib

import pytest

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def run(name, *needs):
    for package in needs:
        pytest.importorskip(package)
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main()


def test_a_frame_of_ones_own_becomes_a_ranker_that_beats_the_best_feature():
    compared = run("own_frame", "pandas")
    pair = compared.metrics["ndcg@3"]["pairs"][0]
    assert pair["mean_difference"] > 0.05 and all(test["p_corrected"] < 0.01 for test in pair["tests"])


def test_song_trains_a_module_of_pytorch():
    before, after = run("song_in_pytorch", "torch")
    assert after > before + 0.2


def test_song_and_ap_train_trees_of_lightgbm_and_xgboost():
    found = run("song_in_trees", "lightgbm", "xgboost")
    assert len(found) == 4 and all(value > 0.75 for value in found.values())


def test_the_lines_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = (EXAMPLES.parents[2] / "README.md").read_text(encoding="utf-8")
    code = readme.split("```python\n")[1].split("```")[0]
    found: dict = {}
    exec(code, found)
    assert found["step"].gradient.shape == (5,)
    assert (tmp_path / "model.toprank").exists()
