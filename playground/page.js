"use strict";

// The playground: a scenario, its sliders and its document, runs in a worker, and what came out.
(() => {
  const data = JSON.parse(document.getElementById("playground-data").textContent);
  const find = (what) => document.querySelector(what);
  const make = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };

  // Numbers, as everywhere in xoff.
  const scaled = (value, units, digits) => {
    const [scale, unit] = units.find((one) => Math.abs(value) >= one[0]) || units.at(-1);
    return `${scale > 1 ? (value / scale).toFixed(digits) : Number(value.toPrecision(4))} ${unit}`;
  };
  const time = (ps) => scaled(ps, [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"], [1, "ps"]], 1);
  const KINDS = [
    [/_ps\b/, time],
    [/bytes$/, (value) => scaled(value, [[1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]], 1)],
    [/_bps$/, (value) => scaled(value, [[1e12, "Tb/s"], [1e9, "Gb/s"], [1e6, "Mb/s"], [1, "b/s"]], 1)],
  ];
  const shown = (path, value) => {
    if (value === undefined || value === null) return "–";
    const kind = KINDS.find(([pattern]) => pattern.test(path));
    return kind ? kind[1](value) : Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(2);
  };

  // The core: unpacked once, and given to each worker.
  let compiled;
  async function load() {
    await new Promise((done, refuse) => {
      const script = make("script", { src: "core.js", onload: done, onerror: () => refuse(new Error("core.js is missing")) });
      document.head.append(script);
    });
    const packed = Uint8Array.from(atob(self.XOFF_CORE), (letter) => letter.charCodeAt(0));
    delete self.XOFF_CORE;
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  }

  const source = URL.createObjectURL(new Blob([find("#worker").textContent], { type: "text/javascript" }));
  let worker, isReady, number = 0, running = null, waiting = null;
  function start() {
    isReady = false;
    worker = new Worker(source);
    worker.onmessage = ({ data: message }) => receive(message);
    worker.onerror = (event) => { if (running) finish({ failed: event.message || "the worker did not start" }); };
    worker.postMessage({ module: compiled });
  }
  function receive(message) {
    if (message.ready) {
      isReady = true;
      next();
    } else if (running && message.number === running.number) {
      if (message.progress) progress(message.progress); else finish(message);
    }
  }
  // Asks for a run of a text; a later request takes the place of a waiting one, and ends a long run.
  const LONG_MS = 400;
  function request(text, then) {
    waiting = { text, then };
    if (running && performance.now() - running.since > LONG_MS) restart();
    next();
  }
  function next() {
    if (!compiled || !isReady || running || !waiting) return;
    running = { ...waiting, number: ++number, since: performance.now() };
    waiting = null;
    worker.postMessage({ number, text: running.text });
    busy(true);
  }
  function finish(message) {
    const { then, text, since } = running;
    running = null;
    if (message.failed) {
      worker.terminate();
      start();
    }
    busy(Boolean(waiting));
    try {
      then(message, text, performance.now() - since);
    } finally {
      next();
    }
  }
  function restart() {
    worker.terminate();
    running = null;
    start();
  }
  function stop() {
    if (!running && !waiting) return;
    waiting = null;
    restart();
    busy(false);
    status("Stopped: the run was ended before it had a result.");
  }

  // The state of the page.
  let scenario, given = null, current = null, controls = [];
  const area = find("#document"), run = find("#run"), halt = find("#stop"), bar = find("#progress");
  const status = (text) => { find("#status").textContent = text; };
  let barTimer;
  function busy(is) {
    document.body.classList.toggle("busy", is);
    halt.disabled = !is;
    clearTimeout(barTimer);
    bar.hidden = true;
    bar.removeAttribute("value");
    // A short run needs no bar.
    if (is) barTimer = setTimeout(() => { bar.hidden = false; status("Running …"); }, LONG_MS);
  }
  function progress({ share, simulated_ps: simulated }) {
    bar.value = share;
    if (!bar.hidden) status(`Running: ${Math.floor(share * 100)} %, ${time(simulated)} simulated`);
  }

  // Sliders and lists of choices, each of which stands where the document says.
  function control({ label, keys, values, texts }) {
    const isList = Boolean(texts);
    const name = make("label", { className: "name", textContent: label, htmlFor: `control-${controls.length}` });
    const input = isList
      ? make("select", { id: name.htmlFor }, ...texts.map((text, i) => new Option(text, String(i))))
      : make("input", { id: name.htmlFor, type: "range", min: "0", max: String(values.length - 1), step: "1" });
    const box = make("input", { type: "text", className: "value", spellcheck: false, hidden: isList });
    box.setAttribute("aria-label", `${label}: value`);
    input.title = keys.join(", ");
    const set = (value) => {
      area.value = withValue(area.value, keys, value);
      follow();
      go();
    };
    input.addEventListener("input", () => set(values[Number(input.value)]));
    box.addEventListener("change", () => set(quoted(box.value, values)));
    return {
      row: make("div", { className: isList ? "control list" : "control" }, name, input, box),
      follow() {
        const text = valueOf(area.value, keys[0]);
        const at = values.indexOf(text);
        for (const one of [input, box]) one.disabled = text === undefined;
        if (at >= 0) input.value = String(at);
        else if (isList) input.selectedIndex = -1;
        else input.value = String(nearest(text, values));
        const plain = (text ?? "").replace(/^"(.*)"$/, "$1");
        box.value = text === undefined ? "not there" : plain;
        input.setAttribute("aria-valuetext", plain);
      },
    };
  }
  // A typed value: in quotes where the others are.
  const quoted = (text, values) =>
    (values[0].startsWith('"') ? JSON.stringify(text.trim()) : text.trim() || '""');
  const UNITS = { ps: 1e-6, ns: 1e-3, us: 1, ms: 1e3, s: 1e6, B: 1e-3, KB: 1, MB: 1e3, GB: 1e6, Kbps: 1e-6, Mbps: 1e-3, Gbps: 1 };
  const amount = (text) => {
    const found = /^"?([\d.]+)\s*([A-Za-z]*)"?$/.exec(text ?? "");
    return found ? Number(found[1]) * (UNITS[found[2]] ?? 1) : NaN;
  };
  function nearest(text, values) {
    const wanted = amount(text);
    const far = values.map((value) => Math.abs(amount(value) - wanted));
    return Math.max(0, far.indexOf(Math.min(...far)));
  }
  function follow() {
    for (const one of controls) one.follow();
    find("#reset").disabled = area.value === scenario.toml;
  }
  const go = () => request(area.value, show);

  // Results.
  function show(message, text, ms) {
    const { answer, failed } = message;
    const problems = find("#problems");
    const isGood = answer && !answer.errors;
    problems.hidden = isGood;
    document.body.classList.toggle("stale", !isGood);
    if (failed) {
      // An allocation that fails ends the core, with the first of these messages or with none.
      const isMemory = /capacity overflow|memory|^RuntimeError/.test(failed);
      problems.replaceChildren(make("p", {}, isMemory
        ? "This run needs more memory than a browser gives, 4 GB at most. Save the document, and run it with xoff."
        : `The core has failed, which is a fault of xoff; please report this document. ${failed}`));
      status("");
      return;
    }
    if (answer.errors) {
      problems.replaceChildren(make("p", {}, answer.errors.length > 1 ? "The core refuses these values:" : "The core refuses this value:"),
        make("ul", {}, ...answer.errors.map((error) => {
          const line = make("li", { textContent: error.text });
          if (error.line) line.addEventListener("click", () => select(error.line));
          return line;
        })));
      status("");
      return;
    }
    current = answer;
    if (text === scenario.toml) given = answer;
    numbers();
    verdicts(text);
    times();
    queues();
    replay();
    const { data_packet_hops: all, packet_hops_simulated: hops } = answer.summary.performance;
    const skipped = hops < all ? ` (${(all - hops).toLocaleString("en")} more fast-forwarded)` : "";
    status(`${hops.toLocaleString("en")} packet-hops simulated${skipped} in ${(ms / 1000).toFixed(2)} s`);
  }
  function select(line) {
    const before = area.value.split("\n").slice(0, line - 1).join("\n").length;
    const start = line > 1 ? before + 1 : 0;
    area.focus();
    area.setSelectionRange(start, start + area.value.split("\n")[line - 1].length);
  }

  function numbers() {
    const cells = scenario.figures.map(([label, path]) => {
      const [now, before] = [current, given].map((one) => one && shown(path, numberOf(one, path)));
      return make("div", { className: now === before ? "same" : "changed" },
        make("dt", {}, label), make("dd", {}, make("b", {}, now), make("span", {}, before ? `as given: ${before}` : "")));
    });
    find("#figures").replaceChildren(...cells);
  }

  function verdicts(text) {
    const { fingerprint, audits, warnings, incidents } = current.summary;
    const native = scenario.native.get(text), place = find("#fingerprint");
    place.className = native === undefined ? "" : native === fingerprint ? "equal" : "different";
    const says = native === undefined
      ? ": a native run of this document has the same"
      : native === fingerprint ? ": the same as native" : `: a native run has ${native}; please report this`;
    place.replaceChildren("Fingerprint ", make("code", {}, fingerprint), says);
    const broken = Object.entries(audits).filter(([, state]) => state !== "ok");
    const lines = [
      ...happened(incidents, warnings),
      ...broken.map(([name, state]) => `Audit of ${name}: ${state}`),
    ];
    find("#notes").replaceChildren(...lines.map((line) => make("li", { textContent: line })));
    find("#audits").textContent = broken.length ? "" : `${Object.keys(audits).length} audits passed`;
  }

  // Completion times: a bar for each of a few flows, a curve of many.
  const FEW = 20;
  let timesPlot, queuesPlot;
  function times() {
    const now = completions(current), before = given ? completions(given) : [];
    const isFew = now.length <= FEW;
    const bars = find("#bars"), place = find("#times");
    bars.hidden = !isFew;
    place.hidden = isFew;
    if (timesPlot) { timesPlot.destroy(); timesPlot = null; }
    if (!isFew) {
      timesPlot = draw(place, timesChart(now, before, data.colours));
      return;
    }
    const most = Math.max(1, ...[...now, ...before].map(({ fct }) => fct ?? 0));
    const names = [...new Set(now.map(({ workload }) => workload))];
    const matches = before.length === now.length;
    bars.replaceChildren(...now.map(({ name, workload, fct }, i) => {
      const track = make("span", { className: "track" });
      const old = matches ? before[i].fct : null;
      if (old !== null) {
        const mark = make("i", { className: "before", title: `as given: ${time(old)}` });
        mark.style.width = `${(100 * old) / most}%`;
        track.append(mark);
      }
      const piece = make("i", { className: fct === null ? "now unfinished" : "now" });
      piece.style.width = `${fct === null ? 100 : (100 * fct) / most}%`;
      piece.style.setProperty("--colour", data.colours[names.indexOf(workload) % data.colours.length]);
      track.append(piece);
      return make("div", { title: `${workload}: ${name}` }, make("span", { className: "flow" }, name), track,
        make("span", { className: "took" }, fct === null ? "not completed" : time(fct)));
    }));
  }
  function queues() {
    if (queuesPlot) { queuesPlot.destroy(); queuesPlot = null; }
    const chart = queuesChart(current, data.colours), place = find("#queues");
    find("#queues-part").hidden = !chart;
    if (chart) queuesPlot = draw(place, chart);
  }
  // The replay is made anew once the sliders rest.
  let replayTimer;
  function replay() {
    clearTimeout(replayTimer);
    replayTimer = setTimeout(() => {
      const made = replayData(current, scenario.layout, data.causes);
      const place = find("#replay-place"), old = place.querySelector("#replay");
      find("#replay-part").hidden = !made;
      const section = make("div", { id: "replay" });
      section.append(find("#player").content.cloneNode(true));
      // The height stays, so that nothing below jumps.
      place.style.minHeight = old ? `${place.clientHeight}px` : "";
      place.replaceChildren(section);
      if (made) showReplay(section, made);
      place.style.minHeight = "";
    }, 150);
  }

  // Choosing a scenario.
  function choose(name) {
    scenario = data.scenarios.find((one) => one.name === name) || data.scenarios[0];
    find("#scenario").value = scenario.name;
    history.replaceState(null, "", `#${scenario.name}`);
    find("#about").textContent = scenario.about;
    find("#try").textContent = scenario.try;
    find("#file").textContent = `xoff run ${scenario.name}.toml`;
    if (!scenario.native) {
      scenario.native = new Map([[scenario.toml, scenario.fingerprint]]);
      for (const { keys, values, fingerprints } of scenario.controls) {
        values.forEach((value, i) => scenario.native.set(withValue(scenario.toml, keys, value), fingerprints[i]));
      }
    }
    area.value = scenario.toml;
    given = null;
    controls = [];
    for (const one of scenario.controls) controls.push(control(one));
    find("#controls").replaceChildren(...controls.map(({ row }) => row));
    follow();
    go();
  }
  for (const { name, title } of data.scenarios) find("#scenario").add(new Option(title, name));
  find("#scenario").addEventListener("change", (event) => choose(event.target.value));
  addEventListener("hashchange", () => { if (location.hash.slice(1) !== scenario.name) choose(location.hash.slice(1)); });
  run.addEventListener("click", go);
  halt.addEventListener("click", stop);
  find("#reset").addEventListener("click", () => { area.value = scenario.toml; follow(); go(); });
  area.addEventListener("input", follow);
  area.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go(); });
  const copy = find("#copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(area.value);
    } catch {
      area.select();
      document.execCommand("copy");
    }
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });
  find("#save").addEventListener("click", () => {
    const url = URL.createObjectURL(new Blob([area.value], { type: "application/toml" }));
    make("a", { href: url, download: `${scenario.name}.toml` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
  for (const place of [find("#times"), find("#queues")]) {
    new ResizeObserver(() => {
      const plot = place.id === "times" ? timesPlot : queuesPlot;
      if (plot && place.clientWidth && plot.width !== place.clientWidth) plot.setSize({ width: place.clientWidth, height: plot.height });
    }).observe(place);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const plot of [timesPlot, queuesPlot]) plot?.redraw();
  });

  // The last answer, for tests and for the console of the browser.
  window.playground = { get answer() { return current; }, get scenario() { return scenario; }, causes: data.causes };

  choose(location.hash.slice(1));
  status("Loading the core …");
  load().then((module) => { compiled = module; start(); }, (error) => {
    find("#problems").hidden = false;
    find("#problems").replaceChildren(make("p", {}, `The core could not be loaded: ${error.message}`));
    status("");
  });
})();
