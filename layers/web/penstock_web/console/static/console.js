// Adds keyboard shortcuts, and stops the polls of hidden pages. The console also works without this script.
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const isTyping = (element) => element.closest("input, textarea, select, [contenteditable]");
  const main = () => document.getElementById("main");
  // In a narrow window, the names of the screens are one line that scrolls.
  document.querySelector(".bar nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // --- polls: a hidden page does not poll, and a page polls immediately when it becomes visible ---
  document.addEventListener("htmx:before:request", (event) => {
    if (document.hidden) event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) document.body.dispatchEvent(new Event("seen"));
  });
  // The page shows a warning for as long as the service does not respond.
  const setStale = (isStale) => document.documentElement.classList.toggle("stale", isStale);
  document.addEventListener("htmx:error", () => setStale(true));
  document.addEventListener("htmx:after:swap", () => setStale(false));

  // --- rows: j and k ---
  const current = () => document.querySelector("[data-row].current");
  // A row is the same row after a poll if it has the same id, or else the same link in the same section.
  const linkOf = (row) => row.querySelector("summary.preview, a");
  const keyOf = (row) => row.dataset.row
    || `${row.parentElement.closest("section")?.getAttribute("aria-labelledby")} ${linkOf(row)?.getAttribute("href")}`;
  let chosen = null;  // the key of the current row
  const mark = (row) => {
    rows().forEach((each) => each.classList.toggle("current", each === row));
    chosen = row ? keyOf(row) : null;
  };
  // The focus is never on a checkbox, because Enter must open the row. A row without a link can have a main button, such
  // as Continue.
  const focusOn = (row) => {
    const target = linkOf(row) ?? row.querySelector("button.main") ?? row;
    if (target === row) row.tabIndex = -1;
    target.focus({ preventScroll: true });
  };
  const select = (row) => {
    if (!row) return;
    mark(row);
    focusOn(row);
    row.scrollIntoView({ block: "nearest" });
  };
  const step = (by) => {
    const all = rows();
    const at = all.indexOf(current());
    select(all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))]);
    return true;
  };
  // Without a link or button below the focus, Enter opens the current row.
  const openRow = (event) => {
    const at = event.target;
    if (at.closest("a, button, summary, pre") || !(at === document.body || at === main() || at.closest("[data-row]"))) return false;
    const link = current() && linkOf(current());
    link?.click();
    return link || at.closest("[data-row]");
  };
  // A poll changes the order of rows, and htmx uses the elements of one row for another. Highlight and focus follow
  // their row. If the row is gone, no row has them.
  const nameOf = (part) => [part.tagName, part.getAttribute("href"), part.form?.getAttribute("action"), part.value, part.textContent.trim()].join(" ");
  let held = null;  // the row and the element that had the focus before the swap
  let isSwapping = false;
  document.addEventListener("htmx:before:swap", () => {
    const row = document.activeElement?.closest("[data-row]");
    held = row && { key: keyOf(row), name: nameOf(document.activeElement) };
    isSwapping = true;
  });
  document.addEventListener("htmx:after:swap", () => {
    isSwapping = false;
    if (chosen) mark(rows().find((row) => keyOf(row) === chosen));
    if (!held) return;
    const row = rows().find((each) => keyOf(each) === held.key);
    const part = row && [...row.querySelectorAll("a, button, input, summary, pre")].find((each) => nameOf(each) === held.name);
    held = null;
    if (part) part.focus({ preventScroll: true });
    else if (row && linkOf(row)) focusOn(row);
    else main()?.focus({ preventScroll: true });
  });
  // A link that a poll brings, such as a moved message, takes the focus once, unless the user is at another place.
  const offered = new WeakSet();
  const offer = (link) => {
    const at = document.activeElement;
    if (!link || offered.has(link)) return;
    offered.add(link);
    if (!at || at === document.body || at === main()) link.focus({ preventScroll: true });
  };
  document.addEventListener("htmx:after:swap", () => offer(document.querySelector("[data-row] a[autofocus]")));
  document.addEventListener("focusin", (event) => {
    const row = event.target.closest?.("[data-row]");
    if (row && row !== current() && !isSwapping) mark(row);
  });

  // --- charts: a label shows the values below the pointer, or at the place that the arrow keys choose ---
  let read = null;  // the plot and the number of the column whose values the page shows
  const columnsOf = (plot) => [...plot.querySelectorAll(".hit")];
  const place = (plot, label, middle) => {
    label.hidden = false;
    label.style.left = `${Math.max(0, Math.min(middle - label.offsetWidth / 2, plot.offsetWidth - label.offsetWidth))}px`;
  };
  const showValues = (plot, number) => {
    const columns = columnsOf(plot);
    const column = columns[number];
    if (!column) return;
    read = { plot: plot.dataset.plot, number };
    // The script shows the title, so the browser need not.
    const title = column.querySelector("title");
    if (title) { column.dataset.values = title.textContent; title.remove(); }
    columns.forEach((each) => each.classList.toggle("read", each === column));
    const label = plot.querySelector("output");
    label.textContent = column.dataset.values;
    const [all, own] = [plot, column].map((each) => each.getBoundingClientRect());
    place(plot, label, own.left + own.width / 2 - all.left);
  };
  // A sparkline has a value for each minute, and its title is the same as its label for screen readers.
  const showMinute = (plot, event) => {
    plot.querySelector("title")?.remove();
    const [values, box] = [plot.dataset.values.split(","), plot.getBoundingClientRect()];
    const number = Math.max(0, Math.min(values.length - 1, Math.round((event.clientX - box.left) / box.width * (values.length - 1))));
    const at = new Date(Date.parse(plot.dataset.end) - (values.length - 1 - number) * 60_000);
    const label = plot.querySelector("output");
    label.textContent = `${at.toISOString().slice(11, 16)} UTC  ${values[number] ? `${Number(values[number]).toLocaleString("en")} visible` : "no data"}`;
    place(plot, label, event.clientX - box.left);
  };
  const hideValues = (plot) => {
    read = null;
    plot.querySelector("output").hidden = true;
    columnsOf(plot).forEach((each) => each.classList.remove("read"));
  };
  const plotOf = (event) => event.target.closest?.("[data-plot]");
  document.addEventListener("pointerover", (event) => {
    const plot = plotOf(event);
    const number = plot ? columnsOf(plot).indexOf(event.target) : -1;
    if (number >= 0) showValues(plot, number);
  });
  document.addEventListener("pointermove", (event) => {
    const plot = plotOf(event);
    if (plot?.dataset.values) showMinute(plot, event);
  });
  document.addEventListener("pointerout", (event) => {
    const plot = plotOf(event);
    if (plot && !plot.contains(event.relatedTarget) && !plot.contains(document.activeElement)) hideValues(plot);
  });
  document.addEventListener("focusin", (event) => { const plot = plotOf(event); if (plot) showValues(plot, columnsOf(plot).length - 1); });
  document.addEventListener("focusout", (event) => { const plot = plotOf(event); if (plot && !isSwapping) hideValues(plot); });
  document.addEventListener("keydown", (event) => {
    const plot = plotOf(event);
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (!plot || !by) return;
    event.preventDefault();
    showValues(plot, Math.max(0, Math.min(columnsOf(plot).length - 1, (read?.number ?? 0) + by)));
  });
  document.addEventListener("htmx:after:swap", () => {
    const plot = read && document.querySelector(`[data-plot="${CSS.escape(read.plot)}"]`);
    if (plot) showValues(plot, Math.min(read.number, columnsOf(plot).length - 1));
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
  // An act is in the current row, else in the bar below a list of messages, else outside the rows of a page without
  // current row.
  const find = (act) => current()?.querySelector(act) ?? document.querySelector(`.chosen ${act}`)
    ?? (current() ? null : [...main()?.querySelectorAll(act) ?? []].find((each) => !each.closest("[data-row]")));
  const isAnyChosen = () => document.querySelector("[data-row] input[name=id]:checked")
    || Number(document.querySelector("[data-chosen]")?.dataset.chosen ?? 0) > 0;
  // A line at the bottom of the page says why a key does nothing. The next key removes the line.
  const status = document.getElementById("status");
  const isNothingChosen = (act) => {
    if (current() || isAnyChosen()) return false;
    const button = find(act);
    return button ? button.closest(".chosen") !== null : document.querySelector(`[data-row] ${act}`) !== null;
  };
  const sayNothingChosen = () => {
    status.textContent = "Nothing is selected. j and k choose a row, and x selects it.";
    return true;
  };
  // If no message is selected, an act takes the message of the current row.
  const act = (name) => {
    if (isNothingChosen(name)) return sayNothingChosen();
    const button = find(name);
    const box = current()?.querySelector("input[name=id]");
    if (button?.form && button.form === box?.form && !isAnyChosen()) box.click();
    button?.click();
    return button;
  };
  const edit = () => {
    const row = current();
    if (!row?.dataset.edit || isAnyChosen()) return act("[data-edit]");
    location.assign(row.dataset.edit);
    return true;
  };
  const redriveOrReload = () => {
    if (act("[data-redrive]")) return true;
    if (document.getElementById("live")) document.body.dispatchEvent(new Event("again"));
    else location.reload();
    return true;
  };
  const copy = () => {
    const button = current()?.querySelector("[data-copy]");
    button?.closest("details")?.setAttribute("open", "");
    button?.click();
    return button;
  };
  const press = (selector) => { const found = document.querySelector(selector); found?.click(); return found; };
  const openTab = (by) => {
    const tabs = [...document.querySelectorAll("nav.tabs a")];
    const at = tabs.findIndex((tab) => tab.hasAttribute("aria-current"));
    if (at < 0) return false;
    tabs[at + by]?.click();
    return true;
  };
  const openGroups = () => {
    const queue = /^\/console\/queues\/[^/]+/.exec(location.pathname);
    if (queue) location.assign(`${queue[0]}/failures`);
    return queue;
  };
  // A page that the user may not open has no link in the navigation bar, so no key leads to it.
  const pageLink = (path) => document.querySelector(`.bar nav a[href="${path}"]`);
  const open = (path, end = "") => {
    const link = pageLink(path);
    if (link) location.assign(path + end);
    return link;
  };
  const search = () => { const field = document.querySelector("[data-search]"); field?.closest("details")?.setAttribute("open", ""); field?.focus(); field?.select(); return field; };
  if (location.hash === "#search") search();
  const help = document.getElementById("help");
  const showHelp = () => { help.showModal(); return true; };
  const pages = {
    o: ["/console", "overview"], q: ["/console/queues", "queues"], t: ["/console/topics", "topics"],
    b: ["/console/buses", "event buses"],
    s: ["/console/schedules", "schedules"], m: ["/console/mappings", "mappings"],
    d: ["/console/deliveries", "deliveries"], l: ["/console/alerts", "alerts"], y: ["/console/system", "system"], k: ["/console/keys", "keys"],
    a: ["/console/audit", "audit"], f: ["/console/queues", "dead-letter queues, the worst first", "?sort=dead"],
  };
  let jumpsUntil = 0;  // `g` and a second key open a page.
  // All other keys, and what they do. The dialog of `?` shows this table.
  const table = [
    ["search; on a page without a search, search the queues", { "/": () => search() ?? open("/console/queues", "#search") }],
    ["next row, previous row", { j: () => step(1), k: () => step(-1) }],
    ["open the row", { Enter: openRow }],
    ["select the row", { x: () => { const box = current()?.querySelector("input[type=checkbox]"); box?.click(); return box; } }],
    ["copy the row as Markdown", { c: copy }],
    ["edit the row, or the selected messages", { e: edit }],
    ["redrive the row, or the selected messages; on other pages, reload", { r: redriveOrReload }],
    ["delete the row, or the selected messages; the console asks first", { d: () => act("[data-delete]") }],
    ["undo the deletion or the edit", { u: () => press("[data-undo]") }],
    ["previous tab, next tab", { "[": () => openTab(-1), "]": () => openTab(1) }],
    ["back to the groups of a queue", { b: openGroups }],
    ["show the shortcuts", { "?": showHelp }],
  ];
  const actions = Object.assign({ g: (event) => { jumpsUntil = event.timeStamp + 2000; return true; } }, ...table.map(([, keys]) => keys));
  const describe = (keys, text) => {
    const [line, term, words] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
    keys.forEach((key, at) => {
      const shown = document.createElement("kbd");
      shown.textContent = key;
      term.append(at ? " " : "", shown);
    });
    words.textContent = text;
    line.append(term, words);
    help.querySelector("dl").append(line);
  };
  Object.entries(pages).forEach(([key, [path, name]]) => { if (pageLink(path)) describe(["g", key], `go to the ${name}`); });
  table.forEach(([text, keys]) => describe(Object.keys(keys), text));
  const helpButton = document.querySelector("[data-help]");
  if (helpButton) { helpButton.hidden = false; helpButton.addEventListener("click", showHelp); }
  document.addEventListener("keydown", (event) => {
    const isCommand = event.ctrlKey || event.metaKey || event.altKey;
    if (help.open || (isCommand && !event.getModifierState("AltGraph"))) return;  // Many keyboards have [ at AltGr.
    if (event.key === "Escape" && isTyping(event.target)) { event.target.blur(); main()?.focus(); return; }
    if (isTyping(event.target) && event.target.type !== "checkbox") return;
    if (status) status.textContent = "";
    const jumps = event.timeStamp < jumpsUntil;
    jumpsUntil = 0;
    if (jumps && Object.hasOwn(pages, event.key)) {
      if (open(pages[event.key][0], pages[event.key][2])) event.preventDefault();
    } else if (Object.hasOwn(actions, event.key) && actions[event.key](event)) event.preventDefault();
  });
})();
