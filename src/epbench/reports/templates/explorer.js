
"use strict";
// Texts reach the page as text nodes only; nothing here builds markup from them.
const OUTCOMES = ["right", "wrong", "failed"];
const BADGES = ["✓ right", "✗ wrong", "! failed"];
const EXPLAINED = ["", "", " – counted neither as right nor as wrong"];
const [ID, OUTCOME, FACETS, QUESTION, REFERENCE, ANSWER, VERDICT, REASON, EVIDENCE, RETRIEVED, TRAILS] = Array(11).keys();
// Of a page of several runs: what each made of a question, and what they made of it together.
const MARKS = ["✓", "✗", "!", "–"], OF_RUN = ["✓ right", "✗ wrong", "! failed", "– not asked"];
const TOGETHER = ["all right", "all wrong", "runs differ", "same answer, other verdict", "failed or not asked in some"];
const [STATE, SCORE, SAID, HOW, WHY, SEEN, STAGES] = Array(7).keys();
const LONG_PARAGRAPH = 1500, AROUND = 350, SEARCH_AFTER = 150;

function element(tag, settings = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// ---- the texts of a question ----

function spansOf(text, marks) {
  const spans = [];
  for (const [where, label, kind] of marks) {
    if (Array.isArray(where)) { spans.push([where[0], where[1], label, kind]); continue; }
    const words = where.trim().split(/\s+/).filter(Boolean).map(w => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    if (!words.length) continue;
    const whole = `(?<![\\p{L}\\p{N}])${words.join("\\s+")}(?![\\p{L}\\p{N}])`;
    for (const hit of text.matchAll(new RegExp(whole, "giu")))
      spans.push([hit.index, hit.index + hit[0].length, label, kind]);
  }
  spans.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  const apart = [];
  for (const span of spans) {
    const last = apart.at(-1);
    if (last && span[0] === last[0] && span[1] === last[1]) {
      if (!last[2].split(", ").includes(span[2])) last[2] += ", " + span[2];
      if (span[3] !== "cue") last[3] = span[3];
    } else if (!last || span[0] >= last[1]) apart.push([...span]);
  }
  return apart;
}

function marked(text, spans, from, to) {
  const shown = element("p", { class: "text-of", dir: "auto" });
  let at = from;
  for (const [start, end, label, kind] of spans) {
    if (end <= from || start >= to) continue;
    const [first, last] = [Math.max(start, from), Math.min(end, to)];
    shown.append(text.slice(at, first));
    shown.append(element("mark", { class: kind }, text.slice(first, last), element("small", {}, label)));
    at = last;
  }
  shown.append(text.slice(at, to));
  return shown;
}

// The paragraphs of a text, and of a very long one what surrounds its marks.
function passages(text, spans) {
  const found = [];
  let from = 0;
  for (const gap of [...text.matchAll(/\n\s*\n/g), { index: text.length, 0: "" }]) {
    const inside = spans.filter(([start, end]) => start < gap.index && end > from);
    if (gap.index - from <= LONG_PARAGRAPH) { if (inside.length) found.push([from, gap.index]); }
    else for (const [start, end] of inside) {
      const piece = [Math.max(from, start - AROUND), Math.min(gap.index, end + AROUND)];
      if (found.length && piece[0] <= found.at(-1)[1]) found.at(-1)[1] = piece[1];
      else found.push(piece);
    }
    from = gap.index + gap[0].length;
  }
  return found;
}

function evidence(data, [source, number, marks]) {
  const text = data.texts[number], spans = spansOf(text, data.marks[marks]), parts = passages(text, spans);
  const shown = element("div", { class: "box" }, element("h5", {}, source));
  for (const [from, to] of parts) {
    const piece = marked(text, spans, from, to);
    if (from > 0 && !/\n\s*$/.test(text.slice(0, from))) piece.prepend("… ");
    if (to < text.length && !/^\s*\n/.test(text.slice(to))) piece.append(" …");
    shown.append(piece);
  }
  if (!parts.length) shown.append(element("p", {}, "None of the marked words stands in this text."));
  if (parts.reduce((sum, [from, to]) => sum + to - from, 0) < text.trim().length) {
    const whole = element("details", {}, element("summary", {}, "The whole text"));
    whole.addEventListener("toggle", () => {  // made when it is wanted: texts may be long
      if (whole.open && whole.children.length === 1) whole.append(marked(text, spans, 0, text.length));
    });
    shown.append(whole);
  }
  return shown;
}

function plain(text) { return element("p", { class: "text-of box", dir: "auto" }, text); }

function badge(outcome) { return element("span", { class: `badge ${OUTCOMES[outcome]}` }, BADGES[outcome]); }

function state(name) {
  const known = { passed: "right", "not passed": "wrong" }[name];
  const sign = { passed: "✓ ", "not passed": "✗ " }[name] ?? "";
  return element("span", { class: `badge ${known ?? ""}` }, sign + name);
}

function trail(data, [title, steps]) {
  const head = element("tr");
  for (const name of ["stage", "outcome", "what was there"]) head.append(element("th", { scope: "col" }, name));
  const table = element("table", {}, element("caption", {}, title), element("thead", {}, head));
  const body = element("tbody");
  for (const [name, result, text, note] of steps) {
    const what = element("td");
    if (text !== null) what.append(element("p", { class: "text-of", dir: "auto" }, data.texts[text]));
    if (note) what.append(element("p", { class: "text-of about", dir: "auto" }, note));
    body.append(element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, state(result)), what));
  }
  table.append(body);
  return element("div", { class: "scroll", role: "group", "aria-label": title, tabindex: "0" }, table);
}

