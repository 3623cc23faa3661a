"""Writes what scikit-learn and scipy compute from seeded scores: probabilities, their quality, intervals of fractions.

    python bench/peers/make_calibration.py crates/train/tests/golden/calibration.json

The versions are those of requirements.txt. crates/train/tests/calibration.rs replays the file.
"""

import json
import sys

import numpy as np
import scipy
import sklearn
from scipy.stats import binomtest
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

SEED = 11


def case(name, rng, items, slope, offset, ties, weighted):
    scores = rng.normal(size=items)
    labels = (rng.random(items) < 1 / (1 + np.exp(-(slope * scores + offset)))).astype(int)
    labels[:2] = [0, 1]
    scores = np.round(scores * ties) / ties
    weights = rng.integers(1, 5, size=items).astype(float) if weighted else None
    ask = np.linspace(-3, 3, 25)
    platt = _SigmoidCalibration().fit(scores, labels, sample_weight=weights)
    isotonic = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, labels, sample_weight=weights)
    probabilities = platt.predict(scores)
    return {
        "name": name,
        "scores": scores.tolist(),
        "labels": labels.tolist(),
        "weights": None if weights is None else weights.tolist(),
        "ask": ask.tolist(),
        "platt": platt.predict(ask).tolist(),
        "isotonic": isotonic.predict(ask).tolist(),
        "judged": probabilities.tolist(),
        "brier": brier_score_loss(labels, probabilities, sample_weight=weights),
        "log_loss": log_loss(labels, probabilities, sample_weight=weights),
    }


def main(path):
    rng = np.random.default_rng(SEED)
    cases = [
        case("balanced", rng, 120, 1.5, 0.0, 1000, False),
        case("rare positives", rng, 300, 2.0, -3.0, 1000, False),
        case("many ties", rng, 150, 1.0, -1.0, 2, False),
        case("weights", rng, 100, 1.0, -0.5, 4, True),
    ]
    wilson = []
    for hits, trials, level in [(0, 10, 0.95), (3, 10, 0.95), (41, 51, 0.95), (7, 7, 0.9), (120, 4000, 0.99)]:
        bounds = binomtest(hits, trials).proportion_ci(level, method="wilson")
        wilson.append([hits, trials, level, float(bounds.low), float(bounds.high)])
    made = {
        "version": f"scikit-learn {sklearn.__version__}, scipy {scipy.__version__}",
        "made_by": f"bench/peers/make_calibration.py, seed {SEED}",
        "wilson": wilson,
        "cases": cases,
    }
    with open(path, "w") as out:
        json.dump(made, out)
        out.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
