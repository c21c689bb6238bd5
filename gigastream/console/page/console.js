// SPDX-License-Identifier: Apache-2.0
// The page of the console: status once a second, rows as they come, an editor that asks as one types.
"use strict";

const $ = (id) => document.getElementById(id);
const MOST_ROWS = 2000;
const SHOWN_ROWS = 200;
const MOST_LINES = 8;
const MOST_BARS = 10;
const ALONE = 10;
const TICKS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400];
const LOOK_MS = 1000;
const AGAIN_MS = 2000;
const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.(\d{9})Z$/;
const COLOURS = ["#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f"];

// `wanted` is the set that was added here: its first query is shown as soon as the status has it.
const watched = { set: null, query: null, source: null, triedAt: 0, wanted: null };
let before = null;
let shownQueries = [];
let plot = null;

// ---- who asks ----

// The token comes with the address and stays in this tab: a cookie would go to other ports, too.
function enter() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return;
  sessionStorage.setItem("token", token);
  history.replaceState(null, "", location.pathname);
}

const permitted = () => ({ Authorization: `Bearer ${sessionStorage.getItem("token") || ""}` });

addEventListener("hashchange", () => {
  enter();
  check();
});

// ---- small things ----

async function ask(path, body) {
  const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  try {
    const answer = await fetch(path, { ...sent, headers: permitted() });
    return await answer.json();
  } catch {
    return { ok: false, message: "the console's server does not answer", hint: "gigastream console" };
  }
}

const told = (answer) => (answer.message || "") + (answer.hint ? `\nhint: ${answer.hint}` : "");

function element(name, text, classes) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (classes) made.className = classes;
  return made;
}

function fill(table, head, rows) {
  table.replaceChildren();
  if (!head.length) return;
  const line = element("tr");
  for (const [title, isNumber] of head) line.append(element("th", title, isNumber ? "number" : ""));
  table.append(line, ...rows);
}

// What changes each second is changed in its place: a click is not lost when its row is made anew.
function refresh(table, head, rows) {
  const shape = JSON.stringify([head, rows.length]);
  if (table.dataset.shape !== shape) {
    table.dataset.shape = shape;
    fill(table, head, rows.map(() => {
      const line = element("tr");
      line.append(...head.map(() => element("td")));
      return line;
    }));
  }
  rows.forEach((cells, at) => cells.forEach(([text, classes], column) => {
    const place = table.rows[at + 1].cells[column];
    if (place.textContent !== text) place.textContent = text;
    if (place.className !== classes) place.className = classes;
  }));
}

function short(number) {
  for (const unit of ["", "k", "M", "G", "T"]) {
    if (Math.abs(number) < 999.5) return number.toFixed(unit && Math.abs(number) < 99.5 ? 1 : 0) + unit;
    number /= 1000;
  }
  return number.toFixed(0) + "P";
}

const grouped = (number) => Number(number).toLocaleString("en");
const text = (shown, bad) => [shown, bad ? "bad" : ""];
const count = (number, bad) => [grouped(number), bad ? "number bad" : "number"];
const cell = (shown) => element("td", shown);

// ---- status: links, queries, the account ----

async function look() {
  try {
    showStatus(await ask("/api/status"));
  } finally {
    setTimeout(look, LOOK_MS);
  }
}

function showStatus(status) {
  const isRead = status.ok && status.capture_pid !== null;
  $("state").textContent = status.ok ? stateOf(status) : told(status);
  $("state").className = isRead ? "" : "bad";
  $("notices").textContent = status.ok ? newsOf(status) : "";
  document.body.classList.toggle("stale", !isRead);
  if (status.ok && status.report) {
    const report = inTotal(status);
    showLinks(report);
    showSets(report);
    before = report;
  }
}

// Counters since the daemon began, over all capture processes; the rest is of the process of now.
function inTotal(status) {
  const { report, sources, set_totals: sets } = status;
  return { ...report, sources: sources.length ? sources : report.sources, sets: sets.length ? sets : report.sets };
}

