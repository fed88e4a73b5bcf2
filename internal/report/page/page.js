"use strict";
(() => {
const all = (q, at) => Array.from((at || document).querySelectorAll(q));
const box = document.getElementById("filter");
const said = document.getElementById("filtered");
const rows = () => all(".item");
const shown = () => rows().filter((r) => !r.closest("[hidden], details:not([open])") && r.getClientRects().length > 0);
function filter() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  const list = rows();
  let n = 0;
  for (const r of list) {
    const text = r.textContent.toLowerCase();
    const fits = words.every((w) => text.includes(w));
    r.hidden = !fits;
    if (fits) n++;
  }
  for (const d of all("details")) { // what matches is not left behind a lid
    if (words.length && !d.open && d.querySelector(".item:not([hidden])")) { d.open = true; d.dataset.lifted = "1"; }
    else if (!words.length && d.dataset.lifted) { d.open = false; delete d.dataset.lifted; }
  }
  said.textContent = words.length ? n + " of " + list.length + " shown" : "";
}
function reach(list) { // one row is on the way of the Tab key; arrows lead to the others
  for (const r of rows()) r.tabIndex = -1;
  if (list.length) list[0].tabIndex = 0;
}
function move(by) {
  const list = shown();
  if (!list.length) return;
  const at = list.indexOf(document.activeElement.closest(".item"));
  const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by))];
  for (const r of rows()) r.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
if (box) {
  box.closest(".filter").hidden = false;
  box.addEventListener("input", filter);
  reach(shown());
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    const typing = e.target === box;
    if (e.key === "/" && !typing) { e.preventDefault(); box.focus(); box.select(); }
    else if (e.key === "Escape" && typing) { box.value = ""; filter(); }
    else if (e.key === "Enter" && typing) { e.preventDefault(); move(1); }
    else if (e.key === "ArrowDown" && (typing || e.target.closest(".item") || e.target === document.body)) { e.preventDefault(); move(1); }
    else if (e.key === "ArrowUp" && e.target.closest(".item")) { e.preventDefault(); move(-1); }
    else if (e.key === "Home" && e.target.classList.contains("item")) { e.preventDefault(); const l = shown(); if (l.length) l[0].focus(); }
    else if (e.key === "End" && e.target.classList.contains("item")) { e.preventDefault(); const l = shown(); if (l.length) l[l.length - 1].focus(); }
  });
}
addEventListener("beforeprint", () => { if (box) { box.value = ""; filter(); } });
globalThis.weftFilter = () => { if (box) { filter(); if (!shown().some((r) => r.tabIndex === 0)) reach(shown()); } };
})();
