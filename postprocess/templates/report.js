"use strict";
// What a reader chose is in attributes of <html>, in `hidden`, and in the URL's fragment. Names from the run are only
// ever compared, or set as text.
(() => {
  const root = document.documentElement;
  const find = (selector, from = document) => [...from.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const view = byId("view"), palette = byId("palette"), dim = byId("dim"), tip = byId("tip");
  const kinds = ["library", "configuration", "collective"];
  const boxes = kinds.map((kind) => find(`fieldset[data-kind=${kind}] input`));
  const filtered = find("[data-k]").map((element) => [element, element.dataset.k.split(" ")]);
  const usual = { view: "overhead", palette: root.dataset.palette, dim: root.hasAttribute("data-dim") };

  // What is shown.
  function apply() {
    root.dataset.view = view.value;
    root.dataset.palette = palette.value;
    root.toggleAttribute("data-dim", dim.checked);
    const unwanted = boxes.map((same) => new Set(same.flatMap((box, i) => (box.checked ? [] : [String(i)]))));
    for (const [element, numbers] of filtered) element.hidden = numbers.some((number, i) => unwanted[i].has(number));
    const panels = find(".panel");
    for (const panel of panels) {
      const maps = find("[data-views]", panel);
      const none = maps.length && !maps.some((map) => view.value === "everything" || map.matches(`[data-views~=${view.value}]`));
      if (none) panel.hidden = true;
    }
    for (const part of find(".collective, .group")) part.hidden = !part.querySelector(".panel:not([hidden])");
    for (const scale of find("[data-scale]")) scale.hidden = !scales().has(scale.dataset.scale);
    byId("shown").textContent = `${panels.filter((panel) => !panel.hidden).length} of ${panels.length} cases shown.`;
    hide();
  }

  function scales() {
    const of = { overhead: ["overhead"], concurrency: ["comm", "comp"], r_comm: ["comm"], r_comp_slowdown: ["comp"] };
    if (view.value.startsWith("r_overhead")) return new Set(["overhead"]);
    if (view.value.startsWith("speedup")) return new Set(["speedup"]);
    return new Set(of[view.value] || ["overhead", "comm", "comp", "speedup"]);
  }

  // The fragment: only what is not as usual, so that an untouched page keeps its address.
  function remember() {
    const state = new URLSearchParams();
    if (view.value !== usual.view) state.set("view", view.value);
    if (palette.value !== usual.palette) state.set("palette", palette.value);
    if (dim.checked !== usual.dim) state.set("dim", dim.checked ? "1" : "0");
    kinds.forEach((kind, i) => {
      if (boxes[i].some((box) => !box.checked))
        for (const box of boxes[i]) if (box.checked) state.append(kind, box.value);
      if (boxes[i].length && boxes[i].every((box) => !box.checked)) state.append(kind, "");
    });
    const text = state.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  function recall() {
    if (!location.hash.includes("=")) return false;
    const state = new URLSearchParams(location.hash.slice(1));
    const choose = (select, name) => {
      const wanted = state.get(name) ?? usual[name];
      select.value = [...select.options].some((option) => option.value === wanted) ? wanted : usual[name];
    };
    choose(view, "view");
    choose(palette, "palette");
    dim.checked = state.has("dim") ? state.get("dim") === "1" : usual.dim;
    kinds.forEach((kind, i) => {
      const wanted = state.getAll(kind);
      for (const box of boxes[i]) box.checked = !state.has(kind) || wanted.includes(box.value);
    });
    return true;
  }

  function reset() {
    view.value = usual.view;
    palette.value = usual.palette;
    dim.checked = usual.dim;
    for (const box of boxes.flat()) box.checked = true;
  }

  // The details of a point are its row of the table, told beside the cell.
  const heads = find("#points thead th").slice(1).map((head) => head.textContent);
  let pinned = null, told = null;

  function element(name, text, parent) {
    const made = parent.appendChild(document.createElement(name));
    made.textContent = text;
    return made;
  }

  function tell(cell) {
    if (cell === told) return;
    hide();
    told = cell;
    if (cell.title) cell.dataset.words = cell.title;
    cell.removeAttribute("title");
    const map = cell.closest("table"), place = cell.parentElement;
    const comp = place.parentElement.cells[0].textContent, comm = map.tFoot.rows[0].cells[place.cellIndex].textContent;
    const dismiss = element("button", "Close", tip);
    dismiss.type = "button";
    dismiss.addEventListener("click", () => { const from = pinned; hide(); if (from) from.focus(); });
    const label = `${cell.querySelector("b").textContent}, ${map.caption.textContent}`;
    element("strong", `${label}, communication ${comm}, computation ${comp}`, tip);
    const row = cell.hash ? byId(cell.hash.slice(1)) : null;
    if (row) {
      const list = element("dl", "", tip);
      heads.forEach((head, i) => {
        const words = row.cells[i + 1];
        if (!words.textContent) return;
        const pair = element("div", "", list);
        pair.classList.toggle("long", words.classList.contains("words"));
        element("dt", head, pair);
        element("dd", words.textContent, pair);
      });
      element("a", "its row in the table of all points", tip).href = cell.hash;
    } else element("p", cell.dataset.words || "", tip);
    tip.classList.toggle("above", cell.getBoundingClientRect().bottom > innerHeight / 2); // never over its own cell
    tip.hidden = false;
    cell.setAttribute("aria-describedby", "tip");
  }

  function hide() {
    if (told) told.removeAttribute("aria-describedby");
    told = pinned = null;
    tip.hidden = true;
    tip.replaceChildren();
  }

  const cellOf = (event) => event.target.closest?.(".map td > a");
  document.addEventListener("pointerover", (event) => {
    const cell = cellOf(event);
    if (event.pointerType === "mouse" && cell && !pinned) tell(cell);
    else if (event.pointerType === "mouse" && !pinned && told !== document.activeElement && !tip.contains(event.target)) hide();
  });
  document.addEventListener("focusin", (event) => {
    const cell = cellOf(event);
    if (cell) tell(cell);
    else if (!tip.contains(event.target)) hide();
  });
  document.addEventListener("click", (event) => {
    const cell = cellOf(event);
    if (cell) {
      event.preventDefault();
      tell(cell);
      pinned = cell;
    } else if (!tip.contains(event.target) || event.target.closest("a")) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      const from = tip.contains(document.activeElement) ? told : null;
      hide();
      if (from) from.focus();
      return;
    }
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    const cell = cellOf(event), step = steps[event.key];
    if (!cell || !step || event.altKey || event.ctrlKey || event.metaKey) return;
    const body = cell.closest("tbody"), place = cell.parentElement;
    const row = body.rows[place.parentElement.sectionRowIndex + step[0]];
    const next = row?.cells[place.cellIndex + step[1]]?.querySelector("a");
    event.preventDefault();
    if (!next) return;
    next.tabIndex = 0;
    cell.tabIndex = -1;
    next.focus();
  });

  // One stop of the Tab key per map, arrows within it.
  for (const map of find(".map")) find("td > a", map).forEach((cell, i) => { cell.tabIndex = i ? -1 : 0; });
  byId("choose").addEventListener("change", () => { apply(); remember(); });
  byId("reset").addEventListener("click", () => { reset(); apply(); remember(); });
  addEventListener("hashchange", () => { if (recall()) apply(); });
  byId("choose").hidden = false;
  reset();
  recall();
  apply();
})();
