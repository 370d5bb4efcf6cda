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

// Intervals of means, as whiskers over the lines.
function whiskers(chart, series) {
  const { ctx } = chart;
  ctx.save();
  ctx.lineWidth = 1.2 * devicePixelRatio;
  series.forEach((one, index) => {
    if (!one.low || one.dash || !chart.series[index + 1].show) return;
    ctx.strokeStyle = one.colour;
    chart.data[0].forEach((place, at) => {
      if (one.low[at] === null || one.high[at] === null || one.low[at] === one.high[at]) return;
      const x = chart.valToPos(place, "x", true);
      const [low, high] = [one.low[at], one.high[at]].map((value) => chart.valToPos(value, "y", true));
      if (x < chart.bbox.left || x > chart.bbox.left + chart.bbox.width) return;
      const half = 3 * devicePixelRatio;
      ctx.beginPath();
      ctx.moveTo(x, low); ctx.lineTo(x, high);
      ctx.moveTo(x - half, low); ctx.lineTo(x + half, low);
      ctx.moveTo(x - half, high); ctx.lineTo(x + half, high);
      ctx.stroke();
    });
  });
  ctx.restore();
}

const number = (value) => (value === null || value === undefined ? "–" : Number(value.toPrecision(4)).toLocaleString("en"));

// Colours of the page, in its light or dark dress.
const dress = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Ticks of a logarithmic axis: 1, 2 and 5 of each decade, or its beginning alone where decades are many.
const decades = (_, __, low, high) => {
  const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high));
  const parts = last - first > 4 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let decade = first; decade <= last; decade++) {
    for (const part of parts) ticks.push(Number(`${part}e${decade}`));
  }
  return ticks.filter((tick) => tick >= low && tick <= high);
};

function draw(place, spec) {
  place.replaceChildren();
  const ends = spec.series.flatMap((one) => [...one.values, ...(one.high || [])]).filter((value) => value !== null);
  const top = Math.max(...ends);
  const y = spec.y.log ? { distr: 3 } : { range: (_, low) => [Math.min(0, low ?? 0) * 1.06, top * 1.06 || 1] };
  // Of a few places on a logarithmic scale each has its tick.
  const few = spec.x.log && !spec.steps && spec.x.values.length <= 12;
  const log = { splits: decades, filter: (_, ticks) => ticks };
  const places = few ? { splits: () => spec.x.values, filter: (_, ticks) => ticks } : spec.x.log ? log : {};
  const options = {
    width: place.clientWidth,
    height: 340,
    scales: {
      x: spec.x.log ? { time: false, distr: 3, range: (_, low, high) => [low / 1.05, high * 1.05] } : { time: false },
      y,
    },
    axes: [
      { label: spec.x.label, stroke: () => dress("ink"), grid: { stroke: () => dress("line") }, ...places, values: (_, ticks) => ticks.map((t) => (t === null ? "" : number(t))) },
      { label: spec.y.label, size: 70, stroke: () => dress("ink"), grid: { stroke: () => dress("line") }, ...(spec.y.log ? log : {}), values: (_, ticks) => ticks.map((t) => (t === null ? "" : number(t))) },
    ],
    series: [
      { label: spec.x.label, value: (_, value) => number(value) },
      ...spec.series.map((one) => ({
        label: one.name,
        stroke: () => (one.colour === "#000000" ? dress("ink") : one.colour),
        width: 1.6,
        dash: one.dash ? [6, 4] : undefined,
        spanGaps: true,
        points: { show: !spec.steps && spec.x.values.length <= 60 },
        paths: spec.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
        value: (_, value) => number(value),
      })),
    ],
    hooks: { draw: [(chart) => whiskers(chart, spec.series)] },
  };
  return new uPlot(options, [spec.x.values, ...spec.series.map((one) => one.values)], place);
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
