"use strict";
document.getElementById("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  const token = document.getElementById("token").value.trim();
  const said = document.getElementById("said");
  try {
    const answer = await fetch("/login", { method: "POST", headers: { authorization: "Bearer " + token } });
    if (answer.ok) { location.reload(); } else { said.textContent = "That is not the token of this server."; }
  } catch { said.textContent = "The server does not answer."; }
});
