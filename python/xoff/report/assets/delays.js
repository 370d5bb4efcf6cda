"use strict";

// Trees of pauses: a click on a place shows on the map which ports were paused from there.
{
  const section = document.getElementById("delays");
  const figure = section.querySelector(".trees");
  const buttons = [...section.querySelectorAll(".roots button")];
  const links = [...figure.querySelectorAll("path[data-rows]")].map((path) => ({ path, rows: path.dataset.rows.split(" ") }));
  const show = (chosen) => {
    for (const one of buttons) one.setAttribute("aria-pressed", String(one === chosen));
    const root = chosen ? chosen.dataset.root : "";
    const ports = new Set(chosen ? chosen.dataset.ports.split(" ") : []);
    for (const { path, rows } of links) {
      const isRoot = root !== "" && rows.includes(root);
      path.classList.toggle("root", isRoot);
      path.classList.toggle("spread", !isRoot && rows.some((row) => ports.has(row)));
    }
    figure.hidden = !chosen || links.length === 0;
  };
  // A link leads to its port in the replay, a flow to its bar, which opens.
  const which = document.querySelector("#replay .which");
  for (const { path, rows } of links) {
    path.addEventListener("click", () => {
      // Those at which something waited or was paused can be chosen there.
      const known = which ? rows.find((row) => [...which.options].some((option) => option.value === row)) : undefined;
      if (known === undefined) return;
      which.value = known;
      which.dispatchEvent(new Event("change"));
      which.scrollIntoView({ block: "center" });
    });
  }
  for (const link of section.querySelectorAll(".roots a")) {
    link.addEventListener("click", () => (document.querySelector(link.getAttribute("href")).open = true));
  }
  for (const button of buttons) {
    button.addEventListener("click", () => show(button.getAttribute("aria-pressed") === "true" ? null : button));
  }
}
