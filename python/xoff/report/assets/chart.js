"use strict";

// Charts of a page: lines over shared places, from the data that charts.py describes. Needs uPlot.

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
