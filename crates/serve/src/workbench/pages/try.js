"use strict";
(() => {
  const MOST = 200; // rows of the table: a browser is slow with more
  let model = null, start = [], rows = [], chosen = 0, scores = [], turn = 0;

  const cellText = (value) => value === null ? "" : String(value);
  const url = (path) => path + "?model=" + encodeURIComponent(byId("model").value);

  const draw = () => {
    const text = byId("search").value.trim().toLowerCase();
    const wanted = model.features.map((name, f) => [name, f]).filter(([name]) => name.toLowerCase().includes(text));
    byId("head").replaceChildren(
      make("tr", {}, make("th", { scope: "col", class: "words" }, "item"), ...rows.map((_, r) => {
        const button = make("button", { type: "button", "aria-pressed": String(r === chosen) }, "item " + (r + 1));
        button.addEventListener("click", () => { chosen = r; draw(); explain(); });
        return make("th", { scope: "col" }, button);
      })),
      make("tr", {}, make("th", { scope: "row", class: "words" }, "score"), ...rows.map((_, r) => make("td", { id: "score-" + r }))),
      make("tr", {}, make("th", { scope: "row", class: "words" }, "rank"), ...rows.map((_, r) => make("td", { id: "rank-" + r }))));
    byId("body").replaceChildren(...wanted.slice(0, MOST).map(([name, f]) => make("tr", {},
      make("th", { scope: "row", class: "name", title: name.slice(0, 200) }, make("bdi", {}, name.slice(0, 120))),
      ...rows.map((row, r) => {
        const input = make("input", { class: "cell" + (row[f] === (start[r] ?? [])[f] ? "" : " changed"), inputmode: "decimal", "aria-label": name.slice(0, 60) + " of item " + (r + 1), value: cellText(row[f]) });
        input.addEventListener("input", () => {
          const value = input.value.trim() === "" ? null : Number(input.value.trim().replace(",", "."));
          const wrong = value !== null && !Number.isFinite(value);
          input.classList.toggle("wrong", wrong);
          if (wrong) { return; }
          rows[r][f] = value;
          input.classList.toggle("changed", value !== (start[r] ?? [])[f]);
          chosen = r;
          again();
        });
        return make("td", {}, input);
      }))));
    byId("about").textContent = "A column is an item of one list, a row a feature; an empty cell is a missing value. Scores and ranks follow every change." +
      (wanted.length > MOST ? " The first " + MOST + " of " + wanted.length + " features are shown: search for others." : "");
    show();
  };

  const first = (score) => Array.isArray(score) ? score[0] : score;
  const show = () => rows.forEach((_, r) => {
    if (scores.length !== rows.length || !byId("score-" + r)) { return; }
    byId("score-" + r).textContent = shownNumber(first(scores[r]), 5);
    byId("rank-" + r).textContent = String(1 + scores.filter((other) => first(other) > first(scores[r])).length);
  });

  const again = async () => {
    const own = ++turn;
    try {
      const answer = await ask(url("/rank"), { features: rows });
      if (own !== turn) { return; } // a later change has its own answer
      scores = answer.scores;
      say("");
      show();
      await explain(own);
    } catch (error) { say(error.message); }
  };

  const explain = async (own = turn) => {
    byId("waterfall-title").textContent = "What each feature adds to item " + (chosen + 1);
    if (!model.explains) {
      byId("waterfall-about").textContent = "This model cannot say it exactly; models of trees can (toprank train --model trees).";
      byId("waterfall").replaceChildren();
      return;
    }
    try {
      const answer = await ask(url("/explain"), { features: rows });
      if (own === turn) { waterfall(answer); }
    } catch (error) { say(error.message); }
  };

  // Bars from the mean score of the list to the score of the item, the largest contributions first.
  const waterfall = (answer) => {
    const all = answer.contributions[chosen][0].map((value, f) => ({ name: answer.features[f], value, of: rows[chosen][f] })).filter((one) => one.value !== 0);
    all.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const shown = all.slice(0, 12), rest = all.slice(12);
    if (rest.length > 0) { shown.push({ name: rest.length + " other features", value: rest.reduce((sum, one) => sum + one.value, 0), of: undefined }); }
    const mean = answer.expected[0], score = answer.scores[chosen][0];
    byId("waterfall-about").textContent = "From the mean score of the list, " + shownNumber(mean, 5) + ", to the score of item " + (chosen + 1) + ", " + shownNumber(score, 5) + ". Exact tree SHAP, compared with the other items.";
    let at = mean;
    const ends = shown.map((one) => { const from = at; at += one.value; return [from, at]; });
    const values = [mean, score, ...ends.flat()];
    const low = Math.min(...values), high = Math.max(...values), span = high - low || 1;
    const LEFT = 300, WIDTH = 560, ROW = 24, height = (shown.length + 2) * ROW + 8;
    const x = (value) => LEFT + (value - low) / span * WIDTH;
    const svg = drawn("svg", { viewBox: `0 0 ${LEFT + WIDTH + 90} ${height}`, width: LEFT + WIDTH + 90, role: "img", "aria-label": byId("waterfall-about").textContent });
    const label = (row, name, kind) => {
      const text = drawn("text", { x: LEFT - 10, y: row * ROW + 17, "text-anchor": "end", class: kind });
      text.textContent = name.length > 40 ? name.slice(0, 39) + "…" : name;
      svg.append(text);
    };
    const number = (row, value, text) => {
      const made = drawn("text", { x: x(value) + 6, y: row * ROW + 17 });
      made.textContent = text;
      svg.append(made);
    };
    label(0, "mean of the list", "soft");
    number(0, mean, shownNumber(mean, 4));
    svg.append(drawn("line", { class: "axis", x1: x(mean), x2: x(mean), y1: 0, y2: height }));
    shown.forEach((one, i) => {
      const [from, to] = ends[i];
      label(i + 1, one.of === undefined ? one.name : one.name + " = " + (one.of === null ? "missing" : one.of), "");
      svg.append(drawn("rect", { class: one.value > 0 ? "up" : "down", x: Math.min(x(from), x(to)), width: Math.max(Math.abs(x(to) - x(from)), 1), y: (i + 1) * ROW + 4, height: ROW - 8 }));
      number(i + 1, Math.max(from, to), (one.value > 0 ? "+" : "−") + Math.abs(one.value).toFixed(4));
    });
    label(shown.length + 1, "score", "soft");
    number(shown.length + 1, score, shownNumber(score, 4));
    byId("waterfall").replaceChildren(svg);
  };

  const load = async () => {
    try {
      model = await ask(url("/example"));
      start = model.rows.map((row) => [...row]);
      rows = model.rows.map((row) => [...row]);
      chosen = 0; scores = [];
      draw();
      await again();
    } catch (error) { say(error.message); }
  };

  byId("model").addEventListener("change", load);
  byId("search").addEventListener("input", draw);
  byId("reset").addEventListener("click", load);
  byId("add").addEventListener("click", () => {
    if (rows.length >= 20) { say("20 items are enough here"); return; }
    rows.push([...rows[rows.length - 1]]);
    start.push([...rows[rows.length - 1]]);
    chosen = rows.length - 1;
    draw();
    again();
  });
  (async () => {
    try {
      const { models } = await ask("/health");
      const rankers = models.filter((one) => one.kind === "ranker");
      byId("model").replaceChildren(...rankers.map((one) => make("option", { value: one.name }, one.name.slice(0, 80))));
      if (rankers.length > 0) { await load(); return; }
      byId("absent").hidden = false;
      byId("absent").textContent = "This server has no model that scores rows of features: toprank serve MODEL adds one.";
    } catch (error) { say(error.message); }
  })();
})();
