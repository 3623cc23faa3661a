#!/usr/bin/env python3
"""Builds the documentation: the pages of docs/src, and a page for every metric, objective, model and format of the catalog.

    python docs/build.py OUT [--toprank target/debug/toprank]

OUT/src is what mdBook (cargo install mdbook) reads; OUT/book is the site, where `mdbook` is on the path. The reference of the Python
package is added where this Python has the package.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

DOCS = pathlib.Path(__file__).resolve().parent
ROOT = DOCS.parent
CATALOGS = {
    "metrics": ("Metrics", "What a ranking is judged by. `--objective METRIC` trains for any of them."),
    "objectives": ("Objectives", "Losses that models are trained with: loss, gradient and Hessian."),
    "models": ("Models", "Models, samplers, optimisers, schedules and weight averages."),
    "formats": ("Formats", "Files that are read and written."),
}


def include(found, folder):
    """The text of a file, or the part of it between the comments of an anchor."""
    path, _, anchor = found.group(1).partition(":")
    path = (folder / path).resolve()
    text = path.read_text(encoding="utf-8")
    if anchor:
        text = text.split(f"<!-- ANCHOR: {anchor} -->", 1)[1].split(f"<!-- ANCHOR_END: {anchor} -->", 1)[0]
    return links(text, path.parent)


def links(text, folder):
    """Links of a file of the repository as the site has them: to its pages, else to the repository."""

    def link(found):
        target, _, place = found.group(1).partition("#")
        if "://" in target or not target:
            return found.group(0) if target else "]("
        path = (folder / target).resolve()
        pages = {DOCS / "features.md": "features.md", DOCS / "stability.md": "stability.md"}
        shown = pages.get(path) or f"{repository()}/blob/main/{path.relative_to(ROOT)}"
        return f"]({shown}"

    text = re.sub(r"\]\(([^)\s]*)", link, text)
    # A link within the README is no link here.
    return re.sub(r"\[([^\]]+)\]\(\)", r"\1", text)


def repository():
    return re.search(r'^repository = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE).group(1)


def page(entry, all_of, command):
    """A page of the catalog: what `toprank metrics NAME` prints."""
    lines = [f"# {entry['name']}", "", f"{entry['about'][0].upper()}{entry['about'][1:]}.", ""]
    if entry.get("aliases"):
        names = [alias if isinstance(alias, str) else alias["name"] for alias in entry["aliases"]]
        lines += [f"Also called {', '.join(f'`{name}`' for name in names)}.", ""]
    lines += [entry.get("page", ""), ""]
    if entry.get("params"):
        lines += ["| parameter | default | range | meaning |", "| --- | --- | --- | --- |"]
        cell = lambda text: str(text).replace("|", "\\|")  # noqa: E731
        lines += [
            f"| `{p['name']}` | {cell(p['default'])} | {cell(p['range'])} | {cell(p['about'])} |" for p in entry["params"]
        ]
        lines += [""]
    trained = {kind: name for kind, name in (entry.get("trained_by") or {}).items() if name}
    if trained:
        words = ", ".join(f"{kind} with [`{name}`](../objectives/{name.split(':')[0].split('@')[0]}.md)" for kind, name in trained.items())
        lines += [f"`--objective {entry['name']}` trains {words}.", ""]
    if entry.get("extensions"):
        lines += [f"Extensions: {', '.join(entry['extensions'])}. Written, too: {'yes' if entry['writes'] else 'no'}.", ""]
    if entry.get("examples"):
        lines += ["Examples: " + ", ".join(f"`{example}`" for example in entry["examples"]) + ".", ""]
    return "\n".join(lines)


def catalog(toprank, src):
    """Writes the pages of every catalog; returns lines for the summary."""
    call = lambda *words: json.loads(subprocess.run([toprank, *words, "--json"], check=True, capture_output=True).stdout)  # noqa: E731
    summary = ["", "# Catalog", ""]
    for name, (title, about) in CATALOGS.items():
        entries = call(name)[name]
        folder = src / name
        folder.mkdir()
        index = [f"# {title}", "", about, "", "| name | |", "| --- | --- |"]
        summary.append(f"- [{title}]({name}/README.md)")
        for entry in entries:
            one = entry if name == "formats" else call(name, entry["name"])
            (folder / f"{entry['name']}.md").write_text(page(one, entries, name), encoding="utf-8")
            index.append(f"| [{entry['name']}]({entry['name']}.md) | {entry['about']} |".replace("||", "| |"))
            summary.append(f"  - [{entry['name']}]({name}/{entry['name']}.md)")
        (folder / "README.md").write_text("\n".join([*index, ""]), encoding="utf-8")
    return summary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--toprank", default=str(ROOT / "target/debug/toprank"))
    args = parser.parse_args()
    src = args.out / "src"
    shutil.rmtree(src, ignore_errors=True)
    shutil.copytree(DOCS / "src", src)
    shutil.copy(DOCS / "book.toml", args.out)
    for file in sorted((DOCS / "src").rglob("*.md")):
        text = file.read_text(encoding="utf-8")
        text = re.sub(r"\{\{#include ([^}]+)\}\}", lambda found: include(found, file.parent), text)
        (src / file.relative_to(DOCS / "src")).write_text(text, encoding="utf-8")
    summary = catalog(args.toprank, src)
    python = src / "python.md"
    made = subprocess.run([sys.executable, "-m", "toprank._reference", str(python)], capture_output=True, cwd=args.out)
    if made.returncode == 0:
        summary = ["- [Python](python.md)", *summary]
    else:
        print("this Python has no toprank: the reference of the package is left out")
    with (src / "SUMMARY.md").open("a", encoding="utf-8") as file:
        file.write("\n".join([*summary, ""]))
    pages = len(list(src.rglob("*.md")))
    if shutil.which("mdbook"):
        subprocess.run(["mdbook", "build", str(args.out)], check=True)
        print(f"{pages} pages: {args.out / 'book/index.html'}")
    else:
        print(f"{pages} pages in {src}; mdbook is not on the path (cargo install mdbook), so there is no site")


if __name__ == "__main__":
    main()
