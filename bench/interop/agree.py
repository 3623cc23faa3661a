"""Do LightGBM, XGBoost and onnxruntime say what we say, of models that we wrote and models that they wrote?

    cargo run -p toprank-trees --example interop_models -- FOLDER
    python bench/interop/agree.py FOLDER

Every model is loaded in a child process: LightGBM ends the process on a file that it does not like. Compared are the leaf
of every tree, the scores, and SHAP values where the tool has them; on probe rows with missing values, thresholds and their
float neighbours. Exit status 1 if a leaf differs, or a score by more than 1e-6 of the largest.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

TOLERANCE = 1e-6


def load(folder, entry, kind, dtype):
    return np.fromfile(folder / f"{entry['name']}.{kind}", dtype=dtype)


def lightgbm(path, entry, rows, background):
    import lightgbm as lgb

    model = lgb.Booster(model_file=str(path))
    rows, background = rows.astype(np.float64), background.astype(np.float64)
    shap = np.asarray(model.predict(background, pred_contrib=True))
    return model.predict(rows, raw_score=True), model.predict(rows, pred_leaf=True), shap


def xgboost(path, entry, rows, background):
    import xgboost as xgb

    model = xgb.Booster(model_file=str(path))
    types = model.feature_types
    matrix = lambda values: xgb.DMatrix(values, feature_types=types, enable_categorical=types is not None)
    leaves = model.predict(matrix(rows), pred_leaf=True).reshape(len(rows), -1).astype(np.int64)
    # Leaves stand behind the nodes of their tree.
    leaves -= np.array(entry["nodes"])
    shap = np.asarray(model.predict(matrix(background), pred_contribs=True))
    return model.predict(matrix(rows), output_margin=True), leaves, shap


def onnx(path, entry, rows, background):
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    scores = session.run(None, {"features": rows})[0]
    return scores, None, None


TOOLS = {"lightgbm": lightgbm, "xgboost": xgboost, "onnx": onnx}


def child(folder, name):
    """Prints one line of JSON."""
    entry = next(e for e in json.loads((folder / "index.json").read_text()) if e["name"] == name)
    width, outputs = entry["width"], entry["outputs"]
    rows = load(folder, entry, "rows.f32", "<f4").reshape(-1, width)
    background = load(folder, entry, "background.f32", "<f4").reshape(-1, width)
    ours = load(folder, entry, "scores.f64", "<f8").reshape(-1, outputs)
    scores, leaves, shap = TOOLS[entry["format"]](folder / entry["file"], entry, rows, background)
    result = {"missing": int(np.isnan(rows).sum()), "rows": len(rows)}
    result["score"] = float(np.abs(np.asarray(scores, dtype=np.float64).reshape(ours.shape) - ours).max() / np.abs(ours).max())
    if leaves is not None:
        expected = load(folder, entry, "leaves.u32", "<u4").reshape(len(rows), -1)
        result["other_leaves"] = int((np.asarray(leaves).reshape(expected.shape) != expected).sum())
    if shap is not None:
        expected = load(folder, entry, "shap.f64", "<f8").reshape(len(background), outputs, width)
        found = shap.reshape(len(background), outputs, width + 1)[:, :, :width]
        result["shap"] = float(np.abs(found - expected).max() / np.abs(expected).max())
    print(json.dumps(result))


def main(folder):
    bad = False
    for entry in json.loads((folder / "index.json").read_text()):
        if entry["format"] not in TOOLS:
            continue
        run = subprocess.run([sys.executable, __file__, str(folder), entry["name"]], capture_output=True, text=True)
        if run.returncode != 0:
            print(f"{entry['name']}: the tool failed\n{run.stdout[-500:]}{run.stderr[-2000:]}")
            bad = True
            continue
        result = json.loads(run.stdout.splitlines()[-1])
        wrong = result["score"] > TOLERANCE or result.get("other_leaves", 0) > 0
        bad |= wrong
        print(f"{entry['name']}: {'WRONG ' if wrong else ''}{result}")
    sys.exit(bad)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        child(Path(sys.argv[1]), sys.argv[2])
    else:
        main(Path(sys.argv[1]))
