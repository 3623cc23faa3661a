"""How long does `toprank report` take for 10,000 queries x 100 documents x 3 runs, how large is the page, and how fast does it open?

    python bench/report/run.py TOPRANK DIR [--queries 10000]

TOPRANK is the command of a release build, DIR an empty folder. Chromium, chromedriver and the package selenium are needed for the last
question only.
"""

import argparse
import pathlib
import random
import shutil
import statistics
import subprocess
import time


def prepare(folder, queries):
    draw = random.Random(1)
    with open(folder / "qrels", "w", encoding="ascii") as qrels:
        runs = [open(folder / f"{name}.run", "w", encoding="ascii") for name in "abc"]
        for q in range(queries):
            grades = [max(0, int(draw.gauss(0, 1.4))) for _ in range(100)]
            for d, grade in enumerate(grades):
                qrels.write(f"q{q} 0 d{q}-{d} {grade}\n")
                for skill, run in zip([0.3, 0.33, 0.5], runs):
                    run.write(f"q{q} Q0 d{q}-{d} 1 {skill * grade + draw.gauss(0, 1):.5f} x\n")
        for run in runs:
            run.close()


def opened(page):
    """Milliseconds from the start of the navigation to the end of loading, the page's script included."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]:
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        times = []
        for _ in range(5):
            driver.get("about:blank")
            driver.get(page.resolve().as_uri())
            times.append(driver.execute_script("return performance.getEntriesByType('navigation')[0].loadEventEnd"))
            assert len(driver.find_elements("css selector", "#lists-body tr")) == 50
        return times
    finally:
        driver.quit()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("toprank")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--queries", type=int, default=10_000)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    toprank = str(pathlib.Path(args.toprank).resolve())
    if not (args.folder / "c.run").exists():
        prepare(args.folder, args.queries)
    words = "report --qrels qrels a=a.run b=b.run c=c.run -m ndcg@10,map,mrr -o page.html --quiet"
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([toprank, *words.split()], cwd=args.folder, check=True)
        times.append(time.perf_counter() - start)
    page = args.folder / "page.html"
    print(f"{args.queries} queries x 100 documents x 3 runs: {statistics.median(times):.2f} s ({min(times):.2f}-{max(times):.2f}), "
          f"{page.stat().st_size / 1e6:.2f} MB")
    try:
        times = opened(page)
        print(f"opened in {statistics.median(times):.0f} ms ({min(times):.0f}-{max(times):.0f})")
    except ImportError:
        print("the time to open it is skipped: Python has no package selenium")


if __name__ == "__main__":
    main()
