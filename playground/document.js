"use strict";

// The values in a TOML document: where the value of a key stands, so that a slider changes it and nothing else.

// Returns start and end of the value of each key that stands on a line of its own, by the path of the key as the core
// writes it: `workload[0].incast.size`.
function places(text) {
  const found = new Map(), counts = new Map();
  let table = "", at = 0;
  for (const line of text.split("\n")) {
    const head = /^\s*\[(\[?)\s*([\w.-]+)\s*\]/.exec(line);
    const pair = /^\s*([\w.-]+)\s*=\s*/.exec(line);
    if (head) {
      const [, isList, name] = head;
      if (isList) counts.set(name, (counts.get(name) ?? -1) + 1);
      // A part that names a list means the last table of the list.
      const parts = name.split(".");
      table = parts.map((part, i) => {
        const list = parts.slice(0, i + 1).join(".");
        return counts.has(list) ? `${part}[${counts.get(list)}]` : part;
      }).join(".") + ".";
    } else if (pair) {
      const value = /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'#])*/.exec(line.slice(pair[0].length))[0].trimEnd();
      const start = at + pair[0].length;
      found.set(table + pair[1], [start, start + value.length]);
    }
    at += line.length + 1;
  }
  return found;
}

// Returns the text of a value; undefined for a key that does not stand on a line of its own.
function valueOf(text, key) {
  const place = places(text).get(key);
  return place && text.slice(...place);
}

// Returns the document with the same value at all keys.
function withValue(text, keys, value) {
  for (const key of keys) {
    const place = places(text).get(key);
    if (place) text = text.slice(0, place[0]) + value + text.slice(place[1]);
  }
  return text;
}
