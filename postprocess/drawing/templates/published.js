"use strict";
/* How old the newest nights are, by the reader's clock: silence is not told by a page that nobody makes any more. */
for (const age of document.querySelectorAll(".age")) {
  const hours = (Date.now() - Date.parse(age.dataset.began)) / 3600e3;
  const old = hours < 48 ? `${Math.round(hours)} hours` : `${Math.round(hours / 24)} days`;
  age.querySelector("output").textContent = `, ${old} ago`;
  if (hours > Number(age.dataset.most)) {
    age.classList.add("bad");
    age.querySelector("output").textContent += ": silent for longer than a night";
  }
}
for (const find of document.querySelectorAll(".find")) {
  const input = find.querySelector("input"), said = find.querySelector("output");
  const rows = [...find.parentElement.querySelectorAll("tbody tr")];
  const choose = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    said.textContent = words.length ? `${shown} of ${rows.length}` : "";
  };
  find.hidden = false;
  input.addEventListener("input", choose);
  choose();
}
