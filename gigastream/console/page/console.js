// SPDX-License-Identifier: Apache-2.0
// The page of the console: status once a second, rows as they come, an editor that asks as one types.
"use strict";

const $ = (id) => document.getElementById(id);
const MOST_ROWS = 2000;
const SHOWN_ROWS = 200;
const MOST_LINES = 8;
const COLOURS = ["#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f"];

const watched = { set: null, query: null, source: null, columns: [], numeric: [], times: [], rows: [], lost: 0 };
let before = null;
let plot = null;

// ---- small things ----

async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  try {
    const answer = await fetch(path, options);
    return await answer.json();
  } catch {
    return { ok: false, message: "the console's server does not answer" };
  }
}

function element(name, text, classes) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (classes) made.className = classes;
  return made;
}

function fill(table, head, rows) {
  table.replaceChildren();
  const line = element("tr");
  for (const [title, isNumber] of head) line.append(element("th", title, isNumber ? "number" : ""));
  table.append(line, ...rows);
}

function short(number) {
  for (const unit of ["", "k", "M", "G", "T"]) {
    if (Math.abs(number) < 999.5) return number.toFixed(unit && Math.abs(number) < 99.5 ? 1 : 0) + unit;
    number /= 1000;
  }
  return number.toFixed(0) + "P";
}

const grouped = (number) => Number(number).toLocaleString("en");
const cell = (text, isNumber, bad) => element("td", text, (isNumber ? "number" : "") + (bad ? " bad" : ""));

// ---- status: links, queries, the account ----

async function look() {
  const status = await ask("/api/status");
  $("state").textContent = status.ok ? stateOf(status) : status.message;
  $("state").className = status.ok && status.capture_pid ? "" : "bad";
  if (status.ok && status.report) {
    showLinks(status.report);
    showSets(status);
    before = status.report;
  }
  setTimeout(look, 1000);
}

function stateOf(status) {
  if (!status.capture_pid) return "nothing is read now";
  const report = status.report;
  const sampled = report && report.sampling_shift ? `, 1 in ${1 << report.sampling_shift} flows` : "";
  const again = status.restarts ? `, begun again ${status.restarts} times` : "";
  return `${status.version}, process ${status.capture_pid}${sampled}${again}`;
}

function showLinks(report) {
  const then = before && before.incarnation === report.incarnation ? before : null;
  const seconds = then ? Math.max(0.001, (report.at_ns - then.at_ns) / 1e9) : 1;
  const rows = report.sources.map((source) => {
    const old = then && then.sources.find((other) => other.label === source.label);
    const received = source.read + source.kernel_dropped;
    const rate = old ? Math.max(0, received - old.read - old.kernel_dropped) / seconds : 0;
    const line = element("tr");
    line.append(
      cell(source.label), cell(source.link || "file", false, source.link && source.link !== "up"),
      cell(short(rate), true), cell(grouped(received), true),
      cell(grouped(source.kernel_dropped), true, source.kernel_dropped > 0),
      ...["undecodable", "filtered", "late", "skew", "decoded"].map((name) => cell(grouped(source[name]), true)),
    );
    return line;
  });
  fill($("links"), [
    ["link"], ["state"], ["packets/s", true], ["received", true], ["= dropped", true], ["+ undecodable", true],
    ["+ filtered", true], ["+ late", true], ["+ skew", true], ["+ decoded", true],
  ], rows);
}

function showSets(status) {
  const rows = [];
  for (const set of status.report.sets) {
    for (const query of Object.keys(set.rows)) rows.push(setRow(status, set, query));
  }
  fill($("sets"), [["query"], ["rows", true], ["behind", true], ["lost", true], ["", false]], rows);
}

function setRow(status, set, query) {
  const line = element("tr", undefined, "pick");
  const newest = set.newest_ns[query];
  const isTime = newest !== undefined && Math.abs(newest) < 9e18;
  const behind = set.shed ? "rests" : isTime ? ((status.report.at_ns - newest) / 1e9).toFixed(1) + " s" : "–";
  const lost = set.outputs.reduce((sum, output) => sum + output.lost, 0);
  const name = element("td", `${set.name}.${query}`, set.failure ? "bad" : "");
  name.title = set.failure || "";
  line.append(name, cell(grouped(set.rows[query]), true), cell(behind, true), cell(grouped(lost), true, lost > 0));
  const drop = element("button", "Drop");
  drop.addEventListener("click", async (event) => {
    event.stopPropagation();
    if (!confirm(`Drop ${set.name}?`)) return;
    const answer = await ask("/api/drop", { name: set.name });
    $("said").textContent = answer.message || (answer.ok ? `${set.name} is dropped` : "");
  });
  const last = element("td");
  last.append(drop);
  line.append(last);
  if (set.name === watched.set && query === watched.query) line.classList.add("chosen");
  line.addEventListener("click", () => watch(set.name, query));
  if (watched.query === null) watch(set.name, query);
  return line;
}

// ---- the rows of one query ----

