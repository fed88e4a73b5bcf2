"use strict";
(() => {
const body = document.body;
const state = document.getElementById("state");
const every = Math.max(1, Number(body.dataset.every) || 5);
const old = Math.max(20, 3 * every) * 1000; // the server sends at least every 15 s
let last = performance.now(), moved = last, shownAt = "", wait = 1, source = null, joined = false;
function say(text, bad) {
  if (state.textContent !== text) state.textContent = text;
  state.className = "word " + (bad ? "fail" : "pass");
  body.classList.toggle("stale", bad);
}
function put(id, html) {
  const part = document.getElementById(id);
  if (!part) return;
  const held = part.contains(document.activeElement) ? document.activeElement : null;
  const row = held && held.closest("[data-key]");
  const tag = held && held.tagName;
  const label = held && held.getAttribute("aria-label");
  const slid = Array.from(part.querySelectorAll(".wide"), (w) => w.scrollLeft);
  part.innerHTML = html;
  part.querySelectorAll(".wide").forEach((w, i) => { if (slid[i]) w.scrollLeft = slid[i]; });
  if (!held) return;
  const again = Array.from(part.querySelectorAll(row ? "[data-key]" : "[aria-label]")).find((e) => row ? e.dataset.key === row.dataset.key : e.getAttribute("aria-label") === label);
  if (!again) return;
  const inner = row && row !== held && again.querySelector(tag);
  const to = inner || again;
  if (to.tabIndex < 0) to.tabIndex = 0;
  to.focus({preventScroll: true});
}
function marked() {
  const s = getSelection();
  return s && !s.isCollapsed && s.anchorNode && document.getElementById("main").contains(s.anchorNode);
}
function join() {
  source = new EventSource(body.dataset.events);
  source.addEventListener("open", () => { joined = true; wait = 1; last = performance.now(); });
  source.addEventListener("parts", (e) => {
    last = performance.now();
    let parts;
    try { parts = JSON.parse(e.data); } catch (_) { return; }
    if (!marked()) { for (const p of parts) put(p.id, p.html); weftFilter(); }
    tell();
  });
  source.addEventListener("error", () => {
    joined = false;
    tell();
    if (source.readyState !== EventSource.CLOSED) return;
    source.close();
    setTimeout(join, wait * 1000);
    wait = Math.min(30, wait * 2);
  });
}
function tell() {
  const now = performance.now(), age = now - last;
  const when = document.getElementById("when");
  const at = when ? when.textContent : "";
  if (at !== shownAt) { shownAt = at; moved = now; }
  if (age > old) say("Stale: no news for " + 10 * Math.round(age / 10000) + " s. Shown is " + at + ".", true);
  else if (joined && now - moved > old) say("Stale: the watch has not looked for " + 10 * Math.round((now - moved) / 10000) + " s. Shown is " + at + ".", true);
  else if (!joined) say("Not connected: trying again. Shown is " + at + ".", true);
  else say("Live.", false);
}
addEventListener("pagehide", () => { if (source) source.close(); });
addEventListener("pageshow", (e) => { if (e.persisted) join(); });
join();
setInterval(tell, 1000);
})();
