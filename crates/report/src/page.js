"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const say = (text) => { byId("said").textContent = text; };

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      const text = byId(button.dataset.copy).textContent;
      try { await navigator.clipboard.writeText(text); }
      catch { // A page from a file may not use the clipboard: select the text in a hidden field instead.
        const field = document.createElement("textarea");
        field.value = text; document.body.append(field); field.select(); document.execCommand("copy"); field.remove();
      }
      say(button.textContent + ": copied");
      button.setAttribute("data-done", "");
    });
  }

  for (const cell of document.querySelectorAll("[data-item]")) {
    const mark = (on) => {
      const table = cell.closest("table");
      for (const other of table.querySelectorAll("[data-item]")) {
        other.classList.toggle("same", on && other.dataset.item === cell.dataset.item);
      }
    };
    cell.addEventListener("mouseenter", () => mark(true));
    cell.addEventListener("mouseleave", () => mark(false));
  }

  const open = () => {
    const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") { target.open = true; }
  };
  addEventListener("hashchange", open);
  open();

  const source = byId("lists-data");
  if (!source) { return; }
  const data = JSON.parse(source.textContent);
  const body = byId("lists-body"), head = byId("lists-head"), counter = byId("lists-count");
  const search = byId("lists-search"), metric = byId("lists-metric"), which = byId("lists-which");
  const [back, forth] = [byId("lists-back"), byId("lists-forth")];
  const PAGE = 50, n = data.names.length, runs = data.runs.length, scale = 10 ** data.digits;
  const detail = new Map(data.detailed.map((q) => [q, true]));
  const value = (q, r) => { const v = data.values[Number(metric.value) * runs + r][q]; return v === null ? NaN : v / scale; };
  const difference = (q) => value(q, runs - 1) - value(q, 0);
  let order = [], at = 0, sort = { column: runs > 1 ? runs + 1 : 1, down: true }, picked = -1;

  const key = (q, column) => column === 0 ? data.names[q] : column <= runs ? value(q, column - 1) : difference(q);
  const collator = new Intl.Collator("en", { numeric: true });
  const compare = (a, b) => {
    const [x, y] = [key(a, sort.column), key(b, sort.column)];
    if (typeof x === "string") { return (sort.down ? -1 : 1) * collator.compare(x, y) || a - b; }
    if (Number.isNaN(x) || Number.isNaN(y)) { return Number.isNaN(x) - Number.isNaN(y) || a - b; }
    return (sort.down ? y - x : x - y) || a - b;
  };
  const wanted = (q) => {
    const text = search.value.trim().toLowerCase();
    if (text && !data.names[q].toLowerCase().includes(text)) { return false; }
    const d = runs > 1 ? difference(q) : 0;
    return which.value === "all" || (which.value === "up" ? d > 0 : which.value === "down" ? d < 0 : Number.isNaN(d));
  };
  const cell = (tag, text, kind) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind) { made.className = kind; }
    return made;
  };
  const shown = (v) => Number.isNaN(v) ? "–" : v.toFixed(data.digits);

  const draw = () => {
    at = Math.max(0, Math.min(at, Math.floor((order.length - 1) / PAGE) * PAGE));
    body.replaceChildren(...order.slice(at, at + PAGE).map((q) => {
      const row = document.createElement("tr");
      if (q === picked) { row.className = "picked"; }
      const name = cell("th", "", "words");
      name.scope = "row";
      if (detail.has(q)) {
        const link = cell("a", data.names[q]);
        link.href = "#list-" + q;
        name.append(link);
      } else { name.textContent = data.names[q]; }
      row.append(name);
      for (let r = 0; r < runs; r++) { row.append(cell("td", shown(value(q, r)))); }
      if (runs > 1) {
        const d = difference(q);
        row.append(cell("td", Number.isNaN(d) ? "–" : (d > 0 ? "+" : "") + d.toFixed(data.digits), d > 0 ? "up" : d < 0 ? "down" : ""));
      }
      return row;
    }));
    counter.textContent = order.length === 0 ? "none found" : (at + 1) + "–" + Math.min(at + PAGE, order.length) + " of " + order.length;
    back.disabled = at === 0;
    forth.disabled = at + PAGE >= order.length;
    [...head.children].forEach((th, column) => th.setAttribute("aria-sort", column !== sort.column ? "none" : sort.down ? "descending" : "ascending"));
  };
  const again = () => {
    order = [...Array(n).keys()].filter(wanted).sort(compare);
    at = 0;
    draw();
  };
  const heads = [data.word, ...data.runs, ...(runs > 1 ? [data.runs[runs - 1] + " − " + data.runs[0]] : [])];
  head.replaceChildren(...heads.map((text, column) => {
    const th = cell("th", "", column === 0 ? "words" : "");
    th.scope = "col";
    const button = cell("button", text);
    button.type = "button";
    button.addEventListener("click", () => {
      sort = { column, down: column === sort.column ? !sort.down : column !== 0 };
      again();
    });
    th.append(button);
    return th;
  }));
  search.addEventListener("input", again);
  metric.addEventListener("change", again);
  which.addEventListener("change", again);
  back.addEventListener("click", () => { at -= PAGE; draw(); });
  forth.addEventListener("click", () => { at += PAGE; draw(); });

  // A click on the plot of sorted differences shows the list that stands there.
  const figure = document.querySelector("figure.pick");
  figure?.addEventListener("click", (event) => {
    const bars = [...figure.querySelectorAll("path[fill-opacity]")].map((path) => path.getBoundingClientRect());
    if (bars.length === 0) { return; }
    metric.value = "0"; search.value = ""; which.value = "all";
    sort = { column: runs + 1, down: true };
    const all = [...Array(n).keys()].filter((q) => !Number.isNaN(difference(q))).sort(compare);
    const [up, down] = [all.filter((q) => difference(q) > 0).length, all.filter((q) => difference(q) < 0).length];
    const first = up > 0 ? 0 : all.length - down, last = down > 0 ? all.length : up;
    const left = Math.min(...bars.map((bar) => bar.left)), right = Math.max(...bars.map((bar) => bar.right));
    const place = first + (event.clientX - left) / Math.max(right - left, 1) * (last - first);
    picked = all[Math.max(0, Math.min(all.length - 1, Math.floor(place)))];
    again();
    at = Math.floor(order.indexOf(picked) / PAGE) * PAGE;
    draw();
    body.querySelector(".picked")?.scrollIntoView({ block: "center" });
    say(data.names[picked] + ": " + shown(difference(picked)));
  });

  byId("lists-controls").hidden = false;
  again();
})();
