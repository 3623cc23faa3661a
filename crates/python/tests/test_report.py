"""`toprank.report`: the page of arrays is that of the same files."""

import numpy as np
import pytest

import toprank


def test_arrays_give_the_page_of_the_same_files(tmp_path):
    random = np.random.default_rng(1)
    lists = np.repeat(np.arange(30), 8)
    labels = random.integers(0, 3, size=240)
    old, new = random.normal(size=240), labels + random.normal(size=240)
    of_arrays, of_files = tmp_path / "arrays.html", tmp_path / "files.html"
    toprank.report(of_arrays, {"old": old, "new": new}, labels, qid=lists, metrics="ndcg@5,map", title="one")
    (tmp_path / "t.csv").write_text("list,label\n" + "".join(f"{q},{y}\n" for q, y in zip(lists, labels)))
    for name, scores in [("old", old), ("new", new)]:
        (tmp_path / name).write_text("".join(f"{score!r}\n" for score in scores.tolist()))
    runs = {name: tmp_path / name for name in ("old", "new")}
    table = {"data": tmp_path / "t.csv", "list": "list", "label": "label"}
    toprank.report(of_files, runs, metrics="ndcg@5,map", title="one", **table)
    assert of_arrays.read_bytes() == of_files.read_bytes()
    verdict = toprank.compare({"old": old, "new": new}, labels, qid=lists, metrics="ndcg@5,map")
    assert "new beats old on ndcg@5" in of_arrays.read_text() and "new beats old on ndcg@5" in str(verdict)


def test_rows_in_any_order_and_hostile_names_are_the_same_page(tmp_path):
    lists = np.array(["a,\"b\"", "</script>", "c"] * 4)
    labels, scores = np.arange(12) % 2, np.arange(12.0)
    path = tmp_path / "page.html"
    toprank.report(path, {"<b>": scores}, labels, qid=lists)
    page = path.read_text()
    assert page.count("</script>") == 2 and "<b>" not in page and "a,&quot;b&quot;" in page


def test_what_does_not_fit_is_refused(tmp_path):
    with pytest.raises(ValueError, match="one of y, data and qrels"):
        toprank.report(tmp_path / "p.html", {"a": [1.0]})
    with pytest.raises(ValueError, match="has 1 scores, but y has 2"):
        toprank.report(tmp_path / "p.html", {"a": [1.0]}, [0, 1])
    assert not (tmp_path / "p.html").exists()
