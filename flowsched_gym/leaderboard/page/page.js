"use strict";
const all = (selector, from = document) => [...from.querySelectorAll(selector)];

const valueOf = (row, column) => {
  const cell = row.cells[column];
  const text = (cell.dataset.value ?? cell.textContent).trim().split(" [")[0];
  const number = Number(text);
  return { text, number, empty: text === "", numeric: text !== "" && !Number.isNaN(number) };
};

const sort = (table, head, column) => {
  const first = head.cellIndex === 0 ? "ascending" : "descending";
  const turned = { ascending: "descending", descending: "ascending" };
  const order = head.ariaSort ? turned[head.ariaSort] : first;
  all("th", table.tHead).forEach((each) => each.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const rows = all("tbody tr", table).map((row) => ({ row, ...valueOf(row, column) }));
  rows.sort((a, b) => {
    if (a.empty || b.empty) return a.empty - b.empty;
    return sign * (a.numeric && b.numeric ? a.number - b.number : a.text.localeCompare(b.text));
  });
  table.tBodies[0].append(...rows.map(({ row }) => row));
};

for (const table of all("table")) {
  all("thead th", table).forEach((head, column) => {
    if (!head.textContent) return;
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => sort(table, head, column));
  });
}

const environment = document.getElementById("environment");
const agents = document.getElementById("agents");
const filter = () => {
  let shown = 0;
  for (const each of all("[data-environment]")) {
    const fits = !environment.value || each.dataset.environment === environment.value;
    each.hidden = !(fits && (!agents.checked || each.dataset.learned === "1"));
    shown += each.tagName === "SECTION" && !each.hidden;
  }
  document.getElementById("shown").textContent = `${shown} settings`;
};
environment.addEventListener("change", filter);
agents.addEventListener("change", filter);
document.getElementById("filters").hidden = false;
filter();

for (const film of all(".film")) {
  // Where a section was hidden and is shown again, its animation is another one.
  const passing = () => film.querySelector(".sweep").getAnimations()[0];
  if (!passing()) continue;
  const { duration } = passing().effect.getTiming();
  const bar = document.createElement("div");
  const button = document.createElement("button");
  const time = document.createElement("input");
  Object.assign(time, { type: "range", max: duration, ariaLabel: "time" });
  const show = () => {
    button.textContent = passing().playState === "paused" ? "Play" : "Stop";
    time.value = passing().currentTime % duration;
  };
  button.addEventListener("click", () => {
    passing()[passing().playState === "paused" ? "play" : "pause"]();
    show();
  });
  time.addEventListener("input", () => {
    const at = Number(time.value);
    passing().pause();
    passing().currentTime = at;
    show();
  });
  setInterval(() => passing()?.playState === "running" && show(), 250);
  bar.append(button, time);
  film.querySelector("svg").after(bar);
  show();
}
