"use strict";

// The worker: runs scenarios in the compiled core, one after another. A page that ends the worker ends the run.
//
// Messages in: { module } once, the compiled core; then { number, text } for each run.
// Messages out: { number, progress }, and at the end { number, answer } with summary and tables by name, or with errors;
// or { number, failed } with the message of a core that is of no further use.
let core, number, failure;
const decoder = new TextDecoder(), encoder = new TextEncoder();
const text = (at, length) => decoder.decode(new Uint8Array(core.memory.buffer, at, length));

function ask(work, request) {
  const bytes = encoder.encode(request);
  const at = core.reserve(bytes.length);
  new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
  const length = work();
  return JSON.parse(text(core.answer(), length));
}

const TABLES = ["links", "queues", "samples", "pauses", "flows", "faults", "messages", "collectives"];

function run(document) {
  failure = "";
  try {
    const answer = ask(core.run, document);
    if (answer.errors) return { number, answer };
    const recorded = TABLES.filter((name) => answer.tables.includes(name));
    answer.tables = Object.fromEntries(recorded.map((name) => [name, ask(core.table, name)]));
    return { number, answer };
  } catch (error) {
    return { number, failed: failure || String(error) };
  }
}

onmessage = async ({ data }) => {
  if (data.module) {
    const xoff = {
      now: () => performance.now(),
      progress: (at, length) => postMessage({ number, progress: JSON.parse(text(at, length)) }),
      failed: (at, length) => { failure = text(at, length); },
    };
    core = (await WebAssembly.instantiate(data.module, { xoff })).exports;
    postMessage({ ready: true });
    return;
  }
  number = data.number;
  postMessage(run(data.text));
};
