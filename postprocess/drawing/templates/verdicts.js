"use strict";
// What a reader chose is in `hidden` and in the URL's fragment. Names are only ever compared, or set as text.
(() => {
  const find = (selector, from = document) => [...from.querySelectorAll(selector)];
  const choose = document.getElementById("choose");
  if (!choose) return;
  const search = document.getElementById("search"), shown = document.getElementById("shown");
  const fieldsets = find("fieldset[data-kind]");
  const rows = find("[data-k]").map((element) => [element, element.dataset.k.split(" "), element.textContent.toLowerCase()]);
  const counted = rows.filter(([element]) => element.tagName === "TR");

  function apply() {
    const unwanted = fieldsets.map((set) => new Set(find("input", set).flatMap((box, i) => (box.checked ? [] : [String(i)]))));
    const kinds = fieldsets.map((set) => Number(set.dataset.kind));
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const [element, numbers, text] of rows) {
      const table = element.tagName === "TR";
      element.hidden = kinds.some((kind, i) => numbers[kind] !== "" && unwanted[i].has(numbers[kind])) ||
        (table && !words.every((word) => text.includes(word)));
    }
    shown.textContent = `${counted.filter(([element]) => !element.hidden).length} of ${counted.length} rows shown.`;
  }

  function remember() {
    const state = new URLSearchParams();
    for (const set of fieldsets) {
      const boxes = find("input", set);
      if (boxes.some((box) => !box.checked)) {
        state.append(set.dataset.name, "");
        for (const box of boxes) if (box.checked) state.append(set.dataset.name, box.value);
      }
    }
    if (search.value) state.set("search", search.value);
    const text = state.toString();
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  function recall() {
    const state = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    for (const set of fieldsets) {
      const wanted = state.getAll(set.dataset.name);
      for (const box of find("input", set)) box.checked = !state.has(set.dataset.name) || wanted.includes(box.value);
    }
    search.value = state.get("search") ?? "";
    apply();
  }

  choose.hidden = false;
  choose.addEventListener("input", () => { apply(); remember(); });
  document.getElementById("reset").addEventListener("click", () => {
    for (const box of find("fieldset[data-kind] input")) box.checked = true;
    search.value = "";
    apply();
    remember();
  });
  // A link to a part of the page is no choice.
  addEventListener("hashchange", () => { if (!location.hash || location.hash.includes("=")) recall(); });
  recall();
})();
