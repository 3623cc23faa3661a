"use strict";
(() => {
  const frame = byId("report"), state = byId("state");
  let version = null;
  const look = async () => {
    try {
      const now = (await ask("/report/version")).version;
      if (now !== version) {
        state.textContent = version === null ? "Loading the report …" : "A file has changed: building the report again …";
        const page = await fetch("/report");
        if (!page.ok) { throw new Error((await page.json()).error); }
        await page.text(); // It is built now; the frame gets it from the server's memory.
        const place = frame.contentWindow?.scrollY ?? 0;
        frame.onload = () => { frame.contentWindow.scrollTo(0, place); };
        frame.src = "/report";
        frame.hidden = false;
        version = now;
        byId("absent").hidden = true;
        state.textContent = "Up to date since " + new Date().toLocaleTimeString() + ".";
      }
    } catch (error) {
      byId("absent").hidden = false;
      byId("absent").textContent = error.message;
      state.textContent = "No report.";
      if (error.status === 404) { return; }
    }
    setTimeout(look, 2000);
  };
  look();
})();
