"""Runs exported models in onnxruntime on the probes beside them; prints the largest difference and the largest score."""
import csv, json, sys

import numpy as np
import onnxruntime as ort

*models, table = sys.argv[1:]
sessions = [ort.InferenceSession(model, providers=["CPUExecutionProvider"]) for model in models]
names = [given.name for given in sessions[0].get_inputs()]


def numbers(places):
    return np.array([[float(row[place]) if row[place] else np.nan for place in places] for row in rows], np.float32)


if table.endswith(".json"):  # graphs: the tensors of each run
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64}
    types = {given.name: types[given.type] for given in sessions[0].get_inputs()}
    with open(table) as file:
        runs = json.load(file)
    score = np.concatenate([np.array(run["scores"], float) for run in runs])
    found = np.concatenate([
        sessions[0].run(["scores"], {
            name: np.array(tensor["values"], types[name]).reshape(tensor["sizes"]) for name, tensor in run["inputs"].items()
        })[0]
        for run in runs
    ])
else:
    with open(table, newline="") as file:
        head, *rows = csv.reader(file)
    column = {name: [row[place] for row in rows] for place, name in enumerate(head)}
    if len(sessions) == 2:  # the two sides of a recommender: user, item, score, then "user NAME" and "item NAME"
        score = np.array(column["score"], float)[:, None]
        vectors = []
        for side, session in zip(["user", "item"], sessions):
            inputs = {side: np.array(column[side], np.int64)}
            known = [place for place, name in enumerate(head) if place > 2 and name.startswith(side + " ")]
            if known:
                inputs["features"] = numbers(known)
            vectors.append(session.run(["vector"], inputs)[0].astype(float))
        found = (vectors[0] * vectors[1]).sum(1, keepdims=True)
    elif "user" in names:  # pairs: user, item, score
        score = np.array(column["score"], float)[:, None]
        found = sessions[0].run(["score"], {side: np.array(column[side], np.int64) for side in names})[0]
    else:  # [list,] score or score1, score2, …, then the features
        lists = int(head[0] == "list")
        name, outputs = sessions[0].get_outputs()[0].name, sessions[0].get_outputs()[0].shape[1]
        score = np.array([[float(value) for value in row[lists : lists + outputs]] for row in rows])
        x = numbers(range(lists + outputs, len(head)))
        cuts = [0, len(rows)]
        if lists:
            cuts = [i for i in range(len(rows)) if i == 0 or rows[i][0] != rows[i - 1][0]] + [len(rows)]
        found = np.concatenate([sessions[0].run([name], {"features": x[a:b]})[0] for a, b in zip(cuts, cuts[1:])])
assert found.shape == score.shape, f"scores of shape {found.shape} instead of {score.shape}"
difference = np.abs(found - score)
print(json.dumps({
    "version": ort.__version__,
    "difference": float(difference.max()) if np.isfinite(difference).all() else 1e300,
    "largest": float(np.abs(score).max()),
}))