function stateOf(status) {
  const again = status.restarts ? `, begun again ${status.restarts} times` : "";
  if (status.capture_pid === null) return `nothing is read now${again}`;
  const report = status.report;
  const sampled = report && report.sampling_shift ? `, 1 in ${2 ** report.sampling_shift} flows` : "";
  return `${status.version}, process ${status.capture_pid}${sampled}${again}`;
}

function newsOf(status) {
  const losses = status.losses.slice(-3).map((loss) => {
    const packets = Object.entries(loss.packets).map(([name, number]) => `${grouped(number)} packets of ${name}`);
    const away = (loss.away_ns / 1e9).toFixed(1);
    return `a crash (${loss.reason}) took ${packets.join(", ") || "no packet"}, ${away} s away`;
  });
  return [...losses, ...status.notices.slice(-3)].join("\n");
}

// What was received is the sum of the columns behind it.
const ACCOUNT = {
  kernel_dropped: "dropped", undecodable: "undecodable", filtered: "filtered", late: "late", skew: "skew",
  sampled_out: "sampled out", decoded: "decoded",
};

function showLinks(report) {
  const then = before && before.incarnation === report.incarnation ? before : null;
  const seconds = then ? Math.max(0.001, (report.at_ns - then.at_ns) / 1e9) : 1;
  const rows = report.sources.map((source) => {
    const old = then && then.sources.find((other) => other.label === source.label);
    const received = source.read + source.kernel_dropped;
    const rate = old ? Math.max(0, received - old.read - old.kernel_dropped) / seconds : 0;
    return [
      text(source.label), text(source.link || (source.interface.startsWith("STREAM ") ? "stream" : "file"), source.link && source.link !== "up"),
      [short(rate), "number"], count(received),
      ...Object.keys(ACCOUNT).map((name) => count(source[name], name === "kernel_dropped" && source[name] > 0)),
    ];
  });
  const terms = Object.values(ACCOUNT).map((name, at) => [`${at ? "+" : "="} ${name}`, true]);
  refresh($("links"), [["link"], ["state"], ["packets/s", true], ["received", true], ...terms], rows);
}

function showSets(report) {
  shownQueries = report.sets.flatMap((set) => Object.keys(set.rows).map((query) => ({ set: set.name, query })));
  const rows = report.sets.flatMap((set) => Object.keys(set.rows).map((query) => setRow(report, set, query)));
  const table = $("sets");
  refresh(table, [["query"], ["rows", true], ["behind", true], ["lost", true], [""]], rows);
  shownQueries.forEach(({ set, query }, at) => {
    const line = table.rows[at + 1];
    line.classList.add("pick");
    line.classList.toggle("chosen", set === watched.set && query === watched.query);
    if (!line.cells[4].firstChild) line.cells[4].append(element("button", "Drop"));
    line.title = report.sets.find((one) => one.name === set).failure || "";
  });
  $("none").hidden = shownQueries.length > 0;
  choose();
}

function setRow(report, set, query) {
  const newest = set.newest_ns[query];
  const isTime = newest !== undefined && Math.abs(newest) < 9e18;
  const behind = isTime ? `${((report.at_ns - newest) / 1e9).toFixed(1)} s` : "–";
  const lost = set.outputs.reduce((sum, output) => sum + output.lost, 0);
  return [
    text(`${set.name}.${query}`, set.failure), count(set.rows[query]),
    [set.failure ? "failed" : set.shed ? "rests" : behind, "number"], count(lost, lost > 0),
  ];
}