function list(items) {
  const made = element("ol");
  for (const item of items) made.append(element("li", { class: "text-of", dir: "auto" }, item));
  return made;
}

function show(data, card, into) {
  const shown = [];
  const section = (title, ...content) => shown.push(element("h4", {}, title), ...content);
  shown.push(element("h3", {}, ...(data.runs ? [] : [badge(card[OUTCOME]), " "]), card[ID]));
  const facts = element("dl", { class: "facts" });
  data.facets.forEach(([name, values], facet) => facts.append(
    element("div", {}, element("dt", {}, name), element("dd", {}, values[card[FACETS][facet]]))));
  shown.push(facts);
  section("Question", plain(card[QUESTION]));
  const items = card[REFERENCE];
  section("Reference", items.length > 1 ? list(items) : plain(items[0] ?? "nothing"));
  if (data.runs) section("Answers", answers(data, card.number));
  else {
    section("Answer", card[ANSWER] === null ? plain("no answer") : plain(card[ANSWER]));
    section("Verdict", element("p", {}, badge(card[OUTCOME]), EXPLAINED[card[OUTCOME]]));
    if (card[VERDICT]) shown.push(plain(card[VERDICT]));
    if (card[REASON]) section("Why", plain(card[REASON]));
    if (card[TRAILS].length) section("Stage by stage", ...card[TRAILS].map(one => trail(data, one)));
  }
  if (card[EVIDENCE].length) section("Evidence", ...card[EVIDENCE].map(one => evidence(data, one)));
  if (card[RETRIEVED]) section("Retrieved", card[RETRIEVED].length
    ? list(card[RETRIEVED].map(number => data.texts[number])) : plain("nothing was retrieved"));
  into.replaceChildren(...shown);
}

// ---- several runs ----

function stateOf(data, run, number) { return data.runs.of[run][number]?.[STATE] ?? 3; }

function signs(data, number) {
  return data.runs.labels.map((label, run) => {
    const state = stateOf(data, run, number);
    return element("span", { class: `badge ${OUTCOMES[state] ?? ""}`, title: `${label}: ${OF_RUN[state]}` }, MARKS[state], " ");
  });
}

