"""The pages of toprank in a real browser: Chromium without a window, driven by Selenium.

    python browser.py TOPRANK [--screenshots FOLDER]

Exit code 77: there is no Selenium, Chromium or chromedriver; the reason is printed. Where the environment variable TOPRANK_AXE names
axe.min.js (npm package axe-core), the pages are checked for accessibility, too.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
HOSTILE = "</script><script>window.harmed=1</script><img src=x onerror='window.harmed=1'>"


def skip(why):
    print(f"the browser tests are skipped: {why}")
    sys.exit(SKIPPED)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select
except ImportError:
    skip("Python has no package selenium")

chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
driver_path = shutil.which("chromedriver")
if not chromium or not driver_path:
    skip("found no chromium or no chromedriver")


def run(toprank, folder, args):
    subprocess.run([toprank, *args.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def make_pages(toprank, folder):
    """One page of 120 queries, the first of which has a hostile name, and one of a classifier."""
    qrels, old, new = [], [], []
    for q in range(120):
        name = HOSTILE.replace(" ", "\u00a0") if q == 0 else f"query{q}"
        for d in range(12):
            grade = (d * 7 + q) % 12
            qrels.append(f"{name} 0 doc{d} {2 if grade == 0 else 1 if grade < 3 else 0}\n")
            old.append(f"{name} Q0 doc{d} 1 {(d * 5 + q * 3) % 12} old\n")
            new.append(f"{name} Q0 doc{d} 1 {-grade if (q + d) % 5 else d} new\n")
    for file, lines in [("qrels", qrels), ("old.run", old), ("new.run", new)]:
        (folder / file).write_text("".join(lines), encoding="utf-8")
    run(toprank, folder, "report --qrels qrels old=old.run new=new.run -m ndcg@10,map -o search.html --quiet")
    run(toprank, folder, "generate binary --rows 800 --seed 1 -o table --quiet")
    train = "train --data table/train.csv --valid table/vali.csv --label label --objective auroc --model trees --trees 10"
    run(toprank, folder, f"{train} --curves run -o trees.toprank --quiet")
    runs = "one=feature:f1 trees=trees.toprank"
    run(toprank, folder, f"report --data table/test.csv --label label {runs} -m auroc,auprc --curves run -o fraud.html --quiet")


def start():
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1200,900"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver_path))


def one(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def rows(driver):
    return [row.text for row in driver.find_elements(By.CSS_SELECTOR, "#lists-body tr")]


def check_search(driver):
    """Sorting, searching, paging, the plot that picks a list, rankings, a name that is markup."""
    assert "new beats old on ndcg@10" in one(driver, ".verdicts li").text
    assert len(rows(driver)) == 50 and one(driver, "#lists-count").text == "1–50 of 120"
    head = driver.find_elements(By.CSS_SELECTOR, "#lists-head th")
    assert [th.get_attribute("aria-sort") for th in head] == ["none", "none", "none", "descending"]
    first = rows(driver)[0]
    head[3].find_element(By.TAG_NAME, "button").click()
    assert rows(driver)[0] != first and head[3].get_attribute("aria-sort") == "ascending"
    one(driver, "#lists-forth").click()
    one(driver, "#lists-forth").click()
    assert one(driver, "#lists-count").text == "101–120 of 120" and len(rows(driver)) == 20
    assert not one(driver, "#lists-forth").is_enabled()
    one(driver, "#lists-search").send_keys("query11")
    assert one(driver, "#lists-count").text == "1–11 of 11", one(driver, "#lists-count").text
    one(driver, "#lists-search").clear()
    one(driver, "#lists-search").send_keys(" ")
    Select(one(driver, "#lists-which")).select_by_value("down")
    assert all("−" in row or "-" in row for row in rows(driver))
    one(driver, "figure.pick svg").click()
    assert len(driver.find_elements(By.CSS_SELECTOR, "tr.picked")) == 1 and one(driver, "#said").text
    assert Select(one(driver, "#lists-which")).first_selected_option.get_attribute("value") == "all"
    driver.refresh()
    link = one(driver, "#lists-body a")
    target = link.get_attribute("href").split("#")[1]
    driver.execute_script("arguments[0].click()", link)
    assert driver.find_element(By.ID, target).get_attribute("open"), target
    assert driver.execute_script("return window.harmed") is None, "a name became a script"
    assert driver.execute_script("return document.images.length") == 0
    # With the keyboard alone: the head of a column is a button.
    driver.execute_script("arguments[0].focus()", driver.find_elements(By.CSS_SELECTOR, "#lists-head button")[0])
    driver.switch_to.active_element.send_keys("\n")
    assert driver.find_elements(By.CSS_SELECTOR, "#lists-head th")[0].get_attribute("aria-sort") == "ascending"


def check_fraud(driver):
    titles = [title.text for title in driver.find_elements(By.TAG_NAME, "h2")]
    assert {"Curves", "Features", "Training", "Policy"} <= set(titles), titles
    assert len(driver.find_elements(By.CSS_SELECTOR, "figure svg")) >= 6


def scheme(driver, name):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})


def check_dark(driver):
    colours = []
    for name in ["light", "dark"]:
        scheme(driver, name)
        colours.append(driver.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(255, 255, 255)", "rgb(22, 24, 28)"], colours


def check_without_script(driver, url):
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    driver.get(url)
    assert " on " in one(driver, ".verdicts li").text and one(driver, "table td").text
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def check_accessibility(driver, name):
    axe = os.environ.get("TOPRANK_AXE")
    if not axe:
        return
    driver.execute_script("document.querySelectorAll('details').forEach((d, i) => { d.open = i < 4; })")
    # Through the debugger: the policy of the page allows no script but its own.
    driver.execute_cdp_cmd("Runtime.evaluate", {"expression": pathlib.Path(axe).read_text(encoding="utf-8")})
    for colours in ["light", "dark"]:
        scheme(driver, colours)
        expression = "axe.run().then((found) => JSON.stringify(found.violations.map((v) => [v.impact, v.id, v.nodes[0].html])))"
        answer = driver.execute_cdp_cmd(
            "Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True}
        )
        found = answer["result"]["value"]
        assert '"serious"' not in found and '"critical"' not in found, f"{name}, {colours}: {found}"


def main():
    toprank = os.path.abspath(sys.argv[1])
    screenshots = pathlib.Path(sys.argv[3]) if sys.argv[2:3] == ["--screenshots"] else None
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        make_pages(toprank, folder)
        driver = start()
        try:
            for name, check in [("search", check_search), ("fraud", check_fraud)]:
                url = (folder / f"{name}.html").as_uri()
                driver.get(url)
                scheme(driver, "light")
                if screenshots:
                    driver.save_screenshot(str(screenshots / f"report-{name}.png"))
                check(driver)
                check_dark(driver)
                check_accessibility(driver, name)
                wrong = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
                assert not wrong, wrong
                check_without_script(driver, url)
                print(f"{name}: ok")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