// Which rows are shown: those that were asked for, else the first; and again when they had ended.
function choose() {
  const added = shownQueries.find(({ set }) => set === watched.wanted);
  const shown = shownQueries.find(({ set, query }) => set === watched.set && query === watched.query);
  if (added) {
    watched.wanted = null;
    watch(added.set, added.query);
  } else if (watched.query === null && shownQueries.length) {
    watch(shownQueries[0].set, shownQueries[0].query);
  } else if (!shown && watched.query !== null) {
    $("title").textContent = `${watched.set}.${watched.query} (has ended)`;
  } else if (shown && isOver() && Date.now() - watched.triedAt > AGAIN_MS) {
    follow();
  }
}

$("sets").addEventListener("click", (event) => {
  const line = event.target.closest("tr.pick");
  const picked = line && shownQueries[line.rowIndex - 1];
  if (!picked) return;
  if (event.target.closest("button")) drop(picked.set);
  else watch(picked.set, picked.query);
});

async function drop(set) {
  if (!confirm(`Drop ${set}? Its open windows are answered.`)) return;
  const answer = await ask("/api/drop", { name: set });
  $("said").textContent = told(answer) || `${set} is dropped`;
}

// ---- the rows of one query ----

function watch(set, query) {
  Object.assign(watched, { set, query, columns: [], numeric: [], times: [], rows: [], lost: 0, refusal: "" });
  $("watched").hidden = false;
  follow();
  show();
}

const isOver = () => watched.source === null;

// Rows that have come stay while the daemon is away; what comes afterwards is put behind them.
function follow() {
  leave();
  $("title").textContent = `${watched.set}.${watched.query}`;
  watched.triedAt = Date.now();
  const source = new AbortController();
  watched.source = source;
  read(source, `/api/tail?${new URLSearchParams({ query: watched.query, set: watched.set })}`);
}

// Events of a stream, as EventSource would read them if it could show the token. `choose` asks again.
async function read(source, path) {
  try {
    const answer = await fetch(path, { headers: permitted(), signal: source.signal });
    if (!answer.ok) return refuse(source, await answer.json());
    const texts = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (let part = await texts.read(); !part.done; part = await texts.read()) {
      const events = (rest + part.value).split("\n\n");
      rest = events.pop();
      for (const event of events) heed(source, event);
    }
  } catch {
    // It was left, or the server has gone, which the status tells.
  }
  if (source === watched.source) leave();
}

function heed(source, event) {
  const [name, data] = event.split("\n").map((line) => line.slice(line.indexOf(": ") + 2));
  if (source !== watched.source) return;
  if (name === "rows") take(JSON.parse(data));
  else refuse(source, JSON.parse(data));
}

function refuse(source, answer) {
  if (source !== watched.source) return;
  leave();
  watched.refusal = told(answer);
  warn();
}

function leave() {
  if (watched.source) watched.source.abort();
  watched.source = null;
}

function take(came) {
  watched.lost += came.lost;
  watched.refusal = "";
  if (came.columns.length && came.columns.join() !== watched.columns.join()) {
    Object.assign(watched, { columns: came.columns, numeric: came.numeric, times: came.times, rows: [] });
    offer();
  }
  keep(came.rows);
  if (came.over) leave();
  show();
}

// The oldest window is shown whole or not at all.
function keep(rows) {
  watched.rows.push(...rows);
  const over = watched.rows.length - MOST_ROWS;
  if (over <= 0) return;
  const cut = windowOf(watched.rows[over - 1]);
  watched.rows.splice(0, over);
  const whole = watched.rows.findIndex((row) => windowOf(row) !== cut);
  if (whole > 0 && hasWindows()) watched.rows.splice(0, whole);
}

function offer() {
  const named = watched.columns.map((name, at) => [name, at]).filter(([, at]) => at !== windowAt());
  const values = named.filter(([, at]) => watched.numeric[at]);
  const groups = named.filter(([, at]) => !watched.times[at]);
  $("value").replaceChildren(...values.map(([name, at]) => new Option(name, at)));
  $("group").replaceChildren(new Option("nothing", -1), ...groups.map(([name, at]) => new Option(name, at)));
  if (values.length) $("value").value = String(values[values.length - 1][1]);
  const best = groups.find(([, at]) => !watched.numeric[at]);
  if (best) $("group").value = String(best[1]);
}

