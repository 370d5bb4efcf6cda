
// Spans of time in rows, from the data that `plots.jobs.Spans` describes. Needs uPlot and the colours of chart.js.

const spanHeight = (spec) => 100 + 22 * spec.rows.length;

// Rectangles of the visible labels, in the order of the data: a later span covers an earlier one.
function spanShapes(chart, spec, labels) {
  const { ctx, bbox } = chart;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const [row, label, start, length] of spec.spans) {
    if (!chart.series[label + 1].show) continue;
    const { colour, thin } = labels[label];
    ctx.fillStyle = colour === "#000000" ? dress("ink") : colour;
    const half = thin ? 0.25 : 0.4;
    const left = chart.valToPos(start, "x", true), right = chart.valToPos(start + length, "x", true);
    const top = chart.valToPos(row - half, "y", true), bottom = chart.valToPos(row + half, "y", true);
    ctx.fillRect(left, top, Math.max(right - left, 1), bottom - top);
  }
  ctx.restore();
}

function drawSpans(place, spec, tell) {
  const last = spec.rows.length - 1;
  const at = (chart) => {
    const { left, top } = chart.cursor;
    if (left === undefined || left < 0) return tell("");
    const time = chart.posToVal(left, "x"), row = Math.round(chart.posToVal(top, "y"));
    const found = spec.spans.filter(([which, label, start, length]) =>
      which === row && start <= time && time <= start + length && chart.series[label + 1].show);
    const told = found.map(([, label, start, length]) => `${spec.labels[label].name} ${number(start)} to ${number(start + length)} ${spec.unit}`);
    tell(told.length ? `${spec.rows[row]}: ${told.reverse().join("; ")}` : "");
  };
  const options = {
    width: place.clientWidth,
    height: spanHeight(spec),
    scales: { x: { time: false }, y: { dir: -1, range: [-0.6, last + 0.6] } },
    axes: [
      { label: spec.x, stroke: () => dress("ink"), grid: { stroke: () => dress("line") }, values: (_, ticks) => ticks.map((tick) => number(tick)) },
      { size: 80, stroke: () => dress("ink"), grid: { show: false }, splits: () => spec.rows.map((_, row) => row), values: () => spec.rows, font: "11px system-ui" },
    ],
    legend: { live: false },
    cursor: { y: false, points: { show: false }, drag: { x: true, y: false } },
    series: [{}, ...spec.labels.map(({ name, colour }) => ({ label: name, stroke: () => colour, fill: colour, points: { show: false } }))],
    hooks: { draw: [(chart) => spanShapes(chart, spec, spec.labels)], setCursor: [at] },
  };
  return new uPlot(options, [[0, spec.end], ...spec.labels.map(() => [null, null])], place);
}
