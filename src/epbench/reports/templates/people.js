"use strict";
// Texts reach the page as text nodes only; nothing here builds markup from them. Nothing is sent: the end is a download.
function made(tag, settings = {}, ...children) {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) one.setAttribute(name, value);
  one.append(...children);
  return one;
}

function streamOf(seed) {  // numbers in [0, 1), the same for the same seed
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), seed | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

function shuffled(items, unit) {
  const keyed = items.map(item => [unit(), item]);
  return keyed.sort((one, other) => one[0] - other[0]).map(([, item]) => item);
}

function stepsOf(data, seed) {
  const unit = streamOf(seed), steps = [{ read: "instructions", text: data.instructions }];
  let left = data.per_person;
  for (const [title, text, groups] of shuffled(data.parts, unit)) {
    if (text !== null && left > 0) steps.push({ read: title, text });
    for (const group of shuffled(groups, unit)) {
      for (const [id, ask, shown, choices, mixed] of left > 0 ? group : [])
        steps.push({ id, ask, shown, choices: choices && (mixed ? shuffled(choices, unit) : choices) });
      left -= group.length;
    }
  }
  for (const [id, ask, choices, last] of data.checks) {
    const questions = [...steps.keys()].filter(place => "id" in steps[place]);
    const place = last ? steps.length : questions[Math.floor(unit() * questions.length)];
    steps.splice(place, 0, { id, ask, shown: [], choices: choices.map(text => [text, text]) });
  }
  return steps;
}

function people(section) {
  const data = JSON.parse(section.querySelector(".people-data").textContent), place = `epbench-people-${data.study}`;
  const [status, form] = [".status", ".step"].map(name => section.querySelector(name));
  let state = null, forgets = "";
  try { state = JSON.parse(localStorage.getItem(place)); } catch { state = null; }

  function keep() {
    try { localStorage.setItem(place, JSON.stringify(state)); } catch { forgets = "; do not close this page, your browser keeps nothing"; }
    draw();
  }

  function options(name, choices) {
    return made("div", { class: "choices" }, ...choices.map(([value, text]) => made("label", { class: "choice" },
      made("input", { type: "radio", name, value, required: "" }), made("span", {}, text))));
  }

  function show(title, parts, button, done) {
    const begun = performance.now();
    form.replaceChildren(made("h2", {}, title), ...parts, made("p", {}, made("button", { type: "submit" }, button)));
    form.onsubmit = event => {
      event.preventDefault();
      done(Object.fromEntries(new FormData(form)), Math.round(performance.now() - begun));
      scrollTo(0, 0);
    };
  }

  function next(record) {
    state.records.push({ ...record, at: new Date().toISOString() });
    keep();
  }

  function consent() {
    const now = new Date().toISOString(), asked = data.about.map(({ id, ask, kind, choices }) => made("fieldset", {},
      made("legend", {}, ask), kind === "choice" ? options(id, choices.map(text => [text, text]))
        : made("input", { type: "date", name: id, required: "", max: now.slice(0, 10), "aria-label": ask })));
    const box = made("label", { class: "choice" }, made("input", { type: "checkbox", name: "agree", required: "" }), made("span", {}, data.agree));
    show("Before you begin", [made("div", { class: "text-of" }, data.consent), box, ...asked], "Begin", ({ agree, ...about }) => {
      const [seed, ...more] = crypto.getRandomValues(new Uint32Array(5));
      state = { session: more.map(number => number.toString(16)).join("-"), seed, started: now, about, records: [] };
      keep();
    });
  }

  function ended() {
    const { records, ...head } = state, finished = records.at(-1).at;
    const rows = [{ study: data.study, kind: data.kind, ...data.of, ...head, finished, consent: data.agree }, ...records];
    const file = new Blob(rows.map(row => JSON.stringify(row) + "\n"), { type: "application/jsonl" });
    const name = `answers-${state.session.slice(0, 8)}.jsonl`;
    form.replaceChildren(made("h2", {}, "Thank you"), made("p", {}, "Please download this file and give it to whoever gave you this page."),
      made("p", {}, made("a", { class: "download", href: URL.createObjectURL(file), download: name }, name)));
  }

  function draw() {
    const steps = state ? stepsOf(data, state.seed) : [], count = some => some.filter(step => "id" in step).length;
    const at = state ? state.records.length : 0, step = steps[at];
    status.textContent = state ? `${count(steps.slice(0, at))} of ${count(steps)} questions answered${forgets}` : "";
    if (!state) consent();
    else if (!step) ended();
    else if ("read" in step) {
      const title = at ? step.read : "What you do";
      show(title, [made("div", { class: "text-of" }, step.text)], at ? "I have read it" : "Go on", (_, ms) => next({ read: step.read, ms }));
    } else {
      const shown = step.shown.flatMap(([title, text]) => [made("h3", {}, title), made("div", { class: "text-of box" }, text)]);
      const field = step.choices ? options("answer", step.choices)
        : made("textarea", { name: "answer", rows: "6", cols: "60", required: "", "aria-label": step.ask });
      const order = step.choices && step.choices.map(([value]) => value);
      show(step.ask, [...shown, field], "Next", ({ answer }, ms) => next({ id: step.id, answer, order, ms }));
    }
  }

  draw();
}

document.querySelectorAll("section.people").forEach(people);
