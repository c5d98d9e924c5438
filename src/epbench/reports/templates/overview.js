
"use strict";
// Texts reach the page as text nodes only; nothing here builds markup from them.
const EVERY = 2000, FACETS_OF_RUNS = ["benchmark", "dataset", "model", "memory", "judge", "state"];
const FIRST = "first score";

function made(tag, settings = {}, ...children) {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) one.setAttribute(name, value);
  one.append(...children);
  return one;
}

function figures([value, low, high, isRange]) {
  if (isRange) return `${low.toFixed(3)} to ${high.toFixed(3)}`;
  if (value === null) return "–";
  return value.toFixed(3) + (low === null ? "" : ` (${low.toFixed(2)}–${high.toFixed(2)})`);
}

function stateWords(run) {
  if (run.state === "finished") return `${run.questions.toLocaleString("en")} questions` + (run.failed ? `, ${run.failed} failed` : "");
  const idle = run.idle === null ? "" : `, the last ${run.idle < 120 ? `${Math.round(run.idle)} s` : `${Math.round(run.idle / 60)} min`} ago`;
  return `${run.state}: ${run.answers.toLocaleString("en")} answers${idle}`;
}

function overview(section) {
  const data = JSON.parse(section.querySelector(".overview-data").textContent);
  const [room, status, table, below] = [".filters", ".status", ".runs", ".comparisons"].map(name => section.querySelector(name));
  const chosen = new Set(), selects = {};
  let runs = data.runs, sort = null, down = true;

  for (const name of FACETS_OF_RUNS) {
    const select = selects[name] = made("select", { id: `filter-${name}` });
    select.addEventListener("change", draw);
    room.append(made("label", { for: select.id }, name, select));
  }
  const search = made("input", { type: "search", id: "filter-words", autocomplete: "off" });
  search.addEventListener("input", draw);
  room.append(made("label", { for: search.id, class: "search" }, "words in the path", search));
  const compare = made("button", { type: "button", disabled: "" }, "Compare the chosen runs");
  compare.addEventListener("click", () => {
    location.href = "compare?" + [...chosen].map(path => `run=${encodeURIComponent(path)}`).join("&");
  });
  if (data.live) room.append(compare);

  function passes(run, but) {
    return FACETS_OF_RUNS.every(name => name === but || selects[name].value === "" || run[name] === selects[name].value)
      && search.value.toLowerCase().split(/\s+/).every(word => run.path.toLowerCase().includes(word));
  }

  function drawFilters() {
    for (const name of FACETS_OF_RUNS) {
      const value = selects[name].value, counts = new Map();
      for (const run of runs) if (passes(run, name)) counts.set(run[name], (counts.get(run[name]) ?? 0) + 1);
      if (value !== "" && !counts.has(value)) counts.set(value, 0);
      const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
      const options = [made("option", { value: "" }, `all (${total})`)];
      for (const of of [...counts.keys()].sort()) options.push(made("option", { value: of }, `${of || "none"} (${counts.get(of)})`));
      selects[name].replaceChildren(...options);
      selects[name].value = value;
    }
  }

  function draw() {
    drawFilters();
    const shown = runs.filter(run => passes(run));
    const several = new Set(shown.map(run => run.benchmark)).size > 1;  // then of each run its first score alone
    const names = several ? [FIRST] : [...new Set(shown.flatMap(run => Object.keys(run.scores)))];
    if (sort && !names.includes(sort)) sort = null;
    const scoreOf = (run, name) => name === FIRST ? Object.values(run.scores)[0] : run.scores[name];
    const textOf = (run, name) => {
      const of = scoreOf(run, name);
      return of ? (name === FIRST ? `${Object.keys(run.scores)[0]} ` : "") + figures(of) : "";
    };
    const worth = run => { const of = scoreOf(run, sort); return of ? of[0] ?? of[1] ?? -1 : -2; };
    if (sort) shown.sort((one, other) => (down ? 1 : -1) * (worth(other) - worth(one)) || (one.path < other.path ? -1 : 1));
    const head = made("tr", {}, ...[...(data.live ? [""] : []), "run", "dataset", "model", "memory", "judge"].map(
      name => made("th", { scope: "col", class: "text" }, name)));
    for (const name of names) {
      const button = made("button", { type: "button" }, name + (sort === name ? (down ? " ▾" : " ▴") : ""));
      button.addEventListener("click", () => { down = sort === name ? !down : true; sort = name; draw(); });
      head.append(made("th", { scope: "col", "aria-sort": sort === name ? (down ? "descending" : "ascending") : "none" }, button));
    }
    head.append(made("th", { scope: "col", class: "text" }, "questions"));
    const body = shown.map(run => {
      const row = made("tr");
      if (data.live) {
        const box = made("input", { type: "checkbox", "aria-label": `choose ${run.path}` });
        box.checked = chosen.has(run.path);
        box.disabled = run.state !== "finished";
        box.addEventListener("change", () => {
          chosen[box.checked ? "add" : "delete"](run.path);
          compare.disabled = chosen.size < 2;
        });
        row.append(made("td", {}, box));
      }
      const address = data.pages[run.path] ?? (data.live && run.has_page ? `run/${encodeURIComponent(run.path)}` : null);
      row.append(made("td", { class: "text" }, address ? made("a", { href: address }, run.path) : run.path));
      for (const name of ["dataset", "model", "memory", "judge"]) row.append(made("td", { class: "text" }, run[name]));
      for (const name of names) row.append(made("td", {}, textOf(run, name)));
      row.append(made("td", { class: "text" }, stateWords(run)));
      return row;
    });
    table.replaceChildren(made("thead", {}, head), made("tbody", {}, ...body));
    status.textContent = `${shown.length} of ${runs.length} runs`;
  }

  const titles = Object.entries(data.comparisons);
  if (titles.length) below.append(made("h2", {}, "Profiles, and runs side by side"), made("ul", {}, ...titles.map(
    ([title, address]) => made("li", {}, made("a", { href: address }, title)))));
  draw();
  async function follow() {
    try {
      const reply = await fetch("runs.json", { cache: "no-store" });
      const news = await reply.json();
      if (JSON.stringify(news) !== JSON.stringify(runs)) { runs = news; draw(); }
    } catch { status.textContent = "The server does not answer; start epbench view again."; }
    setTimeout(follow, EVERY);
  }
  if (data.live) setTimeout(follow, EVERY);
}

document.querySelectorAll("section.overview").forEach(overview);
