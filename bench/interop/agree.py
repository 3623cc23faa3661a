#!/usr/bin/env python3
"""Do LightGBM, XGBoost and onnxruntime score models as toprank does: those that toprank wrote and those that they wrote?

    cargo build -p toprank-bench --no-default-features
    python bench/interop/agree.py [FOLDER]

Compared are scores, the leaf of every tree, and SHAP values where the tool has them, on 10,000 probe rows per model:
missing values, thresholds and their float neighbours, the extremes of 32-bit numbers, categories in and out of the sets.
Every model is loaded in a child process, since LightGBM and XGBoost end or crash theirs on a file that they refuse.
Exit status 1 if a leaf differs, a score by more than 1e-6 of the largest, or a SHAP value by more than 1e-6 of the largest.

Leaves of models that toprank wrote are found by a second model in which each tree has its own output and its leaves hold their
numbers. A tool that is not installed is named and skipped. Needs numpy; lightgbm, xgboost, onnxruntime, shap.
"""
import csv, importlib, json, subprocess, sys, tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import harness  # noqa: E402

TOLERANCE = 1e-6
PACKAGES = {"lightgbm": "lightgbm", "xgboost": "xgboost", "onnx": "onnxruntime", "shap": "shap"}


class LightGBM:
    def __init__(self, path):
        import lightgbm

        self.model = lightgbm.Booster(model_file=str(path))
        lines = path.read_text().splitlines()
        self.mean = "average_output" in lines
        # Zeros as missing values: what we cannot say in one node becomes several, with leaves repeated.
        self.count = sum(int(line.split("=")[1]) for line in lines if line.startswith("num_leaves="))

    def scores(self, rows):
        found = self.model.predict(rows.astype(np.float64), raw_score=True)
        # The mean of a random forest is taken after the raw score.
        return found / self.model.current_iteration() if self.mean else found

    def leaves(self, rows):
        return self.model.predict(rows.astype(np.float64), pred_leaf=True)

    def shap(self, rows):
        return self.model.predict(rows.astype(np.float64), pred_contrib=True)


class XGBoost:
    def __init__(self, path):
        import xgboost

        self.model = xgboost.Booster(model_file=str(path))
        self.model.set_param({"nthread": 1})
        names, types = self.model.feature_names, self.model.feature_types
        self.matrix = lambda rows: xgboost.DMatrix(
            rows, feature_names=names, feature_types=types, enable_categorical=types is not None
        )

    def scores(self, rows):
        return self.model.predict(self.matrix(rows), output_margin=True)

    def shap(self, rows):
        return self.model.predict(self.matrix(rows), pred_contribs=True)


class Onnx:
    def __init__(self, path):
        import onnxruntime

        self.session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def scores(self, rows):
        return self.session.run(None, {"features": rows})[0]


class Shap:
    """The package's own walk over the nodes of LightGBM's dump; its adapters would ask LightGBM."""

    def __init__(self, path):
        import shap

        infos = json.loads(path.read_text())["tree_info"]
        self.explainer = shap.TreeExplainer({"trees": [self.tree(info["tree_structure"]) for info in infos]})

    def tree(self, root):
        nodes = []

        def add(node):
            at = len(nodes)
            nodes.append(None)
            leaf = "leaf_value" in node
            left, right = (-1, -1) if leaf else (add(node["left_child"]), add(node["right_child"]))
            nodes[at] = {
                "children_left": left,
                "children_right": right,
                "children_default": left if node.get("default_left") else right,
                "features": node.get("split_feature", -2),
                "thresholds": node.get("threshold", 0.0),
                "values": [node["leaf_value"] if leaf else 0.0],
                "node_sample_weight": float(node["leaf_count" if leaf else "internal_count"]),
            }
            return at

        add(root)
        return {key: np.array([node[key] for node in nodes]) for key in nodes[0]}

    def shap(self, rows):
        found = np.asarray(self.explainer.shap_values(rows.astype(np.float64), check_additivity=False))
        return np.c_[found, np.zeros(len(found))]


TOOLS = {"lightgbm": LightGBM, "xgboost": XGBoost, "onnx": Onnx, "shap": Shap}