function watch(set, query) {
  if (watched.source) watched.source.close();
  Object.assign(watched, { set, query, columns: [], numeric: [], times: [], rows: [], lost: 0 });
  $("watched").hidden = false;
  $("title").textContent = `${set}.${query}`;
  show();
  const source = new EventSource(`/api/tail?${new URLSearchParams({ query, set })}`);
  watched.source = source;
  source.addEventListener("rows", (event) => take(JSON.parse(event.data)));
  source.addEventListener("refused", (event) => {
    // The browser asks again by itself when a stream ends; here there is nothing to ask for.
    source.close();
    $("lost").hidden = false;
    $("lost").textContent = JSON.parse(event.data).message;
  });
}

function take(came) {
  watched.lost += came.lost;
  if (came.columns.length && came.columns.join() !== watched.columns.join()) {
    Object.assign(watched, { columns: came.columns, numeric: came.numeric, times: came.times });
    offer();
  }
  watched.rows.push(...came.rows);
  watched.rows.splice(0, Math.max(0, watched.rows.length - MOST_ROWS));
  if (came.over) { watched.source.close(); $("title").textContent += " (has ended)"; }
  show();
}

function offer() {
  const numbers = watched.columns.map((name, at) => [name, at]).filter(([, at]) => watched.numeric[at]);
  const values = numbers.filter(([, at]) => at > 0);
  $("value").replaceChildren(...(values.length ? values : numbers).map(([name, at]) => new Option(name, at)));
  const groups = watched.columns.map((name, at) => [name, at]).filter(([, at]) => at > 0 && !watched.numeric[at] && !watched.times[at]);
  $("group").replaceChildren(new Option("nothing", -1), ...groups.map(([name, at]) => new Option(name, at)));
  if (groups.length) $("group").value = String(groups[0][1]);
}

function show() {
  $("lost").hidden = watched.lost === 0;
  $("lost").textContent = `${grouped(watched.lost)} rows were not shown: this page was too slow, or the capture began again`;
  const rows = watched.rows.slice(-SHOWN_ROWS).reverse().map((row) => {
    const line = element("tr");
    row.forEach((value, at) => line.append(cell(value === null ? "" : String(value), watched.numeric[at])));
    return line;
  });
  fill($("rows"), watched.columns.map((name, at) => [name, watched.numeric[at]]), rows);
  chart();
}

// The first column is taken for the window: bare numbers are as they are, timestamps are seconds.
const windowOf = (row) => watched.times[0] ? Date.parse(row[0]) / 1000 : Number(row[0]);

function chart() {
  const value = Number($("value").value), group = Number($("group").value);
  if (plot) { plot.destroy(); plot = null; }
  $("bars").replaceChildren();
  if (!watched.rows.length || $("value").value === "") return;
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
  bars(times[times.length - 1]);
}

function lines(times, greatest) {
  const series = [{}, ...greatest.map(([name], at) => ({ label: name, stroke: COLOURS[at % COLOURS.length], width: 2, points: { show: times.length < 40 } }))];
  const data = [times, ...greatest.map(([, line]) => times.map((at) => line.has(at) ? line.get(at) : null))];
  const colour = getComputedStyle(document.body).color;
  const axis = { stroke: colour, grid: { stroke: "#8883" } };
  const options = { width: Math.max(300, $("chart").clientWidth), height: 220, series, scales: { x: { time: watched.times[0] === true } }, axes: [axis, { ...axis, size: 70 }] };
  plot = new uPlot(options, data, $("chart"));
}

function bars(newest) {
  const value = Number($("value").value), group = Number($("group").value);
  if (group < 0) return;
  const rows = watched.rows.filter((row) => windowOf(row) === newest);
  rows.sort((a, b) => Number(b[value]) - Number(a[value]));
  const most = rows.length ? Number(rows[0][value]) : 0;
  for (const row of rows.slice(0, 10)) {
    const line = element("div", undefined, "bar");
    const bar = element("progress");
    bar.max = most || 1;
    bar.value = Number(row[value]);
    line.append(element("span", String(row[group])), bar, element("span", short(Number(row[value])), "number"));
    $("bars").append(line);
  }
}

$("value").addEventListener("change", chart);
$("group").addEventListener("change", chart);

// ---- the editor ----

let asked = 0;

async function check() {
  const mine = ++asked;
  const answer = await ask("/api/check", { text: $("text").value });
  if (mine !== asked) return;
  $("diagnostics").textContent = answer.ok ? "" : answer.message + (answer.hint ? `\nhint: ${answer.hint}` : "");
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
$("text").addEventListener("input", () => {
  $("add").disabled = true;
  clearTimeout(pause);
  pause = setTimeout(check, 250);
});

$("add").addEventListener("click", async () => {
  $("add").disabled = true;
  $("said").textContent = "compiling …";
  const name = $("name").value;
  const answer = await ask("/api/add", { name, text: $("text").value });
  $("said").textContent = answer.ok ? answer.message || `${name} runs` : "";
  if (!answer.ok) $("diagnostics").textContent = answer.message + (answer.hint ? `\nhint: ${answer.hint}` : "");
  $("add").disabled = false;
});

check();
look();