function together(data, number) {
  const states = data.runs.labels.map((_, run) => stateOf(data, run, number));
  if (states.some(state => state > 1)) return 4;
  if (states.every(state => state === states[0])) return states[0];
  const said = new Map(data.runs.labels.map((_, run) => [data.runs.of[run][number][SAID], states[run]]));
  return data.runs.labels.some((_, run) => said.get(data.runs.of[run][number][SAID]) !== states[run]) ? 3 : 2;
}

function answers(data, number) {
  const shown = element("div", { class: "answers" });
  data.runs.labels.forEach((label, run) => {
    const of = data.runs.of[run][number], column = element("section", {}, element("h5", {}, label));
    shown.append(column);
    if (!of) { column.append(element("p", {}, "not asked")); return; }
    column.append(element("p", {}, badge(of[STATE]), EXPLAINED[of[STATE]]));
    column.append(of[SAID] === null ? plain("no answer") : plain(of[SAID]));
    for (const text of [of[HOW], of[WHY]]) if (text) column.append(element("p", { class: "text-of about", dir: "auto" }, text));
    const folded = (title, content) => column.append(element("details", {}, element("summary", {}, title), ...content));
    if (of[STAGES].length) folded("Stage by stage", of[STAGES].map(one => trail(data, one)));
    if (of[SEEN]) folded(`Retrieved (${of[SEEN].length})`, [list(of[SEEN].map(text => data.texts[text]))]);
  });
  return shown;
}

// The exact two-sided sign test: how likely is it that of n questions on which two runs differ so few favour one of them?
function signTest(wins, losses) {
  const n = wins + losses;
  let log = -n * Math.LN2, sum = 0;
  for (let k = 0; k <= Math.min(wins, losses); k++) {
    sum += Math.exp(log);
    log += Math.log((n - k) / (k + 1));
  }
  return Math.min(1, 2 * sum);
}

function paired(data, found, first, second, byOutcome) {
  let [wins, losses, equal, sum] = [0, 0, 0, 0];
  for (const number of found) {
    const [one, other] = [first, second].map(run => data.runs.of[run][number]?.[SCORE] ?? null);
    if (one === null || other === null) continue;
    sum += one - other;
    if (one > other) wins++; else if (one < other) losses++; else equal++;
  }
  const n = wins + losses + equal, left = found.length - n;
  if (!n) return "No question here has an outcome in both runs.";
  const p = signTest(wins, losses), figure = p < 0.001 ? "< 0.001" : `= ${p.toFixed(3)}`;
  return `A is ahead in ${wins.toLocaleString("en")} questions, B in ${losses.toLocaleString("en")}, equal in ` +
    `${equal.toLocaleString("en")}${left ? `; ${left.toLocaleString("en")} have no outcome in one of them` : ""}. ` +
    `Mean of A − B: ${(sum / n).toFixed(3)}. ` + (byOutcome ? "No test: these questions were chosen by their outcomes." :
      `Exact sign test of these questions: p ${figure}; it counts each one by itself and knows of no other test on this page.`);
}

function makePairing(data, room, number, changed) {
  const select = (title, values, chosen) => {
    const made = element("select", { id: `explorer-${number}-${title.replace(/\W+/g, "-")}` });
    values.forEach((value, place) => made.append(element("option", { value: place }, value)));
    made.value = chosen;
    made.addEventListener("change", changed);
    room.append(element("label", { for: made.id }, title, made));
    return () => Number(made.value);
  };
  const [first, second] = [select("A", data.runs.labels, 0), select("B", data.runs.labels, 1)];
  return { first, second, order: select("order", ["as in the dataset", "A ahead of B first", "B ahead of A first"], 0) };
}

