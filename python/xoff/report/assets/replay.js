"use strict";

// The replay of a run: any moment of it on the map, in lists, and at one port. A moment is worked out from the records
// alone, wherever it is reached from; only what is drawn once for all moments is kept.
//
// root: the element with the player (replay_player.html.j2); data: what replay.py describes. A player that was taken out
// of the page stops.
function showReplay(root, data) {
  const find = (what) => root.querySelector(what);
  const LINES = 5;

  // Texts, as everywhere on the page: a time, a size.
  const scaled = (value, units, digits) => {
    const [scale, unit] = units.find((one) => Math.abs(value) >= one[0]) || units[units.length - 1];
    return `${scale > 1 ? (value / scale).toFixed(digits) : value} ${unit}`;
  };
  const time = (ps) => scaled(ps, [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"], [1, "ps"]], 3);
  // The least of 1, 2 and 5 times the powers of ten that is not below a number.
  const roundStep = (least) => {
    const decade = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
    return [1, 2, 5, 10].map((part) => part * decade).find((step) => step >= least);
  };
  const size = (bytes) => scaled(bytes, [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]], 1);
  const count = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

  // The records, by port.
  const parallel = new Map();
  const ports = data.ports.map(([node, peer, number, rate], index) => {
    const key = `${node} ${peer}`;
    parallel.set(key, [...(parallel.get(key) || []), index]);
    return { index, node, peer, number, rate, key, queues: [], pauses: [], peak: 0, paused: 0 };
  });
  for (const port of ports) {
    const beside = parallel.get(port.key);
    port.place = beside.indexOf(port.index) - (beside.length - 1) / 2;
    const parts = beside.length > 1 ? ` port ${port.number}` : "";
    port.name = `${data.nodes[port.node][0]} → ${data.nodes[port.peer][0]}${parts}`;
  }
  const queues = data.queues.map(([at, number, tag, changes]) => {
    const looks = new Float64Array(changes.length / 2), sizes = new Float64Array(changes.length / 2);
    for (let i = 0, look = 0; i < looks.length; i++) {
      looks[i] = look += changes[2 * i];
      sizes[i] = changes[2 * i + 1];
    }
    const queue = { port: ports[at], number, tag, looks, sizes };
    ports[at].queues.push(queue);
    return queue;
  });
  const pauses = data.pauses.map(([at, queue, tag, cause, start, length]) => {
    const pause = { port: ports[at], queue, tag, cause, start, end: length < 0 ? Infinity : start + length };
    pause.port.pauses.push(pause);
    pause.port.paused += Math.min(pause.end, data.end) - start;
    return pause;
  });
  const flows = data.flows.map(([name, src, dst, start, fct, bytes, via]) => ({
    name, src, dst, start, bytes,
    end: fct < 0 ? Infinity : start + fct,
    way: [src, ...via, dst].filter((node) => node >= 0),
  }));
  const faults = data.faults.map(([name, start, length, at]) => ({
    name, start, ports: at.map((index) => ports[index]), end: length < 0 ? Infinity : start + length,
  }));
  // The halves of links on its way, both of each.
  for (const flow of flows) {
    flow.halves = flow.way.slice(1).flatMap((node, i) => {
      const before = flow.way[i];
      return [...(parallel.get(`${before} ${node}`) || []), ...(parallel.get(`${node} ${before}`) || [])];
    });
  }

  // How many looks of a queue's changes are not later than `look`.
  const upTo = (looks, look) => {
    let low = 0, high = looks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (looks[middle] <= look) low = middle + 1; else high = middle;
    }
    return low;
  };
  const depth = (queue, t) => {
    const found = upTo(queue.looks, Math.floor(t / data.every));
    return found ? queue.sizes[found - 1] : 0;
  };
  const isOn = (one, t) => one.start <= t && t < one.end;

  // Everything at a moment.
  const bytesOf = new Float64Array(ports.length);
  function stateAt(t) {
    bytesOf.fill(0);
    let total = 0;
    for (const queue of queues) {
      const bytes = depth(queue, t);
      bytesOf[queue.port.index] += bytes;
      total += bytes;
    }
    return {
      t, total,
      waiting: ports.filter((port) => bytesOf[port.index] > 0),
      // Those that began first have lasted longest.
      paused: pauses.filter((pause) => isOn(pause, t)),
      flows: flows.filter((flow) => isOn(flow, t)),
      failing: faults.filter((fault) => isOn(fault, t)),
      finished: flows.reduce((sum, flow) => sum + (flow.end <= t), 0),
    };
  }

  // What was most: over all moments of a port, and over the whole run.
  function sumOf(some) {
    const changes = some.flatMap(({ looks, sizes }) =>
      [...looks].map((look, i) => [look, sizes[i] - (i ? sizes[i - 1] : 0)])).sort((a, b) => a[0] - b[0]);
    const looks = [], sizes = [];
    let sum = 0;
    for (const [look, change] of changes) {
      sum += change;
      if (looks[looks.length - 1] === look) sizes[sizes.length - 1] = sum;
      else { looks.push(look); sizes.push(sum); }
    }
    return { looks, sizes };
  }
  const largest = (values) => values.reduce((most, value) => Math.max(most, value), 0);
  for (const port of ports) {
    port.sum = port.queues.length === 1 ? port.queues[0] : sumOf(port.queues);
    port.peak = largest(port.sum.sizes);
  }
  const deepest = largest(ports.map((port) => port.peak));
  const whole = sumOf(queues);
  const pausedCount = { times: [], numbers: [] };
  {
    const ends = pauses.flatMap((pause) => [[pause.start, 1], [Math.min(pause.end, data.end), -1]]);
    let number = 0;
    for (const [at, change] of ends.sort((a, b) => a[0] - b[0] || a[1] - b[1])) {
      pausedCount.times.push(at);
      pausedCount.numbers.push(number += change);
    }
  }
  const mostBytes = largest(whole.sizes), mostPaused = largest(pausedCount.numbers);

  // Colours are those of the page, in its light or dark dress.
  const colours = {};
  function dress() {
    const style = getComputedStyle(root);
    for (const name of ["ink", "faint", "line", "surface", "paper", "accent", "queue", "flow", "node"]) {
      colours[name] = style.getPropertyValue(`--${name}`).trim();
    }
    const black = (colour) => (colour === "#000000" ? colours.ink : colour);
    colours.causes = data.causes.map((one) => black(one[1]));
  }

  // A canvas that is as sharp as the screen; its context draws in CSS pixels.
  function sheet(canvas, height) {
    const width = canvas.clientWidth, ratio = devicePixelRatio || 1;
    if (height) canvas.style.height = `${height}px`;
    const tall = canvas.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(tall * ratio);
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { canvas, context, width, height: tall };
  }
  function copyOf({ canvas }) {
    const copy = document.createElement("canvas");
    copy.width = canvas.width;
    copy.height = canvas.height;
    copy.getContext("2d").drawImage(canvas, 0, 0);
    return copy;
  }
  function restore({ context, width, height }, copy) {
    context.clearRect(0, 0, width, height);
    context.drawImage(copy, 0, 0, width, height);
  }

  // The map: where nodes and the halves of links are.
  let map, radius, thin, spots, labelled;
  function lay() {
    map = sheet(find(".map"), data.height);
    const scale = map.width / data.width;
    radius = Math.max(1.5, data.radius * Math.min(1, Math.max(scale, 0.55)));
    thin = Math.max(1.6, Math.min(6, 0.7 * radius));
    spots = data.nodes.map(([name, x, y, isHost]) => (
      { name, x: x * scale, y, isHost, edge: isHost ? radius : 1.2 * radius }
    ));
    const tiers = new Map();
    for (const spot of spots) tiers.set(spot.y, [...(tiers.get(spot.y) || []), spot]);
    map.context.font = "11px system-ui, sans-serif";
    labelled = [...tiers.values()].filter((tier) => {
      const widest = Math.max(...tier.map((spot) => map.context.measureText(spot.name).width));
      return (widest + 6) * tier.length <= map.width;
    }).flat();
    for (const port of ports) port.half = half(spots[port.node], spots[port.peer], port.place);
  }
  // The points of a link from its sender's edge to the middle: a line, or an arc between neighbours of one tier.
  function half(from, to, place) {
    const [dx, dy] = [to.x - from.x, to.y - from.y];
    const length = Math.hypot(dx, dy) || 1;
    // Links beside one another lie apart; both directions of one lie together.
    const side = (from.y - to.y || to.x - from.x) > 0 ? 1 : -1;
    const shift = place * (thin + 3) * side;
    const [sx, sy] = [(-dy / length) * shift, (dx / length) * shift];
    const bend = Math.abs(dy) < 1 ? 50 : 0;
    const at = (u) => [from.x + dx * u + sx, from.y + dy * u + sy - 2 * u * (1 - u) * bend];
    const start = Math.min(0.3, (from.edge + 1) / length), steps = bend ? 10 : 1;
    return Array.from({ length: steps + 1 }, (_, i) => at(start + ((0.5 - start) * i) / steps));
  }
  function trace(context, points, share = 1) {
    context.moveTo(...points[0]);
    const whole = (points.length - 1) * share;
    for (let i = 1; i < points.length && i - 1 < whole; i++) {
      const part = Math.min(1, whole - (i - 1));
      const [[ax, ay], [bx, by]] = [points[i - 1], points[i]];
      context.lineTo(ax + (bx - ax) * part, ay + (by - ay) * part);
    }
  }
  function strokes(context, colour, width, draw) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    draw();
    context.stroke();
  }

  let base;
  function drawBase() {
    const { context } = map;
    context.clearRect(0, 0, map.width, map.height);
    strokes(context, colours.line, 1, () => ports.forEach((port) => trace(context, port.half)));
    base = copyOf(map);
  }
  function drawMap(state) {
    const { context } = map;
    restore(map, base);
    context.lineCap = "butt";
    // The ways of flows under way.
    const lit = new Set();
    for (const flow of state.flows) for (const index of flow.halves) lit.add(index);
    // Where there are many they step back behind what waits and is paused.
    context.globalAlpha = Math.max(0.15, Math.min(1, 40 / lit.size));
    strokes(context, colours.flow, lit.size > 100 ? 1 : 1.6, () => {
      for (const index of lit) trace(context, ports[index].half);
    });
    context.globalAlpha = 1;
    if (chosen) {
      context.globalAlpha = 0.35;
      context.lineCap = "round";
      strokes(context, colours.accent, 3 * thin, () => trace(context, chosen.half));
      context.globalAlpha = 1;
      context.lineCap = "butt";
    }
    // What is paused, in the colour of its cause; dashes run from the neighbour back to the port that it stops.
    const held = colours.causes.map(() => new Set());
    for (const pause of state.paused) held[pause.cause].add(pause.port);
    held.forEach((some, cause) => {
      if (!some.size) return;
      context.globalAlpha = 0.55;
      strokes(context, colours.causes[cause], 1.8 * thin, () => some.forEach((port) => trace(context, port.half)));
      context.globalAlpha = 1;
      context.setLineDash([3, 7]);
      context.lineDashOffset = calm ? 0 : ((state.t / data.end) * 4000) % 10;
      strokes(context, colours.paper, 0.9 * thin, () => some.forEach((port) => trace(context, port.half)));
      context.setLineDash([]);
      strokes(context, colours.causes[cause], 2.5, () => some.forEach(({ half: [[x, y], [toX, toY]] }) => {
        const length = Math.hypot(toX - x, toY - y) || 1;
        const [ox, oy] = [((toY - y) / length) * 1.9 * thin, ((x - toX) / length) * 1.9 * thin];
        context.moveTo(x - ox, y - oy);
        context.lineTo(x + ox, y + oy);
      }));
    });
    // What fails is crossed out, whatever it does.
    strokes(context, colours.ink, 1.5, () => {
      for (const fault of state.failing) {
        for (const { half: [[x, y], [toX, toY]] } of fault.ports) {
          const [atX, atY] = [x + (toX - x) * 0.8, y + (toY - y) * 0.8];
          context.moveTo(atX - 4, atY - 4);
          context.lineTo(atX + 4, atY + 4);
          context.moveTo(atX - 4, atY + 4);
          context.lineTo(atX + 4, atY - 4);
        }
      }
    });
    // A queue grows from its port.
    strokes(context, colours.queue, thin, () => {
      for (const port of state.waiting) trace(context, port.half, Math.max(0.06, bytesOf[port.index] / deepest));
    });
    drawNodes(state);
  }
  function drawNodes(state) {
    const { context } = map;
    const sends = new Set(), takes = new Set();
    for (const flow of state.flows) { sends.add(flow.src); takes.add(flow.dst); }
    spots.forEach((spot, index) => {
      context.beginPath();
      if (spot.isHost) context.arc(spot.x, spot.y, radius, 0, 2 * Math.PI);
      else context.rect(spot.x - 1.2 * radius, spot.y - 1.2 * radius, 2.4 * radius, 2.4 * radius);
      context.fillStyle = !spot.isHost ? colours.node : sends.has(index) ? colours.flow : colours.paper;
      context.strokeStyle = takes.has(index) ? colours.flow : colours.node;
      context.lineWidth = takes.has(index) ? Math.max(1.5, radius / 2.5) : 1;
      context.fill();
      if (spot.isHost) context.stroke();
    });
    // The last byte of a flow has arrived: a ring that spreads.
    const lasts = data.end / 40;
    context.lineWidth = 2;
    context.strokeStyle = colours.flow;
    for (const { dst, end } of flows) {
      const age = (state.t - end) / lasts;
      if (age < 0 || age >= 1 || dst < 0) continue;
      context.globalAlpha = 1 - age;
      context.beginPath();
      context.arc(spots[dst].x, spots[dst].y, radius * (1.4 + 2 * age), 0, 2 * Math.PI);
      context.stroke();
    }
    context.globalAlpha = 1;
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.lineWidth = 3;
    context.strokeStyle = colours.paper;
    context.fillStyle = colours.ink;
    for (const spot of labelled) {
      const y = spot.isHost ? spot.y + radius + 14 : spot.y - 1.2 * radius - 5;
      context.strokeText(spot.name, spot.x, y);
      context.fillText(spot.name, spot.x, y);
    }
  }
  // The port whose half of a link is nearest.
  function portAt(x, y) {
    let best, least = 14;
    for (const port of ports) {
      for (let i = 1; i < port.half.length; i++) {
        const [[ax, ay], [bx, by]] = [port.half[i - 1], port.half[i]];
        const [dx, dy] = [bx - ax, by - ay];
        const along = Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy || 1)));
        const far = Math.hypot(x - ax - along * dx, y - ay - along * dy);
        if (far < least) [best, least] = [port, far];
      }
    }
    return best;
  }

  // Curves over the whole run; `left` and `right` are as far from the edges as the slider's thumb is at its ends.
  const EDGE = 8;
  const across = (area, t) => EDGE + (t / data.end) * (area.width - 2 * EDGE);
  const momentAt = (area, x) => Math.max(0, Math.min(1, (x - EDGE) / (area.width - 2 * EDGE))) * data.end;
  // The most in each column of pixels.
  function columns(area, times, values) {
    const most = new Float64Array(Math.ceil(area.width) + 1);
    for (let i = 0; i < times.length; i++) {
      const from = Math.floor(across(area, Math.min(times[i], data.end)));
      const to = Math.floor(across(area, i + 1 < times.length ? Math.min(times[i + 1], data.end) : data.end));
      for (let x = from; x <= to; x++) most[x] = Math.max(most[x], values[i]);
    }
    return most;
  }
  function hill(area, most, top, bottom, highest, colour, filled) {
    const { context } = area;
    context.beginPath();
    context.moveTo(EDGE, bottom);
    const tall = (bottom - top) / (highest || 1);
    for (let x = EDGE; x <= area.width - EDGE; x++) context.lineTo(x, bottom - most[x] * tall);
    if (filled) {
      context.lineTo(area.width - EDGE, bottom);
      context.globalAlpha = 0.3;
      context.fillStyle = colour;
      context.fill();
      context.globalAlpha = 1;
    }
    context.strokeStyle = colour;
    context.lineWidth = 1.3;
    context.stroke();
  }
  function cursor(area, t, copy) {
    restore(area, copy);
    strokes(area.context, colours.ink, 1.5, () => {
      area.context.moveTo(across(area, t), 0);
      area.context.lineTo(across(area, t), area.height);
    });
  }
  const looksAsTimes = (looks) => Array.from(looks, (look) => look * data.every);

  let overview, overviewCopy, history, historyCopy;
  function drawOverview() {
    overview = sheet(find(".overview"));
    const { context, width, height } = overview;
    context.clearRect(0, 0, width, height);
    const bytes = columns(overview, looksAsTimes(whole.looks), whole.sizes);
    hill(overview, bytes, 4, height - 1, mostBytes, colours.queue, true);
    if (pauses.length) {
      const most = columns(overview, pausedCount.times, pausedCount.numbers);
      const colour = colours.causes.length === 1 ? colours.causes[0] : colours.ink;
      hill(overview, most, 4, height - 1, mostPaused, colour, false);
    }
    for (const { end } of flows) {
      if (end <= data.end) strokes(context, colours.flow, 1.5, () => {
        context.moveTo(across(overview, end), height - 7);
        context.lineTo(across(overview, end), height);
      });
    }
    overviewCopy = copyOf(overview);
  }
  function drawHistory() {
    history = sheet(find(".history"));
    const { context, width, height } = history;
    const bottom = height - 18, top = 18;
    context.clearRect(0, 0, width, height);
    for (const pause of chosen.pauses) {
      const from = across(history, pause.start), to = across(history, Math.min(pause.end, data.end));
      context.fillStyle = colours.causes[pause.cause];
      context.globalAlpha = 0.3;
      context.fillRect(from, top, Math.max(to - from, 0.6), bottom - top);
      context.globalAlpha = 1;
      context.fillRect(from, top - 5, Math.max(to - from, 0.6), 4);
    }
    strokes(context, colours.line, 1, () => { context.moveTo(EDGE, bottom); context.lineTo(width - EDGE, bottom); });
    const bytes = columns(history, looksAsTimes(chosen.sum.looks), chosen.sum.sizes);
    hill(history, bytes, top, bottom, chosen.peak, colours.queue, true);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colours.faint;
    const parts = width > 600 ? 5 : 3;
    const step = roundStep(data.end / parts);
    for (let at = 0; at <= data.end; at += step) {
      context.textAlign = at === 0 ? "left" : at > 0.97 * data.end ? "right" : "center";
      context.fillText(at === 0 ? "0" : time(at).replace(/\.?0+ /, " "), across(history, at), height - 4);
    }
    context.textAlign = "left";
    if (data.every) context.fillText(`deepest ${size(chosen.peak)}`, EDGE, 10);
    historyCopy = copyOf(history);
  }

  // Lists of the moment, in lines that stay: only their texts change.
  function lines(list) {
    return Array.from({ length: LINES }, () => {
      const [line, button, rest] = ["li", "button", "span"].map((name) => document.createElement(name));
      button.type = "button";
      line.append(button, rest);
      list.append(line);
      const made = { line, button, rest, port: null };
      button.addEventListener("click", () => { if (made.port) choose(made.port); });
      return made;
    });
  }
  const write = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  function fill(some, rows) {
    some.forEach((line, index) => {
      const row = rows[index];
      line.line.hidden = !row;
      if (!row) return;
      line.port = row.port;
      write(line.button, row.name);
      write(line.rest, row.text);
    });
    const more = some[0].line.parentElement.nextElementSibling;
    write(more, rows.more > LINES ? `and ${(rows.more - LINES).toLocaleString("en")} more` : rows.more ? "" : "none");
  }
  const lists = [".paused", ".deep"].map((what) => lines(find(what)));
  const names = Array.from({ length: LINES }, () => find(".under-way").appendChild(document.createElement("li")));
  const tell = (rows, all) => Object.assign(rows, { more: all });
  function drawLists(state) {
    const { t } = state;
    fill(lists[0], tell(state.paused.slice(0, LINES).map((pause) => ({
      port: pause.port, name: pause.port.name,
      text: `: class ${pause.tag}, ${data.causes[pause.cause][0]}, for ${time(t - pause.start)}`,
    })), state.paused.length));
    const deep = [];
    for (const port of state.waiting) {
      if (deep.length === LINES && bytesOf[port.index] <= bytesOf[deep[LINES - 1].index]) continue;
      let at = deep.length;
      while (at > 0 && bytesOf[deep[at - 1].index] < bytesOf[port.index]) at--;
      deep.splice(at, 0, port);
      deep.length = Math.min(deep.length, LINES);
    }
    const sized = deep.map((port) => ({ port, name: port.name, text: `: ${size(bytesOf[port.index])}` }));
    fill(lists[1], tell(sized, state.waiting.length));
    names.forEach((line, index) => {
      const flow = state.flows[index];
      line.hidden = !flow;
      const end = (node) => (node < 0 ? "?" : data.nodes[node][0]);
      if (!flow) return;
      const ends = `${end(flow.src)} → ${end(flow.dst)}`;
      write(line, `${flow.name}: ${ends}, ${size(flow.bytes)}, for ${time(t - flow.start)}`);
    });
    const more = state.flows.length > LINES ? `and ${(state.flows.length - LINES).toLocaleString("en")} more` : "";
    write(find(".under-way").nextElementSibling, state.flows.length ? more : "none");
  }

  // The port that was clicked.
  let chosen;
  const heads = find(".port h3"), which = find(".which"), rows = find(".pauses tbody");
  function drawPort(state) {
    if (!chosen) return;
    cursor(history, state.t, historyCopy);
    const now = chosen.queues.map((queue) => [queue, depth(queue, state.t)]).filter(([, bytes]) => bytes > 0);
    const parts = now.map(([queue, bytes]) => `${size(bytes)} wait in queue ${queue.number} (class ${queue.tag})`);
    const waits = !data.every ? "queues were not recorded" : parts.length ? parts.join(", ") : "nothing waits";
    const on = chosen.pauses.filter((pause) => isOn(pause, state.t));
    write(find(".state"), `At ${time(state.t)}: ${waits}; ${on.length ? "paused" : "not paused"}.`);
    find(".pauses").hidden = !on.length;
    while (rows.rows.length > on.length) rows.deleteRow(-1);
    on.forEach((pause, index) => {
      const row = rows.rows[index] || rows.insertRow();
      const texts = [
        data.causes[pause.cause][0], pause.tag, pause.queue, data.nodes[chosen.peer][0], time(pause.start),
        pause.end === Infinity ? "the end of the run" : time(pause.end),
      ];
      texts.forEach((text, column) => write(row.cells[column] || row.insertCell(), String(text)));
    });
  }
  function choose(port) {
    chosen = port;
    if (!busy.has(port)) which.add(new Option(port.name, String(port.index)));
    busy.add(port);
    write(heads, port.name);
    which.value = String(port.index);
    drawHistory();
    show(moment);
  }

  // Time.
  const slider = find(".time"), play = find(".play"), speed = find(".speed");
  const step = Math.max(1, Math.min(data.every || Infinity, Math.ceil(data.end / 1000)));
  slider.max = String(Math.ceil(data.end / step));
  let moment = 0;
  function show(t) {
    moment = Math.max(0, Math.min(data.end, t));
    const state = stateAt(moment);
    slider.value = String(Math.round(moment / step));
    slider.setAttribute("aria-valuetext", time(moment));
    write(find(".moment"), `${time(moment)} of ${time(data.end)}`);
    const ports = count(state.waiting.length, "port", "ports");
    const parts = [
      data.every ? `${size(state.total)} wait at ${ports} (at most ${size(mostBytes)})` : "",
      `${count(state.paused.length, "queue", "queues")} paused (at most ${mostPaused.toLocaleString("en")})`,
      flows.length ? `${count(state.flows.length, "flow", "flows")} under way` : "",
      state.failing.length ? `failing: ${state.failing.slice(0, 3).map((fault) => fault.name).join(", ")}${
        state.failing.length > 3 ? ` and ${state.failing.length - 3} more` : ""}` : "",
      flows.length ? `${state.finished.toLocaleString("en")} of ${flows.length.toLocaleString("en")} finished` : "",
    ];
    write(find(".counts"), parts.filter(Boolean).join(" · "));
    cursor(overview, moment, overviewCopy);
    drawMap(state);
    drawLists(state);
    drawPort(state);
  }
  let last = null;
  function frame(now) {
    if (last === null || !root.isConnected) return;
    const next = moment + ((now - last) / 1000) * Number(speed.value);
    last = now;
    show(next);
    if (next >= data.end) stop(); else requestAnimationFrame(frame);
  }
  function stop() {
    last = null;
    play.textContent = "Play";
  }
  function toggle() {
    if (last !== null) return stop();
    if (moment >= data.end) moment = 0;
    play.textContent = "Stop";
    last = performance.now();
    requestAnimationFrame(frame);
  }
  const seek = (t) => { stop(); show(t); };

  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  // About 20 seconds for the whole run, and slower and faster, in round numbers.
  const round = (value) => {
    const power = 10 ** Math.floor(Math.log10(value));
    return power * [1, 2, 5, 10].find((one) => one * power >= value * 0.999);
  };
  const usual = round(data.end / 20);
  for (const factor of [0.01, 0.1, 0.5, 1, 2, 5]) {
    const value = Math.max(1, round(usual * factor));
    speed.add(new Option(`${time(value).replace(/\.?0+ /, " ")} a second`, String(value), factor === 1, factor === 1));
  }
  // Those with something to show, the longest paused and the deepest first.
  const busy = new Set(ports.filter((port) => port.queues.length || port.pauses.length)
    .sort((a, b) => b.paused - a.paused || b.peak - a.peak || a.index - b.index));
  for (const port of busy) which.add(new Option(port.name, String(port.index)));

  play.addEventListener("click", toggle);
  slider.addEventListener("input", () => seek(Number(slider.value) * step));
  which.addEventListener("change", () => choose(ports[Number(which.value)]));
  root.addEventListener("keydown", (event) => {
    if (event.key !== " " || event.target.closest("button, select, summary, a")) return;
    event.preventDefault();
    toggle();
  });
  find(".map").addEventListener("click", (event) => {
    const port = portAt(event.offsetX, event.offsetY);
    if (!port) return;
    choose(port);
    slider.focus({ preventScroll: true });
  });
  find(".map").addEventListener("pointermove", (event) => {
    const port = portAt(event.offsetX, event.offsetY);
    event.target.title = port ? port.name : "";
  });
  for (const [canvas, area] of [[find(".overview"), () => overview], [find(".history"), () => history]]) {
    // As on the slider, which has the same steps.
    const follow = (event) => {
      if (event.buttons & 1) seek(Math.round(momentAt(area(), event.offsetX) / step) * step);
    };
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); follow(event); });
    canvas.addEventListener("pointermove", follow);
  }

  function redraw() {
    dress();
    lay();
    drawBase();
    drawOverview();
    if (chosen) drawHistory();
    show(moment);
  }
  for (const [label, colour] of data.causes) {
    const chip = document.createElement("i"), name = document.createElement("span");
    chip.style.background = colour;
    name.append(chip, ` paused by ${label}`);
    find(".key .flow").parentElement.before(name);
  }
  write(find(".deepest"), data.every ? size(deepest) : "–");
  // What was not recorded has no place.
  for (const what of [".key .queue", ".deep"]) find(what).parentElement.hidden = !data.every;
  for (const what of [".key .flow", ".under-way"]) find(what).parentElement.hidden = !flows.length;
  // It begins where there is most to see.
  const most = pausedCount.numbers.length
    ? pausedCount.times[pausedCount.numbers.indexOf(mostPaused)]
    : (whole.looks[whole.sizes.indexOf(mostBytes)] || 0) * data.every;
  moment = most;
  redraw();
  const candidates = [...busy];
  const first = candidates.find((port) => port.paused && port.peak) || candidates[0];
  if (first) choose(first);
  let width = root.clientWidth;
  new ResizeObserver(() => {
    // A player that is hidden, or was taken out, has no width.
    if (root.clientWidth && root.clientWidth !== width) { width = root.clientWidth; redraw(); }
  }).observe(root);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", function change() {
    if (root.isConnected) redraw(); else scheme.removeEventListener("change", change);
  });
}
