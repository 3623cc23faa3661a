"use strict";
(() => {
  // What this visit has judged, so that "back" can show it again; `at` is the place that is shown, the end is the present item.
  const before = [];
  let judge = "", present = null, at = 0, busy = false;

  const item = () => at < before.length ? before[at].item : present;

  const show = () => {
    const shown = item();
    byId("item").hidden = !shown;
    byId("done").hidden = Boolean(shown) || !judge;
    if (!shown) { return; }
    byId("query").textContent = shown.query_name;
    byId("query-text").textContent = shown.query_text ?? "";
    byId("document").textContent = shown.document_name;
    byId("document-text").textContent = shown.document_text ?? "";
    byId("document-text").scrollTop = 0;
    byId("back").disabled = at === 0;
    const given = at < before.length ? before[at].grade : null;
    for (const button of document.querySelectorAll("[data-grade]")) { button.classList.toggle("given", Number(button.dataset.grade) === given); }
  };

  const take = (answer) => {
    present = answer.item;
    byId("state").hidden = false;
    byId("progress").max = answer.judged + answer.left || 1;
    byId("progress").value = answer.judged;
    byId("count").textContent = answer.judged + " judged, " + answer.left + " left";
    byId("judges").replaceChildren(...answer.judges.map((one) => make("tr", {}, make("th", { scope: "row", class: "words" }, one.name), make("td", {}, String(one.judged)))));
    const { items, pairs, equal, alpha } = answer.agreement;
    byId("agreement").textContent = items === 0 ? "No item has two judges yet." :
      items + " items have several judges; " + (equal * 100).toFixed(0) + " % of " + pairs + " pairs of grades are equal; Krippendorff's alpha " +
      (alpha === null ? "is undefined (all grades are the same)" : shownNumber(alpha, 3)) + ".";
    byId("consensus").textContent = answer.consensus;
  };

  const send = async (grade) => {
    const shown = item();
    if (!shown || busy) { return; }
    busy = true;
    try {
      const answer = await ask("/judge", { judge, query: shown.query, document: shown.document, grade });
      if (at < before.length) { before[at].grade = grade; } else if (grade !== null) { before.push({ item: shown, grade }); }
      at = before.length;
      take(answer);
      say(grade === null ? "skipped" : "written: " + grade);
    } catch (error) { say(error.message); }
    busy = false;
    show();
  };

  const back = () => { if (at > 0) { at -= 1; say("grade it again, or press b once more"); show(); } };

  const start = async () => {
    judge = byId("judge").value.trim().toLowerCase();
    try {
      take(await ask("/judge", { judge }));
      sessionStorage.setItem("judge", judge);
      byId("who").hidden = true;
      byId("judge").blur();
      say("");
    } catch (error) {
      judge = "";
      if (error.status === 404) {
        byId("who").hidden = true;
        byId("absent").hidden = false;
        byId("absent").textContent = error.message;
      } else { say(error.message); }
    }
    show();
  };

  byId("who").addEventListener("submit", (event) => { event.preventDefault(); start(); });
  for (const button of document.querySelectorAll("[data-grade]")) { button.addEventListener("click", () => send(Number(button.dataset.grade))); }
  byId("skip").addEventListener("click", () => send(null));
  byId("back").addEventListener("click", back);
  addEventListener("keydown", (event) => {
    if (!judge || event.ctrlKey || event.metaKey || event.altKey || event.repeat || event.target.tagName === "INPUT") { return; }
    if (/^[0-4]$/.test(event.key)) { send(Number(event.key)); }
    else if (event.key === "s") { send(null); }
    else if (event.key === "b") { back(); }
    else { return; }
    event.preventDefault();
  });
  const known = sessionStorage.getItem("judge");
  if (known) { byId("judge").value = known; start(); } else { byId("judge").focus(); }
})();