function sorted(data, found, pairing) {
  const order = pairing.order();
  if (!order) return found;
  const [better, worse] = order === 1 ? [pairing.first(), pairing.second()] : [pairing.second(), pairing.first()];
  const lead = number => (data.runs.of[better][number]?.[SCORE] ?? 0) - (data.runs.of[worse][number]?.[SCORE] ?? 0);
  const leads = new Map(found.map(number => [number, lead(number)]));
  return found.sort((one, other) => leads.get(other) - leads.get(one) || one - other);
}

// ---- the filters ----

function makeFilters(data, room, number, changed) {
  const collator = new Intl.Collator("en", { numeric: true });
  const filters = data.runs ? [
    ...data.runs.labels.map((label, run) => [label, OF_RUN, card => stateOf(data, run, card.number)]),
    ["together", TOGETHER, card => card.together],
  ] : [["outcome", BADGES, card => card[OUTCOME]]];
  const fixed = filters.length;
  data.facets.forEach(([name, values], facet) => {
    if (values.length > 1) filters.push([name, values, card => card[FACETS][facet]]);
  });
  const made = filters.map(([name, values, of], place) => {
    const select = element("select", { id: `explorer-${number}-filter-${place}` });
    const order = [...values.keys()];
    if (place >= fixed) order.sort((a, b) => collator.compare(values[a], values[b]));
    const options = new Map(order.map(value => [value, element("option", { value })]));
    const all = element("option", { value: "" });
    select.append(all, ...options.values());
    select.addEventListener("change", changed);
    room.append(element("label", { for: select.id }, name, select));
    return { name, values, of, select, all, options };
  });
  const search = element("input", { type: "search", id: `explorer-${number}-search`, autocomplete: "off" });
  let waiting;
  search.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(changed, SEARCH_AFTER); });
  room.append(element("label", { for: search.id, class: "search" }, "words in question, reference, answer, reason", search));
  const clear = element("button", { type: "button" }, "All questions");
  clear.addEventListener("click", () => { made.forEach(one => { one.select.value = ""; }); search.value = ""; changed(); });
  room.append(clear);
  const byOutcome = () => made.slice(0, fixed).some(one => one.select.value !== "");
  return { made, search, byOutcome };
}

let haystacks = new WeakMap();
function haystack(data, card) {
  if (!haystacks.has(card)) {
    const texts = [card[ID], card[QUESTION], ...card[REFERENCE], card[ANSWER] ?? "", card[REASON]];
    for (const of of data.runs?.of ?? []) if (of[card.number]) texts.push(of[card.number][SAID] ?? "", of[card.number][WHY]);
    haystacks.set(card, texts.join("\n").toLowerCase());
  }
  return haystacks.get(card);
}

// The questions that pass all filters; the count beside a value is of those that pass the other filters.
function passing(data, { made, search }) {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = made.map(one => one.select.value === "" ? null : Number(one.select.value));
  const counts = made.map(one => new Array(one.values.length).fill(0));
  const found = [];
  data.questions.forEach((card, number) => {
    if (words.length) {
      const text = haystack(data, card);
      if (!words.every(word => text.includes(word))) return;
    }
    let misses = 0, missed = 0;
    for (let place = 0; place < made.length && misses < 2; place++)
      if (chosen[place] !== null && made[place].of(card) !== chosen[place]) { misses++; missed = place; }
    if (misses === 0) { found.push(number); made.forEach((one, place) => { counts[place][one.of(card)]++; }); }
    else if (misses === 1) counts[missed][made[missed].of(card)]++;
  });
  made.forEach((one, place) => {
    one.all.textContent = `all (${counts[place].reduce((sum, count) => sum + count, 0).toLocaleString("en")})`;
    for (const [value, option] of one.options)
      option.textContent = `${one.values[value]} (${counts[place][value].toLocaleString("en")})`;
  });
  return found;
}

// ---- the list, of which only what is in view is drawn ----

