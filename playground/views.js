"use strict";

// What the page shows of a run: data for the replay, for charts, and the numbers of a scenario. A table is an object of
// columns.

const rowsOf = (table, ...names) => {
  const columns = names.map((name) => table[name]);
  return columns[0].map((_, row) => columns.map((column) => column[row]));
};
const isEmpty = (table) => !table || !table[Object.keys(table)[0]]?.length;

// Returns the first lines of `xoff explain`: three incidents, then the warnings, then other incidents.
function happened(incidents, warnings) {
  const lines = incidents.map(({ message }) => message);
  return [...lines.slice(0, 3), ...warnings.map(({ path, message }) => `warning ${path}: ${message}`), ...lines.slice(3)];
}

// Orders lengths: those without an end (-1) first, then the longest.
const longest = (a, b) => (a >= 0) - (b >= 0) || b - a;

// Returns the data of the replay, as replay.py does; null where the map does not know a node, or nothing waited.
//
// layout: nodes with places, width, height and radius; causes: label and colour by the name of a mechanism.
function replayData({ summary, tables }, layout, causes) {
  const places = new Map(layout.nodes.map(([name], index) => [name, index]));
  const links = rowsOf(tables.links, "node", "peer", "port", "rate_bps");
  if (links.some(([node, peer]) => !places.has(node) || !places.has(peer))) return null;
  if (isEmpty(tables.samples) && isEmpty(tables.pauses)) return null;
  const ports = new Map(links.map(([node, , port], index) => [`${node} ${port}`, index]));
  const end = Math.max(summary.simulated_ps || 0, 1), every = summary.sampled_every_ps || 0;
  const names = [...new Set(tables.pauses.cause)].sort();
  return {
    end, width: layout.width, height: layout.height, radius: layout.radius, nodes: layout.nodes,
    ports: links.map(([node, peer, port, rate]) => [places.get(node), places.get(peer), port, rate]),
    every,
    queues: every && tables.samples ? queueChanges(tables, ports, every, end) : [],
    causes: names.map((name) => causes[name] || [name, "#000000"]),
    pauses: rowsOf(tables.pauses, "node", "port", "queue", "class", "cause", "start_ps", "end_ps")
      .map(([node, port, queue, tag, cause, start, until]) => [
        ports.get(`${node} ${port}`), queue, tag, names.indexOf(cause), start, until === null ? -1 : until - start,
      ]).sort((a, b) => longest(a[5], b[5])).sort((a, b) => a[4] - b[4]),
    flows: flowRows(tables, places),
    faults: isEmpty(tables.faults) ? [] : faultRows(tables.faults, links),
  };
}

// Changes of each queue: pairs of samples since the last change, and bytes.
function queueChanges(tables, ports, every, end) {
  const classes = new Map(rowsOf(tables.queues, "node", "port", "queue", "class")
    .map(([node, port, queue, tag]) => [`${node} ${port} ${queue}`, tag]));
  const looks = Math.max(1, Math.ceil(end / every)), found = new Map();
  for (const [time, node, port, queue, bytes] of rowsOf(tables.samples, "time_ps", "node", "port", "queue", "bytes")) {
    const key = `${node} ${port} ${queue}`;
    if (!found.has(key)) found.set(key, { node, port, queue, key, seen: new Map() });
    const look = Math.floor(time / every);
    if (look < looks) found.get(key).seen.set(look, bytes);
  }
  const order = (a, b) => (a.node < b.node ? -1 : a.node > b.node ? 1 : a.port - b.port || a.queue - b.queue);
  return [...found.values()].sort(order).map(({ node, port, queue, key, seen }) => {
    const times = new Set(seen.keys());
    for (const look of seen.keys()) if (look + 1 < looks) times.add(look + 1);
    const changes = [];
    let last = 0, depth = 0;
    for (const look of [...times].sort((a, b) => a - b)) {
      const bytes = seen.get(look) ?? 0;
      if (bytes === depth) continue;
      changes.push(look - last, bytes);
      [last, depth] = [look, bytes];
    }
    return [ports.get(`${node} ${port}`), queue, classes.get(key) ?? 0, changes];
  });
}

// The arrival of the last message of each connection.
function lastArrivals({ messages }) {
  const found = new Map();
  if (isEmpty(messages)) return found;
  for (const [flow, start, fct] of rowsOf(messages, "flow", "start_ps", "fct_ps")) {
    found.set(flow, Math.max(found.get(flow) ?? 0, start + fct));
  }
  return found;
}

