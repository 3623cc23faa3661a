"use strict";
// What the pages share. Whatever comes from a file is shown as text, never as markup.
const byId = (id) => document.getElementById(id);
const say = (text) => { byId("said").textContent = text; };

const make = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) { made.setAttribute(name, value === true ? "" : value); }
  }
  made.append(...children);
  return made;
};

const drawn = (tag, attributes = {}, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) { made.setAttribute(name, value); }
  made.append(...children);
  return made;
};

// Asks the server; an error is its sentence.
const ask = async (path, body) => {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try { answer = await fetch(path, options); } catch { throw new Error("the server does not answer; has it ended?"); }
  const text = await answer.text();
  let found;
  try { found = JSON.parse(text); } catch { throw new Error("status " + answer.status); }
  if (!answer.ok) { throw Object.assign(new Error(found.error || "status " + answer.status), { status: answer.status }); }
  return found;
};

const shownNumber = (value, digits = 4) => value === null || value === undefined || Number.isNaN(value) ? "–" : Number(value).toFixed(digits);

// An arrow of a length from -1 (down) to 1 (up).
const arrow = (push) => {
  const svg = drawn("svg", { class: "arrow", viewBox: "0 0 18 34", role: "img", "aria-label": push > 0 ? "up" : push < 0 ? "down" : "none" });
  const length = Math.min(1, Math.abs(push)) * 13;
  if (length < 0.4) {
    svg.append(drawn("circle", { cx: 9, cy: 17, r: 1.5, class: "soft" }));
    return svg;
  }
  const tip = push > 0 ? 17 - length - 3 : 17 + length + 3, neck = push > 0 ? tip + 6 : tip - 6;
  svg.append(drawn("path", { class: push > 0 ? "up" : "down", d: `M7.5 17V${neck}H3L9 ${tip}L15 ${neck}H10.5V17Z` }));
  return svg;
};
