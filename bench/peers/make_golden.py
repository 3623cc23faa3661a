"""Writes the peers' own values on seeded random lists: one file per peer for crates/metrics/tests/golden.

    python bench/peers/make_golden.py crates/metrics/tests/golden [PEER …]

The versions are those of requirements.txt; README.md in that folder describes the files.
"""

import json
import pathlib
import sys

import numpy as np

import cases
import peers

SEED = 8


def bugs_of(peer, function):
    """The peer's value where it is wrong by its own definition, beside the right one."""
    if peer in ("lightgbm", "xgboost"):
        return [weighted_bug(function, name, lists, "ndcg@3", EMPTY_UNWEIGHTED) for name, lists in cases.empty_and_weighted()]
    if peer == "catboost":
        weighted = dict(cases.grouped(SEED))["binary, list weights"][:5]
        why = "group weights are accepted and not used"
        return [weighted_bug(function, metric, weighted, metric, why, unweighted_too=True) for metric in ("map@3", "p@3", "recall@3")]
    if peer == "ranx":
        return ranx_bugs()
    return []


EMPTY_UNWEIGHTED = "the 1.0 of a list without a relevant item is added without its weight, the divisor is the sum of weights"


def weighted_bug(function, name, lists, metric, why, **how):
    """Right is the weighted mean of the peer's own values of each list alone."""
    alone = [{key: one[key] for key in ("scores", "labels")} for one in lists]
    # Each list beside a copy of itself, because one binary list alone is taken as a whole data set.
    each = [function([one, one], cuts=(3,))[metric][0] for one in alone]
    right = float(np.average(each, weights=[one["weight"] for one in lists]))
    bug = {"name": name, "lists": lists, "metric": metric, "peer": None, "right": right, "why": why}
    try:
        bug["peer"] = function(lists, cuts=(3,), **how)[metric][0]
    except Exception as stopped:
        lines = [line for line in str(stopped).splitlines() if "Check failed" in line]
        bug["error"] = lines[0][lines[0].index("Check failed") :]
    return bug


def ranx_bugs():
    base = {"scores": [0.75, 0.5, 0.25], "names": ["a", "b", "c"]}
    graded = [dict(base, labels=[4, 0, 3], missed=[])]
    yes_no = [dict(base, labels=[1, 0, 1], missed=[])]
    all_relevant = [dict(base, labels=[1, 1, 1], missed=[1])]
    value = lambda lists, metric: peers.ranx(lists, undefined_too=True)[metric][0]
    bpref = value(all_relevant, "bpref")
    return [
        {
            "name": "rbp of graded labels",
            "lists": graded,
            "metric": "rbp:p=0.8",
            "peer": value(graded, "rbp:p=0.8"),
            "right": value(yes_no, "rbp:p=0.8"),
            "why": "its definition says r is 0 or 1, its code multiplies by the grade, so that the value passes 1",
        },
        {
            "name": "bpref, no judged item is irrelevant",
            "lists": all_relevant,
            "metric": "bpref",
            "peer": bpref if np.isfinite(bpref) else None,
            "right": peers.pytrec_eval(all_relevant)["bpref"][0],
            "why": "divides by min(R, N) = 0 and gives NaN, which makes the mean NaN; right is trec_eval's value",
        },
    ]


def write(file, golden):
    """JSON with one line per list and per measure: small, and a change shows as a short difference."""
    line = lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    rows = lambda lists: "[\n" + ",\n".join("    " + line(one) for one in lists) + "]"
    pairs = lambda table: "{\n" + ",\n".join(f"    {line(k)}:{line(v)}" for k, v in table.items()) + "}"
    parts = []
    for case in golden["cases"]:
        per_list = f',\n  "per_list":{pairs(case["per_list"])}' if case["per_list"] else ""
        parts.append(
            f' {{"name":{line(case["name"])},\n  "lists":{rows(case["lists"])},\n  "values":{pairs(case["values"])}{per_list}}}'
        )
    bugs = [
        "{" + ",\n  ".join(f"{line(k)}:{rows(v) if k == 'lists' else line(v)}" for k, v in bug.items()) + "}"
        for bug in golden["bugs"]
    ]
    head = ",\n".join(f"{line(key)}:{line(golden[key])}" for key in ("peer", "version", "made_by"))
    file.write_text(
        "{" + head + ',\n"cases":[\n' + ",\n".join(parts) + '],\n"bugs":[\n ' + ",\n ".join(bugs) + "]}\n", encoding="utf-8"
    )


def main():
    folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(peers.PEERS)
    for peer in names:
        packages, function = peers.PEERS[peer]
        golden = {
            "peer": peer,
            "version": ", ".join(map(peers.version, packages)),
            "made_by": f"bench/peers/make_golden.py, seed {SEED}",
            "cases": [],
            "bugs": bugs_of(peer, function),
        }
        for name, lists in cases.of(peer, SEED):
            values = function(lists)
            if not values:
                continue
            golden["cases"].append(
                {
                    "name": name,
                    "lists": lists,
                    "values": {metric: mean for metric, (mean, _) in values.items()},
                    "per_list": {metric: each for metric, (_, each) in values.items() if each and len(each) > 1},
                }
            )
        file = folder / f"{peer}.json"
        write(file, golden)
        json.loads(file.read_text())
        print(f"{file}: {file.stat().st_size} bytes, {len(golden['cases'])} cases, {len(golden['bugs'])} bugs")


if __name__ == "__main__":
    main()
