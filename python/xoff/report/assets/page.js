"use strict";

// Tables: a click on a title sorts by it, another one the other way; empty cells stay last.
for (const table of document.querySelectorAll(".scroll table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows].map((row) => {
        const key = row.cells[column].dataset.key;
        return { row, key, number: row.cells[column].classList.contains("number") ? Number(key) : null };
      });
      rows.sort((a, b) => {
        if (a.key === undefined || b.key === undefined) return (a.key === undefined) - (b.key === undefined);
        const order = a.number !== null && b.number !== null
          ? a.number - b.number : a.key.localeCompare(b.key, "en", { numeric: true });
        return sign * order;
      });
      table.tBodies[0].append(...rows.map((one) => one.row));
    });
  });
}

// The network: coloured by use or by paused time, and which run is shown.
const network = document.getElementById("network");
if (network) {
  for (const choice of network.querySelectorAll("input[name=network-colour]")) {
    choice.addEventListener("change", () => {
      for (const svg of network.querySelectorAll("svg")) svg.setAttribute("class", `network show-${choice.value}`);
      for (const scale of network.querySelectorAll(".scale")) {
        scale.hidden = !scale.classList.contains(`show-${choice.value}`);
      }
    });
  }
  const which = network.querySelector("select");
  if (which) {
    const figures = [...network.querySelectorAll("figure")];
    which.addEventListener("change", () => figures.forEach((one, index) => (one.hidden = index !== which.selectedIndex)));
  }
}

const groups = JSON.parse(document.getElementById("chart-data").textContent);
for (const element of document.querySelectorAll(".chart-group")) {
  const group = groups[Number(element.dataset.group)];
  const place = element.querySelector(".chart");
  const which = element.querySelector("select");
  let chart = draw(place, group.charts[0]);
  if (which) which.addEventListener("change", () => (chart = draw(place, group.charts[which.selectedIndex])));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.redraw());
  new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: 340 })).observe(place);
}

for (const element of document.querySelectorAll("figure.spans")) {
  const place = element.querySelector(".chart");
  const spec = JSON.parse(element.querySelector("script").textContent);
  const chart = drawSpans(place, spec, (text) => (element.querySelector("output").textContent = text));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.redraw());
  new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: spanHeight(spec) })).observe(place);
}
