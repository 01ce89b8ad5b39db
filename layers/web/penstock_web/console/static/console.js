// Adds keyboard shortcuts, and stops the polls of hidden pages. The console also works without this script.
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const isTyping = (element) => element.closest("input, textarea, select, [contenteditable]");
  const main = () => document.getElementById("main");

  // --- polls: a hidden page does not poll, and a page polls immediately when it becomes visible ---
  document.addEventListener("htmx:before:request", (event) => {
    if (document.hidden) event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) document.body.dispatchEvent(new Event("seen"));
  });
  // The current row stays current after a poll replaces the table.
  let chosen = null;
  const keyOf = (row) => row?.querySelector("a")?.getAttribute("href") ?? null;
  document.addEventListener("htmx:after:swap", () => {
    if (chosen && !current()) rows().find((row) => keyOf(row) === chosen)?.classList.add("current");
  });
  // The page shows a warning for as long as the service does not respond.
  const setStale = (isStale) => document.documentElement.classList.toggle("stale", isStale);
  document.addEventListener("htmx:error", () => setStale(true));
  document.addEventListener("htmx:after:swap", () => setStale(false));

  // --- rows: j and k ---
  const current = () => document.querySelector("[data-row].current");
  const select = (row) => {
    current()?.classList.remove("current");
    if (!row) return;
    row.classList.add("current");
    chosen = keyOf(row);
    const link = row.querySelector("a, button, input");
    link?.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };
  const step = (by) => {
    const all = rows();
    const at = all.indexOf(current());
    select(all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))]);
  };
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest?.("[data-row]");
    if (row && row !== current()) { current()?.classList.remove("current"); row.classList.add("current"); chosen = keyOf(row); }
  });

  // --- copy ---
  const offerCopies = () => document.querySelectorAll("[data-copy][hidden]").forEach((button) => { button.hidden = false; });
  if (navigator.clipboard) {
    offerCopies();
    document.addEventListener("click", async (event) => {
      const button = event.target.closest("[data-copy]");
      if (!button) return;
      await navigator.clipboard.writeText(button.parentElement.querySelector("pre").textContent);
      button.textContent = "Copied";
    });
  }

  // --- selected messages ---
  const countChosen = () => {
    const bar = document.querySelector("[data-chosen] span");
    const here = document.querySelectorAll("[data-row] input[name=id]:checked").length;
    if (bar) bar.textContent = (Number(bar.parentElement.dataset.chosen) + here).toLocaleString("en");
  };
  document.addEventListener("change", (event) => { if (event.target.name === "id") countChosen(); });
  window.addEventListener("pageshow", countChosen);

  // --- keys ---
  // An act is in the current row, else in the bar below a list of messages, else anywhere on a page without current row.
  const find = (act) => current()?.querySelector(act) ?? document.querySelector(`.chosen ${act}`)
    ?? (current() ? null : main()?.querySelector(act));
  const help = document.getElementById("help");
  const helpButton = document.querySelector("[data-help]");
  if (helpButton) { helpButton.hidden = false; helpButton.addEventListener("click", () => help.showModal()); }
  // A page that the user may not open has no link in the navigation bar, so no key leads to it.
  const open = (path, hash = "") => {
    const link = document.querySelector(`.bar nav a[href="${path}"]`);
    if (link) location.assign(path + hash);
    return link;
  };
  const search = () => { const field = document.querySelector("[data-search]"); field?.closest("details")?.setAttribute("open", ""); field?.focus(); field?.select(); return field; };
  if (location.hash === "#search") search();
  const pages = { o: "/console", q: "/console/queues", t: "/console/topics", d: "/console/deliveries", s: "/console/schedules" };
  let jumpsUntil = 0;  // `g` and a second key open a page.
  const actions = {
    "/": () => search() ?? open(pages.q, "#search"),
    g: (event) => { jumpsUntil = event.timeStamp + 2000; return true; },
    j: () => { step(1); return true; },
    k: () => { step(-1); return true; },
    x: () => { const box = current()?.querySelector("input[type=checkbox]"); box?.click(); return box; },
    c: () => {
      const button = current()?.querySelector("[data-copy]");
      button?.closest("details")?.setAttribute("open", "");
      button?.click();
      return button;
    },
    r: () => {
      const link = find("[data-redrive]");
      if (link) link.click();
      else if (document.getElementById("live")) document.body.dispatchEvent(new Event("again"));
      else location.reload();
      return true;
    },
    e: () => {
      const row = current();
      if (row?.dataset.edit && !document.querySelector("[data-row] input[name=id]:checked")) location.assign(row.dataset.edit);
      else find("[data-edit]")?.click();
      return true;
    },
    "?": () => { help.showModal(); return true; },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.key === "Escape" && isTyping(event.target)) { event.target.blur(); main()?.focus(); return; }
    if (isTyping(event.target) && event.target.type !== "checkbox") return;
    const jumps = event.timeStamp < jumpsUntil;
    jumpsUntil = 0;
    if (jumps && Object.hasOwn(pages, event.key)) {
      if (open(pages[event.key])) event.preventDefault();
    } else if (Object.hasOwn(actions, event.key) && actions[event.key](event)) event.preventDefault();
  });
})();
