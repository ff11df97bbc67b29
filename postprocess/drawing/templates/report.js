"use strict";
// What a reader chose is in attributes of <html>, in `hidden`, and in the URL's fragment. Names from the run are only
// ever compared, or set as text; what is folded on a large page is markup that the template has escaped. All of it waits
// for the rest of a large run, which is packed; without it the page is as without a script.
(async () => {
  const root = document.documentElement;
  const find = (selector, from = document) => [...from.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);

  // A folded section that a link leads to is unfolded.
  function unfold() {
    const fold = byId(location.hash.slice(1))?.querySelector(":scope > details");
    if (fold) fold.open = true;
  }
  addEventListener("hashchange", unfold);
  unfold();

  const packed = byId("rest");
  if (packed && !window.DecompressionStream) return;
  const rest = { maps: {}, rows: [], folded: [], ...(packed ? await unpacked(packed.textContent) : {}) };
  for (const part of find("[data-folded]"))
    part.replaceWith(...new DOMParser().parseFromString(rest.folded[part.dataset.folded], "text/html").body.childNodes);

  const view = byId("view"), palette = byId("palette"), dim = byId("dim"), tip = byId("tip");
  if (!view) return; // no map and no point: nothing to choose
  const kinds = ["library", "configuration", "collective"];
  const boxes = kinds.map((kind) => find(`fieldset[data-kind=${kind}] input`));
  const usual = { view: "overhead", palette: root.dataset.palette, dim: root.hasAttribute("data-dim") };

  function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  }

  function element(name, text, parent) {
    const made = parent.appendChild(document.createElement(name));
    made.textContent = text;
    return made;
  }

  // What can be chosen: cases with their maps, and points. Those of the rest get their elements when they are shown.
  const numbered = (text) => text.split(" ");
  const panels = find(".panel").map((element) => {
    const number = element.id.slice(1), views = rest.maps[number];
    const names = views ? views.map((one) => one.names) : find("[data-views]", element).map((one) => one.dataset.views);
    return { element, number, numbers: numbered(element.dataset.k), views, names: names.flatMap(numbered) };
  });
  const body = document.querySelector("#points tbody"), model = body.rows[0];
  const points = find("tr", body).map((element) => ({ element, numbers: numbered(element.dataset.k) }));
  for (const [numbers, words] of rest.rows) points.push({ words, numbers: numbered(numbers) });
  points.forEach((point, i) => { point.number = i + 1; });

  function draw(panel) {
    panel.views?.forEach((one, i) => drawMap(one, `m${panel.number}-${i + 1}-`, panel.element.querySelector(".maps")));
    delete panel.views;
  }

  // As the template's macro `map` has it.
  function drawMap(one, id, parent) {
    const wide = element("div", "", parent), table = element("table", "", wide);
    wide.className = "wide";
    wide.dataset.views = one.names;
    table.className = one.columns.length > 6 ? "map dense" : "map";
    element("caption", one.title, table);
    const lines = element("tbody", "", table), foot = element("tr", "", element("tfoot", "", table));
    one.rows.forEach(([name, cells], i) => {
      const line = element("tr", "", lines), head = element("th", name, line);
      head.scope = "row";
      head.id = `${id}y${i + 1}`;
      cells.forEach((cell, j) => {
        const place = element("td", "", line), link = element("a", "", place);
        place.setAttribute("headers", `${id}x${j + 1} ${head.id}`);
        if (cell.row) link.href = `#p${cell.row}`;
        link.className = cell.css;
        if (cell.title) link.title = cell.title;
        element("b", cell.label, link);
        if (cell.signs) element("small", cell.signs, link).setAttribute("aria-hidden", "true");
        if (cell.spoken) element("span", `, ${cell.spoken}`, link).className = "spoken";
      });
    });
    const axes = element("th", "", foot);
    axes.className = "axis";
    axes.append("comp. ↑", document.createElement("br"), "comm. →");
    one.columns.forEach((name, j) => {
      const head = element("th", name, foot);
      head.scope = "col";
      head.id = `${id}x${j + 1}`;
    });
    oneStop(table);
  }

  // One stop of the Tab key per map, arrows within it.
  function oneStop(table) {
    find("td > a", table).forEach((cell, i) => { cell.tabIndex = i ? -1 : 0; });
  }

  // A point's row, made like the first one.
  function rowOf(point) {
    if (!point.element) {
      point.element = model.cloneNode(true);
      point.element.id = `p${point.number}`;
      point.element.dataset.k = point.numbers.join(" ");
      [point.number, ...point.words].forEach((words, i) => { point.element.cells[i].textContent = words; });
    }
    return point.element;
  }

  // Of a long list a page is shown at a time. What is chosen of it, and the number of the page, by the list's name.
  const chosen = { maps: panels, points }, at = { maps: 1, points: 1 };
  const controls = (name) => find(`[data-pages=${name}]`);

  function pageOf(name, all) {
    const list = chosen[name], size = Number(controls(name)[0]?.dataset.size ?? Infinity);
    const count = Math.max(1, Math.ceil(list.length / size));
    at[name] = Math.min(Math.max(1, Math.trunc(at[name]) || 1), count);
    const from = count > 1 ? (at[name] - 1) * size : 0, page = list.slice(from, from + size);
    for (const nav of controls(name)) {
      const [back, onward] = find("button", nav), number = nav.querySelector("input");
      nav.hidden = count === 1;
      number.max = count;
      number.value = at[name];
      nav.querySelector("span").textContent = count;
      back.setAttribute("aria-disabled", at[name] === 1);
      onward.setAttribute("aria-disabled", at[name] === count);
      const of = list.length < all.length ? `${list.length} chosen ${nav.dataset.things}, of ${all.length},` : `${all.length} ${nav.dataset.things}`;
      byId(`${name}-shown`).textContent = `${page.length ? from + 1 : 0} to ${from + page.length} of ${of} are ${name === "maps" ? "drawn" : "shown"}.`;
    }
    return page;
  }

  function turn(name, to) {
    at[name] = to;
    apply();
    remember();
    if (name === "points") body.closest(".tall").scrollTop = 0;
  }

  // A link to a point or a case that are chosen leads to their page.
  function reveal(hash) {
    const panel = hash.startsWith("#map-") ? byId(hash.slice(1))?.closest(".panel")?.id : "";
    const [, letter, number] = /^#([ps])(\d+)$/.exec(panel ? `#${panel}` : hash) ?? [];
    if (!letter) return false;
    const name = letter === "p" ? "points" : "maps";
    const place = chosen[name].indexOf(letter === "p" ? points[number - 1] : panels.find((panel) => panel.number === number));
    if (place < 0 || !controls(name).length) return false;
    at[name] = 1 + Math.floor(place / controls(name)[0].dataset.size);
    apply();
    return true;
  }

  // What is shown.
  function apply() {
    root.dataset.view = view.value;
    root.dataset.palette = palette.value;
    root.toggleAttribute("data-dim", dim.checked);
    const unwanted = boxes.map((same) => new Set(same.flatMap((box, i) => (box.checked ? [] : [String(i)]))));
    const wanted = ({ numbers }) => !numbers.some((number, i) => unwanted[i].has(number));
    const viewed = ({ names }) => !names.length || view.value === "everything" || names.includes(view.value);
    chosen.maps = panels.filter((panel) => wanted(panel) && viewed(panel));
    chosen.points = points.filter(wanted);
    const page = new Set(pageOf("maps", panels));
    for (const panel of page) draw(panel);
    for (const panel of panels) panel.element.hidden = !page.has(panel);
    for (const part of find(".collective, .group")) part.hidden = !part.querySelector(".panel:not([hidden])");
    const rows = pageOf("points", points).map(rowOf);
    if (rows.length !== body.rows.length || rows.some((row, i) => row !== body.rows[i])) body.replaceChildren(...rows);
    for (const scale of find("[data-scale]")) scale.hidden = !scales().has(scale.dataset.scale);
    byId("shown").textContent = `${chosen.maps.length} of ${panels.length} cases ${controls("maps").length ? "chosen" : "shown"}.`;
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
    for (const [name, number] of Object.entries(at)) if (number > 1) state.set(name, number);
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
    for (const name in at) at[name] = state.get(name);
    return true;
  }

  function reset() {
    view.value = usual.view;
    palette.value = usual.palette;
    dim.checked = usual.dim;
    for (const box of boxes.flat()) box.checked = true;
    at.maps = at.points = 1;
  }

  // The details of a point are its row of the table, told beside the cell.
  const heads = find("#points thead th").slice(1).map((head) => head.textContent);
  let pinned = null, told = null;

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
    if (cell.hash) {
      const row = rowOf(points[cell.hash.slice(2) - 1]);
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
      return;
    }
    const link = event.target.closest?.("a");
    if (link || !tip.contains(event.target)) hide();
    if (link) reveal(link.hash);
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

  find(".map").forEach(oneStop);
  for (const cell of find("[data-href]")) { // to rows that are in the rest
    cell.href = cell.dataset.href;
    delete cell.dataset.href;
  }
  for (const words of find("[data-unscripted]")) words.hidden = true;
  for (const nav of find("[data-pages]")) {
    const name = nav.dataset.pages;
    nav.addEventListener("change", (event) => turn(name, event.target.value));
    nav.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button || button.getAttribute("aria-disabled") === "true") return;
      turn(name, at[name] + Number(button.dataset.step));
      if (nav !== controls(name)[0]) controls(name)[0].scrollIntoView();
    });
  }
  byId("choose").addEventListener("change", (event) => {
    if (event.target !== palette && event.target !== dim) at.maps = at.points = 1;
    apply();
    remember();
  });
  byId("reset").addEventListener("click", () => { reset(); apply(); remember(); });
  addEventListener("hashchange", () => { if (recall()) apply(); else if (reveal(location.hash)) location.replace(location.hash); });
  byId("choose").hidden = false;
  reset();
  recall();
  apply();
  if (reveal(location.hash)) location.replace(location.hash); // what is only now there is looked for again
})();
