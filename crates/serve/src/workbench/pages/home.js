"use strict";
(async () => {
  try {
    const { models } = await ask("/health");
    byId("none").hidden = models.length > 0;
    byId("models").hidden = models.length === 0;
    byId("models").tBodies[0].replaceChildren(...models.map((model) => make("tr", {},
      make("th", { scope: "row", class: "words" }, model.name), make("td", { class: "words" }, model.kind),
      make("td", {}, String(model.features ?? "–")), make("td", { class: "words" }, model.endpoints.join(" ")), make("td", {}, String(model.reloads)))));
  } catch (error) { say(error.message); }
})();
