"use strict";
(() => {
  const GRADES = ["–", "0", "1", "2", "3", "4"];
  const fresh = () => [["A", "0"], ["B", "3"], ["C", "–"], ["D", "1"], ["E", "2"], ["F", "0"]].map(([name, grade]) => ({ name, grade, tied: false }));
  let documents = fresh(), answer = null, turn = 0, dragged = null;

  // The first place has the highest score; a tied document has the score of the one above it.
  const scores = () => {
    let score = documents.length;
    return documents.map((one, i) => { if (i > 0 && !one.tied) { score -= 1; } return score; });
  };

  const again = async () => {
    const own = ++turn;
    const of = scores(), place = new Map(documents.map((one, i) => [one.name, i]));
    const named = [...documents].sort((a, b) => a.name < b.name ? -1 : 1);
    const body = { metrics: byId("metrics").value, documents: named.map((one) => ({ score: of[place.get(one.name)], grade: one.grade === "–" ? null : Number(one.grade) })) };
    try {
      const found = await ask("/playground", body);
      if (own !== turn) { return; }
      answer = Object.assign(found, { names: named.map((one) => one.name) });
      say("");
      draw();
    } catch (error) { say(error.message); }
  };

  const move = (from, to) => {
    if (to < 0 || to >= documents.length || from === to) { return; }
    const [one] = documents.splice(from, 1);
    documents.splice(to, 0, one);
    one.tied = false;
    if (documents[from]) { documents[from].tied = false; }
    documents[0].tied = false;
    draw();
    byId("documents").children[to].focus();
    say(one.name + " is at place " + (to + 1));
    again();
  };

  const draw = () => {
    const objective = answer?.objectives.find((one) => one.name === byId("objective").value);
    const largest = objective ? Math.max(...objective.gradient.map(Math.abs), 1e-300) : 1;
    const focus = document.activeElement?.dataset?.key;
    byId("documents").replaceChildren(...documents.map((one, i) => {
      const item = make("li", { draggable: "true", tabindex: "0", "data-key": "item " + one.name, "aria-label": "document " + one.name + ", place " + (i + 1) + ", grade " + one.grade, class: one.tied ? "tied" : null });
      const grade = make("select", { "aria-label": "grade of " + one.name, "data-key": "grade " + one.name }, ...GRADES.map((text) => make("option", { value: text, selected: text === one.grade }, text)));
      grade.addEventListener("change", () => { one.grade = grade.value; again(); });
      const tie = make("button", { type: "button", "aria-pressed": String(one.tied), disabled: i === 0, "data-key": "tie " + one.name, title: "the score of the document above", "aria-label": "tie " + one.name + " with the document above" }, "tie");
      tie.addEventListener("click", () => { one.tied = !one.tied; draw(); again(); });
      const at = answer?.names.indexOf(one.name) ?? -1;
      const push = objective && at >= 0 ? -objective.gradient[at] : 0;
      item.append(make("span", { class: "rank" }, (i + 1) + "."), make("span", { class: "who" }, one.name), grade, tie, arrow(push / largest),
        make("span", { class: "soft" }, objective && at >= 0 ? shownNumber(objective.gradient[at], 4) : ""));
      item.addEventListener("dragstart", (event) => { dragged = i; event.dataTransfer.effectAllowed = "move"; event.dataTransfer.setData("text/plain", one.name); });
      item.addEventListener("dragover", (event) => { event.preventDefault(); item.classList.add("over"); });
      item.addEventListener("dragleave", () => item.classList.remove("over"));
      item.addEventListener("drop", (event) => { event.preventDefault(); if (dragged !== null) { move(dragged, i); dragged = null; } });
      item.addEventListener("keydown", (event) => {
        if (event.target !== item) { return; }
        if (event.key === "ArrowUp") { event.preventDefault(); move(i, i - 1); }
        if (event.key === "ArrowDown") { event.preventDefault(); move(i, i + 1); }
      });
      return item;
    }));
    if (focus) { document.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus(); }
    if (!answer) { return; }
    const values = byId("values");
    values.tHead.replaceChildren(make("tr", {}, make("th", { scope: "col", class: "words" }, "preset"), ...answer.metrics.map((name) => make("th", { scope: "col" }, name))));
    const own = answer.presets[0].values;
    values.tBodies[0].replaceChildren(...answer.presets.map((preset) => make("tr", {}, make("th", { scope: "row", class: "words", title: preset.about }, preset.name),
      ...preset.values.map((value, m) => make("td", { class: value === own[m] || (value !== null && own[m] !== null && Math.abs(value - own[m]) < 1e-9) ? null : "other" }, shownNumber(value))))));
    const text = byId("find").value.trim().toLowerCase();
    const found = answer.objectives.filter((one) => (one.name + " " + one.about).toLowerCase().includes(text));
    byId("found").textContent = found.length + " of " + answer.objectives.length;
    const table = byId("gradients");
    const order = documents.map((one) => answer.names.indexOf(one.name)).filter((at) => at >= 0);
    table.tHead.replaceChildren(make("tr", {}, make("th", { scope: "col", class: "words" }, "objective"), make("th", { scope: "col" }, "loss"),
      ...order.map((at) => make("th", { scope: "col" }, answer.names[at]))));
    table.tBodies[0].replaceChildren(...found.map((one) => {
      const largest = Math.max(...one.gradient.map(Math.abs), 1e-300);
      return make("tr", {}, make("th", { scope: "row", class: "words", title: one.about }, one.name), make("td", {}, shownNumber(one.loss)),
        ...order.map((at) => make("td", { title: shownNumber(one.gradient[at], 5) }, arrow(-one.gradient[at] / largest))));
    }));
    byId("without").textContent = answer.without.length === 0 ? "" : "Not for these grades: " + answer.without.map((one) => one.name).join(", ") + ".";
    const select = byId("objective"), chosen = select.value || "lambdarank";
    if (select.options.length !== answer.objectives.length) {
      select.replaceChildren(...answer.objectives.map((one) => make("option", { value: one.name, selected: one.name === chosen }, one.name)));
      if (!objective) { draw(); }
    }
  };

  byId("objective").addEventListener("change", draw);
  byId("find").addEventListener("input", draw);
  byId("metrics").addEventListener("change", again);
  byId("add").addEventListener("click", () => {
    const free = [..."ABCDEFGHIJKLMNOPQRST"].find((name) => !documents.some((one) => one.name === name));
    if (!free) { say("20 documents are enough here"); return; }
    documents.push({ name: free, grade: "0", tied: false });
    draw();
    again();
  });
  byId("remove").addEventListener("click", () => { if (documents.length > 1) { documents.pop(); draw(); again(); } });
  byId("reset").addEventListener("click", () => { documents = fresh(); draw(); again(); });
  draw();
  again();
})();
