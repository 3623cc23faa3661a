"""The pages of toprank in a real browser: Chromium without a window, driven by Selenium: reports, the workbench of the server, and the
documentation where it is built (the environment variable TOPRANK_BOOK names its folder).

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
import time

SKIPPED = 77
HOSTILE = "</script><script>window.harmed=1</script><img src=x onerror='window.harmed=1'>"


def skip(why):
    print(f"the browser tests are skipped: {why}")
    sys.exit(SKIPPED)


try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
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
    # The same runs with documents that nobody has judged.
    more = [f"{line.split(' ')[0]} Q0 unjudged{d} 1 {d + 8.5} x\n" for line in old[::12] for d in range(3)]
    pools = [("pool-old.run", old + more[1::2]), ("pool-new.run", new + more[::2])]
    for file, lines in [("qrels", qrels), ("old.run", old), ("new.run", new), *pools]:
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
    for argument in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--window-size=1200,900",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]:
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


class Server:
    """`toprank serve` on a free port, until the end of the block."""

    def __init__(self, toprank, folder, args):
        words = [toprank, "serve", *args.split(), "--listen", "127.0.0.1:0", "--quiet"]
        self.process = subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def until(what, done):
    end = time.monotonic() + 30
    while not done():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def text(driver, selector):
    return one(driver, selector).text


def key(driver, pressed):
    ActionChains(driver).send_keys(pressed).perform()


def check_judge(driver, folder):
    """By the keys alone: a name, grades, skip and back; a name that is markup; the files."""
    file = folder / "judged" / "judge-anna.qrels"
    key(driver, "Anna" + Keys.ENTER)
    until("an item", lambda: one(driver, "#item").is_displayed())
    graded = []
    for grade in "403":
        before = text(driver, "#query") + text(driver, "#document")
        graded.append((text(driver, "#document"), grade))
        key(driver, grade)
        until("the next item", lambda: text(driver, "#query") + text(driver, "#document") != before)
    lines = [line.split(" ") for line in file.read_text(encoding="utf-8").splitlines()]
    assert sorted((line[2], line[3]) for line in lines) == sorted(graded), lines
    before = text(driver, "#query") + text(driver, "#document")
    key(driver, "s")
    until("another item", lambda: text(driver, "#query") + text(driver, "#document") != before)
    key(driver, "b")
    until("the item before", lambda: text(driver, "#document") == graded[-1][0])
    assert text(driver, "button.given").startswith("3")
    key(driver, "2")
    until("the grade is changed", lambda: any(line.endswith(" 2") for line in file.read_text(encoding="utf-8").splitlines()))
    assert text(driver, "#count").startswith("3 judged, "), text(driver, "#count")
    driver.refresh()
    until("the same judge goes on", lambda: text(driver, "#count").startswith("3 judged, "))
    # The query whose name is markup, when it comes.
    for _ in range(400):
        if "script" in text(driver, "#query"):
            break
        before = text(driver, "#count")
        key(driver, "1")
        until("the next item", lambda: text(driver, "#count") != before)
    assert "<script>" in text(driver, "#query"), text(driver, "#query")
    assert driver.execute_script("return window.harmed") is None and driver.execute_script("return document.images.length") == 0


def check_compare(driver, folder):
    until("a report", lambda: one(driver, "#report").is_displayed() and "Up to date" in text(driver, "#state"))
    driver.switch_to.frame("report")
    until("its verdict", lambda: " on ndcg@10" in text(driver, ".verdicts li"))
    verdict = text(driver, ".verdicts li")
    assert len(rows(driver)) == 50, "the script of the report runs inside of the page"
    driver.switch_to.default_content()
    qrels = folder / "judged" / "judge-anna.qrels"
    assert qrels.exists()
    consensus = folder / "judged" / "consensus.qrels"
    lines = consensus.read_text(encoding="utf-8").splitlines()
    consensus.write_text("".join(line[: line.rindex(" ")] + f" {i % 3}\n" for i, line in enumerate(lines)), encoding="utf-8")

    def changed():
        driver.switch_to.default_content()
        driver.switch_to.frame("report")
        found = driver.find_elements(By.CSS_SELECTOR, ".verdicts li")
        return found and found[0].text != verdict

    until("the report follows the file", changed)
    driver.switch_to.default_content()


def check_try(driver, _):
    until("scores", lambda: text(driver, "#score-0") != "")
    until("a waterfall", lambda: driver.find_elements(By.CSS_SELECTOR, "#waterfall rect"))
    score = text(driver, "#score-0")
    cells = driver.find_elements(By.CSS_SELECTOR, "#body tr")
    for cell in cells:
        field = cell.find_element(By.TAG_NAME, "input")
        field.clear()
        field.send_keys("9")
    until("another score", lambda: text(driver, "#score-0") != score)
    assert "changed" in field.get_attribute("class")
    field.clear()
    field.send_keys("no number")
    assert "wrong" in field.get_attribute("class")
    one(driver, "#reset").click()
    until("the first score again", lambda: text(driver, "#score-0") == score)
    one(driver, "#add").click()
    until("one more item", lambda: len(driver.find_elements(By.CSS_SELECTOR, "#head tr:first-child th")) == 8)
    one(driver, "#search").send_keys("f1")
    assert all("f1" in row.text for row in driver.find_elements(By.CSS_SELECTOR, "#body tr"))
    one(driver, "#search").clear()
    one(driver, "#search").send_keys(" ")
    one(driver, "#reset").click()
    until("the first score again", lambda: text(driver, "#score-0") == score)


def check_playground(driver, _):
    until("values", lambda: len(driver.find_elements(By.CSS_SELECTOR, "#values tbody tr")) > 10)
    value = lambda: driver.find_elements(By.CSS_SELECTOR, "#values tbody tr:first-child td")[1].text
    names = lambda: [item.text for item in driver.find_elements(By.CSS_SELECTOR, "#documents .who")]
    assert names() == ["A", "B", "C", "D", "E", "F"]
    first = value()
    items = driver.find_elements(By.CSS_SELECTOR, "#documents li")
    ActionChains(driver).drag_and_drop(items[1], items[0]).perform()
    until("B is first", lambda: names()[0] == "B")
    until("ndcg is higher", lambda: float(value()) > float(first))
    driver.execute_script("document.querySelectorAll('#documents li')[0].focus()")
    key(driver, Keys.ARROW_DOWN)
    until("B is second again", lambda: names()[:2] == ["A", "B"])
    until("ndcg is the first again", lambda: value() == first)
    driver.find_elements(By.CSS_SELECTOR, "#documents button")[1].click()
    until("a tie differs between presets", lambda: driver.find_elements(By.CSS_SELECTOR, "#values td.other"))
    Select(driver.find_elements(By.CSS_SELECTOR, "#documents select")[0]).select_by_value("4")
    until("another grade", lambda: value() != first)
    arrows = driver.find_elements(By.CSS_SELECTOR, "#gradients tbody .arrow path.up")
    assert len(arrows) > 20, len(arrows)
    one(driver, "#find").send_keys("lambda")
    assert all("lambda" in row.text for row in driver.find_elements(By.CSS_SELECTOR, "#gradients tbody tr")[:1])
    one(driver, "#find").clear()
    one(driver, "#find").send_keys(" ")
    one(driver, "#metrics").clear()
    one(driver, "#metrics").send_keys("ncdg@5" + Keys.TAB)
    until("a sentence about it", lambda: "did you mean" in text(driver, "#said"))
    # A request that is refused is an entry in the log of the browser, rightly.
    driver.get_log("browser")
    one(driver, "#metrics").clear()
    one(driver, "#metrics").send_keys("ndcg@5,err" + Keys.TAB)
    until("other metrics", lambda: [th.text for th in driver.find_elements(By.CSS_SELECTOR, "#values thead th")][1:] == ["ndcg@5", "err"])


def check_home(driver, _):
    until("a model", lambda: "trees" in text(driver, "#models"))


def no_errors(driver, name):
    wrong = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    assert not wrong, (name, wrong)


def check_workbench(toprank, folder, driver, screenshots):
    runs = "--qrels qrels --run old=pool-old.run --run new=pool-new.run -m ndcg@10,map --judgements judged --depth 4"
    with Server(toprank, folder, f"trees.toprank {runs}") as server:
        pages = [("", check_home), ("judge", check_judge), ("compare", check_compare), ("try", check_try), ("playground", check_playground)]
        for name, check in pages:
            driver.get(f"{server.address}/{name}")
            scheme(driver, "light")
            check(driver, folder)
            no_errors(driver, name)
            check_dark(driver)
            check_accessibility(driver, name)
            if screenshots:
                scheme(driver, "light")
                driver.get(f"{server.address}/{name}")
                time.sleep(1.5)
                driver.save_screenshot(str(screenshots / f"serve-{name or 'home'}.png"))
            print(f"serve /{name}: ok")
    (folder / "token").write_text("correct-horse-battery", encoding="utf-8")
    with Server(toprank, folder, "trees.toprank --token-file token") as server:
        driver.get(f"{server.address}/try")
        key(driver, Keys.TAB)
        one(driver, "#token").send_keys("correct-horse-battery" + Keys.ENTER)
        until("the page behind the token", lambda: driver.find_elements(By.CSS_SELECTOR, "#score-0"))
        until("its scores", lambda: text(driver, "#score-0") != "")
        driver.get_log("browser")
        print("serve with a token: ok")


def check_book(driver):
    """Every page of the documentation, where it is built."""
    book = os.environ.get("TOPRANK_BOOK")
    pages = sorted(pathlib.Path(book).rglob("*.html")) if book else []
    if not pages:
        print("docs: skipped, TOPRANK_BOOK names no folder with pages")
        return
    for page in pages:
        driver.get(page.resolve().as_uri())
        assert driver.title, page
        wrong = [e for e in driver.get_log("browser") if e["level"] == "SEVERE"]
        assert not wrong, (page, wrong)
    print(f"docs: {len(pages)} pages ok")


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
                no_errors(driver, name)
                check_without_script(driver, url)
                print(f"{name}: ok")
            if subprocess.run([toprank, "serve", "--help"], stdout=subprocess.PIPE, check=True, text=True).stdout.count("/judge"):
                check_workbench(toprank, folder, driver, screenshots)
            else:
                print("the pages of the server are skipped: this build has no server (feature serve)")
            check_book(driver)
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