function explorer(section, number) {
  const data = JSON.parse(section.querySelector(".explorer-data").textContent);
  data.questions.forEach((card, number) => { card.number = number; });
  if (data.runs) for (const card of data.questions) card.together = together(data, card.number);
  const [list, article, status] = [".list", ".question", ".status"].map(name => section.querySelector(name));
  const rowOf = () => parseFloat(getComputedStyle(document.documentElement).fontSize) * 3.6;
  const spacer = element("div", { role: "presentation" });
  list.append(spacer);
  let found = [], chosen = 0, drawn = "";

  function option(place) {
    const card = data.questions[found[place]];
    const values = data.facets.map(([, values], facet) => values[card[FACETS][facet]]).filter(
      (_, facet) => data.facets[facet][1].length > 1).join(" · ");
    const made = element("div", {
      class: "option", role: "option", id: `explorer-${number}-option-${place}`, "aria-selected": String(place === chosen),
      "aria-posinset": String(place + 1), "aria-setsize": String(found.length),
    }, element("div", {}, ...(data.runs ? signs(data, card.number) : [badge(card[OUTCOME]), " "]), card[QUESTION]), element("div", { class: "about" }, `${card[ID]} · ${values}`));
    made.style.top = `${place * rowOf()}px`;
    made.addEventListener("click", () => choose(place));
    return made;
  }

  function draw(again = false) {
    const row = rowOf(), first = Math.max(0, Math.floor(list.scrollTop / row) - 5);
    const last = Math.min(found.length, Math.ceil((list.scrollTop + list.clientHeight) / row) + 5);
    if (!again && drawn === `${first} ${last}`) return;
    drawn = `${first} ${last}`;
    spacer.style.height = `${found.length * row}px`;
    const options = [];
    for (let place = first; place < last; place++) options.push(option(place));
    spacer.replaceChildren(...options);
    if (chosen >= first && chosen < last) list.setAttribute("aria-activedescendant", `explorer-${number}-option-${chosen}`);
    else list.removeAttribute("aria-activedescendant");
  }

  function choose(place) {
    if (!found.length) { article.replaceChildren(element("p", {}, "No question passes these filters.")); draw(true); return; }
    chosen = Math.max(0, Math.min(found.length - 1, place));
    const row = rowOf(), top = chosen * row;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + row > list.scrollTop + list.clientHeight) list.scrollTop = top + row - list.clientHeight;
    draw(true);
    show(data, data.questions[found[chosen]], article);
  }

  function changed(fromTop = false) {
    const before = fromTop === true ? undefined : found[chosen];
    found = passing(data, filters);
    status.textContent = `${found.length.toLocaleString("en")} of ${data.questions.length.toLocaleString("en")} questions`;
    if (pairing) {
      status.append(element("br"), paired(data, found, pairing.first(), pairing.second(), filters.byOutcome()));
      found = sorted(data, found, pairing);
    }
    const place = found.indexOf(before);
    if (place < 0) list.scrollTop = 0;
    choose(Math.max(0, place));
  }

  const pairing = data.runs ? makePairing(data, section.querySelector(".filters"), number, () => changed(true)) : null;
  const filters = makeFilters(data, section.querySelector(".filters"), number, changed);
  const page = () => Math.max(1, Math.floor(list.clientHeight / rowOf()) - 1);
  const steps = {
    ArrowDown: () => chosen + 1, ArrowUp: () => chosen - 1, PageDown: () => chosen + page(), PageUp: () => chosen - page(),
    Home: () => 0, End: () => found.length - 1,
  };
  list.addEventListener("keydown", event => {
    if (event.key === "Enter") { article.focus(); event.preventDefault(); }
    else if (steps[event.key] && !event.ctrlKey && !event.altKey && !event.metaKey) {
      choose(steps[event.key]());
      event.preventDefault();
    }
  });
  list.addEventListener("scroll", () => draw());
  new ResizeObserver(() => draw(true)).observe(list);
  changed();
}

document.querySelectorAll("section.explorer").forEach(explorer);