function flowRows(tables, places) {
  const carried = lastArrivals(tables);
  const columns = ["flow", "label", "src", "dst", "start_ps", "fct_ps", "size_bytes", "via"];
  return rowsOf(tables.flows, ...columns).map(([flow, label, src, dst, start, fct, size, via]) => [
    label || `flow ${flow}`, places.get(src) ?? -1, places.get(dst) ?? -1, start,
    carried.has(flow) ? carried.get(flow) - start : fct ?? -1, size,
    via.split(", ").filter((name) => places.has(name)).map((name) => places.get(name)),
  ]).sort((a, b) => b[5] - a[5]).sort((a, b) => a[3] - b[3]);
}

function faultRows(faults, links) {
  const columns = ["kind", "target", "start_ps", "end_ps"];
  return rowsOf(faults, ...columns).map(([kind, target, start, end]) => [
    `${target} (${kind})`, start, end === null ? -1 : end - start,
    links.flatMap(([node, peer], index) =>
      ([`${node}-${peer}`, `${peer}-${node}`, `${node} -> ${peer}`, node, peer].includes(target) ? [index] : [])),
  ]).sort((a, b) => longest(a[2], b[2])).sort((a, b) => a[1] - b[1]);
}

// Returns the chart of the deepest queues over time; null if no queue was sampled. A value is the deepest sample of a part
// of the run.
function queuesChart({ summary, tables }, colours, top = 6, parts = 500) {
  const every = summary.sampled_every_ps;
  if (!every || isEmpty(tables.samples)) return null;
  const peers = new Map(rowsOf(tables.links, "node", "port", "peer").map(([node, port, peer]) => [`${node} ${port}`, peer]));
  const looks = Math.max(1, Math.ceil(summary.simulated_ps / every)), stride = Math.max(1, Math.ceil(looks / parts));
  const length = Math.ceil(looks / stride) + 1, found = new Map();
  for (const [time, node, port, queue, bytes] of rowsOf(tables.samples, "time_ps", "node", "port", "queue", "bytes")) {
    const key = `${node} ${port} ${queue}`;
    let one = found.get(key);
    if (!one) {
      one = { name: `${node} → ${peers.get(`${node} ${port}`)}`, queue, most: 0, values: new Array(length).fill(0) };
      found.set(key, one);
    }
    const part = Math.min(length - 1, Math.floor(time / every / stride));
    one.values[part] = Math.max(one.values[part], bytes / 1000);
    one.most = Math.max(one.most, bytes);
  }
  const shown = [...found.values()].sort((a, b) => b.most - a.most || (a.name < b.name ? -1 : 1)).slice(0, top);
  const isDouble = (one) => shown.some((other) => other !== one && other.name === one.name);
  return {
    x: { label: "time (µs)", log: false, values: Array.from({ length }, (_, part) => (part * stride * every) / 1e6) },
    y: { label: "queue depth (KB)", log: false },
    steps: true,
    series: shown.map((one, index) => ({
      name: isDouble(one) ? `${one.name} queue ${one.queue}` : one.name, values: one.values, colour: colours[index],
    })),
  };
}

// Returns the completion times of flows: name, workload, picoseconds (null for a flow that did not complete). A connection is
// complete when its last message has arrived.
function completions({ tables }) {
  const carried = lastArrivals(tables);
  return rowsOf(tables.flows, "flow", "label", "workload", "src", "dst", "start_ps", "fct_ps")
    .sort((a, b) => a[0] - b[0])
    .map(([flow, label, workload, src, dst, start, fct]) => ({
      name: label || `${src} → ${dst}`, workload, fct: carried.has(flow) ? carried.get(flow) - start : fct,
    }));
}

// Returns the chart of the shares of completions up to a time, of two runs.
function timesChart(now, before, colours) {
  const sorted = (all) => all.filter(({ fct }) => fct !== null).map(({ fct }) => fct / 1e6).sort((a, b) => a - b);
  const [these, those] = [sorted(now), sorted(before)];
  const places = [...new Set([...these, ...those])].sort((a, b) => a - b);
  // As many places as a screen has.
  const step = Math.ceil(places.length / 500), last = places.length - 1;
  const values = places.filter((_, i) => i % step === 0 || i === last);
  const share = (times, all) => {
    let at = 0;
    return values.map((value) => {
      while (at < times.length && times[at] <= value) at++;
      return all.length ? at / all.length : 0;
    });
  };
  return {
    x: { label: "completion time (µs)", values, log: values.length > 1 && values[0] > 0 && values.at(-1) > 10 * values[0] },
    y: { label: "share completed", log: false },
    steps: true,
    series: [
      { name: "now", values: share(these, now), colour: colours[0] },
      { name: "as given", values: share(those, before), colour: "#8a939c", dash: true },
    ],
  };
}

// Returns a number of a run by its path: a key of the summary, or `table.column` of a first row; undefined if absent.
function numberOf({ summary, tables }, path) {
  const [table, column] = path.split(".");
  if (tables[table]?.[column]) return tables[table][column][0];
  return path.split(".").reduce((part, key) => part?.[key], summary);
}