function warn() {
  const lost = `${grouped(watched.lost)} rows were not shown: this page was too slow, or the capture began again`;
  $("lost").textContent = watched.refusal || (watched.lost ? lost : "");
  $("lost").hidden = !$("lost").textContent;
  $("waiting").hidden = watched.rows.length > 0 || watched.refusal !== "";
}

// The newest window first, its rows in their order.
function newestFirst(rows) {
  const windows = [];
  for (const row of rows) {
    const last = windows[windows.length - 1];
    if (last && hasWindows() && windowOf(last[0]) === windowOf(row)) last.push(row);
    else windows.push([row]);
  }
  return windows.reverse().flat();
}

function show() {
  warn();
  const newest = newestFirst(watched.rows.slice(-SHOWN_ROWS));
  const shorten = shortTimes(newest);
  const rows = newest.map((row) => {
    const line = element("tr");
    row.forEach((value, at) => {
      const shown = value === null ? "" : watched.times[at] ? shorten(String(value)) : String(value);
      line.append(element("td", shown, watched.numeric[at] ? "number" : watched.times[at] ? "time" : ""));
    });
    return line;
  });
  fill($("rows"), watched.columns.map((name, at) => [name, watched.numeric[at]]), rows);
  chart();
}

// `09:08:00` below the day, which stands in every cell where there are two; fractions in threes of digits.
function shortTimes(rows) {
  const times = rows.flatMap((row) => row.filter((_, at) => watched.times[at]).map((value) => TIME.exec(value)));
  const known = times.filter((found) => found);
  const days = new Set(known.map((found) => found[1]));
  const needed = Math.max(0, ...known.map((found) => found[3].replace(/0+$/, "").length));
  const digits = 3 * Math.ceil(needed / 3);
  $("day").textContent = days.size === 1 ? `${[...days][0]} UTC` : "";
  return (value) => {
    const found = TIME.exec(value);
    if (!found) return value;
    const clock = found[2] + (digits ? `.${found[3].slice(0, digits)}` : "");
    return days.size === 1 ? clock : `${found[1]} ${clock}`;
  };
}

// ---- its charts ----

// The window: the first column that is a time, or else the first one, if it is a number.
function windowAt() {
  const time = watched.times.indexOf(true);
  return time >= 0 ? time : watched.numeric[0] ? 0 : -1;
}

const hasWindows = () => windowAt() >= 0;

// Bare numbers are as they are; timestamps become seconds, of whose fraction a Date knows the thousandths.
function windowOf(row) {
  const at = windowAt();
  if (at < 0) return 0;
  return watched.times[at] ? Date.parse(String(row[at]).replace(/(\.\d{3})\d*/, "$1")) / 1000 : Number(row[at]);
}

const chosen = (id) => $(id).value === "" ? -1 : Number($(id).value);

function chart() {
  if (plot) { plot.destroy(); plot = null; }
  $("bars").replaceChildren();
  const value = chosen("value"), group = chosen("group");
  if (!watched.rows.length || value < 0 || !hasWindows()) return;
  const sums = new Map(), windows = new Set();
  for (const row of watched.rows) {
    const at = windowOf(row), name = group < 0 ? watched.columns[value] : String(row[group]);
    windows.add(at);
    if (!sums.has(name)) sums.set(name, new Map());
    const line = sums.get(name);
    line.set(at, (line.get(at) || 0) + Number(row[value]));
  }
  const times = [...windows].sort((a, b) => a - b);
  const total = (line) => [...line.values()].reduce((sum, one) => sum + one, 0);
  const greatest = [...sums].sort((a, b) => total(b[1]) - total(a[1])).slice(0, MOST_LINES);
  lines(times, greatest);
  if (group >= 0) bars(sums, times[times.length - 1]);
}

