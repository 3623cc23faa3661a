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


def test_an_optuna_study_prunes_and_finds_settings():
    study, value = run("recipe_optuna", "optuna")
    assert len(study.trials) == 8 and value > 0.8


def test_a_run_of_mlflow_gets_curves_and_metrics(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    assert run("recipe_mlflow", "mlflow")["ndcg@5"] > 0.7


def test_a_pipeline_and_a_grid_search_keep_lists_whole():
    search = run("recipe_pipeline", "sklearn", "pandas")
    assert search.best_params_ == {"ranker__learning_rate": 0.1} and search.best_score_ > 0.8


def test_a_frame_of_polars_is_ranked():
    top = run("recipe_polars", "polars")
    assert top.height == 120 and top["label"].mean() > 1


def test_a_module_learns_from_a_teacher():
    before, after = run("recipe_distillation", "torch")
    assert after > before + 0.3


def test_data_larger_than_memory_are_trained_on_and_scored_from_a_file():
    assert run("recipe_larger_than_memory") == 500


def test_the_lines_of_the_readme_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = (EXAMPLES.parents[2] / "README.md").read_text(encoding="utf-8")
    code = readme.split("```python\n")[1].split("```")[0]
    found: dict = {}
    exec(code, found)
    assert found["step"].gradient.shape == (5,)
    assert (tmp_path / "model.toprank").exists()


@pytest.mark.parametrize("page", sorted((EXAMPLES.parents[2] / "docs/src").rglob("*.md")), ids=lambda page: page.stem)
def test_the_python_of_the_documentation_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found: dict = {}
    for block in page.read_text(encoding="utf-8").split("```python\n")[1:]:
        exec(block.split("```")[0], found)