def child(folder, name, tool):
    """Compares one model; prints one line of JSON."""
    entry = next(e for e in json.loads((folder / "index").read_text()) if e["name"] == name)
    width, outputs = entry["width"], entry["outputs"]
    load = lambda kind, dtype, *shape: np.fromfile(folder / f"{name}.{kind}", dtype=dtype).reshape(*shape)
    rows = load("rows.f32", "<f4", -1, width)
    result = {"rows": len(rows), "missing": int(np.isnan(rows).sum())}
    model = TOOLS[tool](folder / entry["file"])
    if hasattr(model, "scores"):
        ours = load("scores.f64", "<f8", -1, outputs)
        found = np.asarray(model.scores(rows), dtype=np.float64).reshape(ours.shape)
        result["score"] = float(np.abs(found - ours).max() / np.abs(ours).max())
        leaves = None
        if "numbered" in entry:
            leaves = TOOLS[tool](folder / entry["numbered"]).scores(rows)
        elif hasattr(model, "leaves") and model.count == entry["leaves"]:
            leaves = model.leaves(rows)
        if leaves is not None:
            expected = load("leaves.u32", "<u4", len(rows), -1)
            result["leaves"] = int(expected.size)
            result["other leaves"] = int((np.asarray(leaves).reshape(expected.shape) != expected).sum())
    if hasattr(model, "shap") and (folder / f"{name}.shap.f64").exists():
        explained = load("explained.f32", "<f4", -1, width)
        expected = load("shap.f64", "<f8", len(explained), outputs, width)
        found = np.asarray(model.shap(explained)).reshape(len(explained), outputs, width + 1)[:, :, :width]
        result["shap"] = float(np.abs(found - expected).max() / np.abs(expected).max())
    print(json.dumps(result))


def main(folder):
    program = harness.command("interop", "debug")
    versions = {}
    for tool, package in PACKAGES.items():
        try:
            versions[tool] = f"{package} {importlib.import_module(package).__version__}"
        except ImportError:
            print(f"{package} is not installed: nothing is compared with it")
    table = []

    def compare(place, entry, tool, direction):
        row = {"direction": direction, "model": entry["model"], "tool": versions[tool]}
        if "refused" in entry:
            row["note"] = "refused: " + entry["refused"].split("/")[-1].split("\n")[0]
        else:
            run = [sys.executable, __file__, "--child", str(place), entry["name"], tool]
            run = subprocess.run(run, capture_output=True, text=True)
            if run.returncode == 0:
                row.update(json.loads(run.stdout.splitlines()[-1]))
            else:
                row["note"] = f"WRONG: the tool ended with status {run.returncode}"
                print(run.stdout[-500:], run.stderr[-2000:])
        if not (row.get("score", 0) <= TOLERANCE and row.get("shap", 0) <= TOLERANCE and not row.get("other leaves")):
            row["note"] = "WRONG"
        print(row, flush=True)
        table.append(row)

    subprocess.run([*program, "write", folder / "ours"], check=True)
    for entry in json.loads((folder / "ours/index").read_text()):
        if entry["format"] in versions:
            compare(folder / "ours", entry, entry["format"], "written by us")
        if entry["format"] == "lightgbm-json" and entry["model"] in ("numeric", "edges") and "shap" in versions:
            compare(folder / "ours", entry, "shap", "written by us")

    import foreign

    for tool, make in (("lightgbm", foreign.lightgbm_models), ("xgboost", foreign.xgboost_models)):
        if tool not in versions:
            continue
        place = folder / tool
        place.mkdir(parents=True, exist_ok=True)
        expected = make(place)
        subprocess.run([*program, "read", place], check=True)
        index = json.loads((place / "index").read_text())
        for entry in index:
            entry["file"] = entry["name"] + (".txt" if tool == "lightgbm" else ".json")
        (place / "index").write_text(json.dumps(index))
        for entry in index:
            compare(place, entry, tool, "read by us")
            if expected[entry["name"]] != ("refused" in entry):
                table[-1]["note"] = "WRONG: " + table[-1].get("note", "read, but should have been refused")

    columns = ["direction", "model", "tool", "rows", "missing", "score", "leaves", "other leaves", "shap", "note"]
    with open(HERE / "result.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        short = lambda value: f"{value:.1e}" if isinstance(value, float) else value
        writer.writerows({key: short(value) for key, value in row.items()} for row in table)
    sys.exit(any("WRONG" in row.get("note", "") for row in table))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]), sys.argv[3], sys.argv[4])
    elif len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