// In UTC, as the rows have it.
const clockOf = (seconds) => new Date(seconds * 1000).toISOString().slice(11, 19);

// A window alone stands in the middle; left to itself, uPlot would show the years behind it.
const rangeOf = (times) => times.length > 1 ? {} : { range: [times[0] - ALONE, times[0] + ALONE] };

function lines(times, greatest) {
  const points = { show: times.length < 40 };
  const series = greatest.map(([name], at) => ({ label: name, stroke: COLOURS[at % COLOURS.length], width: 2, points }));
  const data = [times, ...greatest.map(([, line]) => times.map((at) => line.has(at) ? line.get(at) : null))];
  const isTime = watched.times[windowAt()];
  const axis = { stroke: getComputedStyle(document.body).color, grid: { stroke: "#8883" } };
  const options = {
    width: Math.max(300, $("chart").clientWidth), height: 220, padding: [null, 32, null, null],
    series: [{ label: watched.columns[windowAt()] }, ...series],
    scales: { x: { time: isTime, ...rangeOf(times) } },
    axes: [isTime ? { ...axis, incrs: TICKS_S, space: 80, values: (_, at) => at.map(clockOf) }
      : { ...axis, space: 110, values: (_, at) => at.map(String) },
      { ...axis, size: 60, values: (_, at) => at.map(short) }],
    legend: { live: false },
  };
  plot = new uPlot(options, data, $("chart"));
}

function bars(sums, newest) {
  const of = [...sums].filter(([, line]) => line.has(newest)).map(([name, line]) => [name, line.get(newest)]);
  of.sort((a, b) => b[1] - a[1]);
  for (const [name, sum] of of.slice(0, MOST_BARS)) {
    const line = element("div", undefined, "bar");
    const bar = element("progress");
    bar.max = of[0][1] || 1;
    bar.value = sum;
    line.append(element("span", name), bar, element("span", short(sum), "number"));
    $("bars").append(line);
  }
}

$("value").addEventListener("change", chart);
$("group").addEventListener("change", chart);
addEventListener("resize", () => { if (plot) plot.setSize({ width: Math.max(300, $("chart").clientWidth), height: 220 }); });

// ---- the editor ----

let asked = 0;

// `port=443 least=2`, as `gigastream run -p` has them one by one.
function parameters() {
  const words = $("parameters").value.split(/\s+/).filter((word) => word.includes("="));
  return Object.fromEntries(words.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]));
}

async function check() {
  const mine = ++asked;
  const answer = await ask("/api/check", { text: $("text").value, parameters: parameters() });
  if (mine !== asked) return;
  $("diagnostics").textContent = answer.ok ? "" : told(answer);
  $("add").disabled = !answer.ok;
  $("explain").textContent = answer.explain || "";
  const rows = [];
  for (const [query, columns] of Object.entries(answer.columns || {})) {
    for (const column of columns) {
      const line = element("tr");
      line.append(cell(query), cell(column.name), cell(column.type));
      rows.push(line);
    }
  }
  fill($("columns"), rows.length ? [["query"], ["column"], ["type"]] : [], rows);
}

let pause = null;
for (const id of ["text", "parameters"]) {
  $(id).addEventListener("input", () => {
    $("add").disabled = true;
    ++asked; // what is on its way is about another text
    clearTimeout(pause);
    pause = setTimeout(check, 250);
  });
}

$("add").addEventListener("click", async () => {
  $("add").disabled = true;
  $("said").textContent = "compiling …";
  const name = $("name").value.trim();
  const answer = await ask("/api/add", { name, text: $("text").value, parameters: parameters() });
  $("said").textContent = answer.ok ? answer.message || `${name} runs` : "";
  if (answer.ok) watched.wanted = name;
  else $("diagnostics").textContent = told(answer);
  $("add").disabled = false;
});

enter();
check();
look();
