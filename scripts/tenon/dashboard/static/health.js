// Health: what waits, what was spent, how the prompt cache does, what the proxy takes, how the store grows, what went wrong.

import { ago, counted, el, empty, facts, failure, folded, link, number, section, size, table, tag, when } from "./kit.js";
import { gauge, plot } from "./plot.js";

const STYLES = { ok: "good", warn: "warn", fail: "bad" };
const LEVELS = { "": ["good", "low"], moderate: ["warn", "moderate"], high: ["bad", "high"] };
const STATES = { traced: "with past sessions in front", plain: "relayed as they come", bypassed: "left alone after a refusal", announced: "announced, no request yet" };

/** Draws the page; doctor's findings come when they are there. */
export function show(main, data, page) {
  if (data.empty) return main.append(empty(data.empty));
  const findings = section("What doctor finds", el("p", { class: "faint", role: "status" }, "`tenon doctor` is looking …"));
  main.append(
    glance(data),
    el("div", { class: "plots" }, spent(data.spending), cache(data.cache, page), latency(data.latency), grown(data.growth)),
    findings, errors(data), sessions(data.sessions, page), rows(data),
  );
  return doctor(findings, page);
}

function glance(data) {
  const { pressure, spending, cache, growth, proxy, faults } = data;
  const [style, level] = LEVELS[pressure.level];
  const way = pressure.level && !pressure.auto ? " `tenon digest` or /memory-digest works them off." : "";
  const said = `${level}: about ${number(pressure.tokens)} tokens of what was said lately are no memory yet`;
  const now = growth[growth.length - 1];
  const recent = faults.kinds.reduce((sum, kind) => sum + kind.count, 0);
  return el("div", { class: "glance" },
    gauge({ title: "Pressure", share: pressure.share, marks: [pressure.moderate, pressure.high], style, said, below: [el("strong", { class: style }, `Pressure ${level}`), ` – about ${number(pressure.tokens)} unconsolidated tokens of ${number(pressure.cap)}.${way}`] }),
    facts([
      ["Spent in 24 hours", `${number(spending.counted)} of ${number(spending.cap)} tokens`],
      ["From the prompt cache", share(total(cache))],
      ["Proxy", proxy.running ? `on, port ${proxy.port}, ${counted(proxy.requests || 0, "request")} since ${ago(proxy.started)}` : "not running"],
      ["Store", `${size(now.bytes)}, ${counted(now.memories, "live memory", "live memories")}, ${counted(now.turns, "turn")}`],
      ["Faults in seven days", recent ? el("span", { class: "warn" }, number(recent)) : "none"],
      ["Left alone by the proxy", data.sessions.left_alone.length ? counted(data.sessions.left_alone.length, "session") : "none"],
    ]));
}

/** The share of the sessions that are shown, whichever way they went. */
function total(cache) {
  const sum = (name) => cache.sessions.reduce((all, one) => all + one[name], 0);
  const given = sum("input") + sum("written") + sum("read");
  return given ? sum("read") / given : null;
}

function share(value) {
  return value === null || value === undefined ? "nothing counted yet" : `${Math.round(100 * value)} %`;
}

// ---------------------------------------------------------------- plots

const date = (day) => new Date(day * 86400e3);
const whole = (day) => date(day).toLocaleDateString("en", { year: "numeric", month: "short", day: "numeric", timeZone: "UTC" });
const brief = (day) => date(day).toLocaleDateString("en", { month: "short", day: "numeric", timeZone: "UTC" });
const tokens = (value) => (value >= 1e6 ? `${Number((value / 1e6).toFixed(1))}M` : value >= 1e3 ? `${Number((value / 1e3).toFixed(value < 1e4 ? 1 : 0))}k` : String(value));
const span = (first, last) => Array.from({ length: last - first + 1 }, (_, number) => first + number);

function chart(title, something, sentence, given, ...after) {
  return el("section", {}, el("h2", {}, title), something ? plot({ title, ...given }) : empty(sentence), after);
}

function spent({ first, last, cap, days, purposes }) {
  const xs = span(first, last);
  const by = new Map(days.map((day) => [day.day, day]));
  const series = [...purposes, "unknown"].map((name, place) => ({ name: name === "unknown" ? "not reported" : name, style: ["p1", "p2", "p3", "p8"][place], values: xs.map((day) => by.get(day)?.[name] || 0) })).filter((one) => one.name !== "not reported" || one.values.some(Boolean));
  const dollars = days.reduce((sum, day) => sum + (day.dollars || 0), 0);
  const requests = days.reduce((sum, day) => sum + day.requests, 0);
  return chart("Tokens that Tenon spent, by day", days.length, "Nothing was spent in thirty days: no digest has asked a model.", { xs, series, sayX: whole, tickX: brief, sayY: tokens, limit: { value: cap, name: "daily cap" } },
    days.length ? el("p", { class: "faint" }, `${counted(requests, "request")} in thirty days${dollars ? `, $${dollars.toFixed(2)} as reported` : ""}. The cap holds for any 24 hours and for all agents together.`) : null);
}

function cache({ sessions, traced, others, asides }, page) {
  const known = sessions.filter((one) => one.share !== null);
  const series = [["through the proxy, with past sessions", "p1", true], ["without", "p2", false]].map(([name, style, wanted]) => ({ name, style, values: known.map((one) => ((one.state === "traced") === wanted ? one.share : null)) }));
  const label = (place) => `${brief(Math.floor(known[place].last / 86400))}, session ${known[place].session.slice(0, 8)}`;
  const latest = known[known.length - 1];
  const told = [["with past sessions", traced], ["without", others], ["sub-agents", asides]].filter(([, value]) => value !== null).map(([name, value]) => `${name} ${share(value)}`);
  return chart("Read from the prompt cache, by session", known.length, "No transcript has said yet what the API counted.", {
    kind: "dots", unit: "Session", xs: known.map((_, place) => place), series: series.filter((one) => one.values.some((value) => value !== null)), sayX: label, tickX: (place) => brief(Math.floor(known[place].last / 86400)), sayY: (value) => `${Math.round(100 * value)}%`, most: 1,
  }, latest ? el("p", { class: "faint" }, `All together: ${told.join(", ")}. The latest is `, link(page.to("history", latest.session), latest.session.slice(0, 8)), ".") : null);
}

function latency({ first, last, days, running }) {
  const xs = span(first, last);
  const by = new Map(days.map((day) => [day.day, day]));
  const line = (name, key, style) => ({ name, style, values: xs.map((day) => (by.has(day) ? 1000 * by.get(day)[key] : null)) });
  return chart("Time that the proxy adds to a request, by day", days.length, "The proxy has counted no request in thirty days.", { kind: "lines", xs, series: [line("median", "median", "p1"), line("95 of 100 within", "p95", "p2")], sayX: whole, tickX: brief, sayY: milliseconds },
    running?.requests ? el("p", { class: "faint" }, `The running proxy: median ${milliseconds(1000 * running.median)}, 95 of 100 within ${milliseconds(1000 * running.p95)}, over its latest ${counted(running.requests, "request")}.`) : null);
}

function milliseconds(value) {
  return `${value >= 10 ? Math.round(value) : Number(value.toFixed(1))} ms`;
}

function grown(days) {
  const xs = span(days[0].day, days[days.length - 1].day);
  const by = new Map(days.map((day) => [day.day, day]));
  const now = days[days.length - 1];
  const line = xs.map((day) => by.get(day)?.bytes ?? null);
  const grew = days.length > 1 ? `; ${size(Math.max(0, now.bytes - days[0].bytes))} more than on ${whole(days[0].day)}` : ", from today on with a point a day";
  return chart("Size of the store", true, "", { kind: "lines", xs, series: [{ name: "bytes", style: "p1", values: line }], sayX: whole, tickX: brief, sayY: size },
    el("p", { class: "faint" }, `${size(now.bytes)} now${grew}.`));
}

// ---------------------------------------------------------------- words

async function doctor(findings, page) {
  const heading = findings.firstChild;
  try {
    const { at, checks } = await page.fetch(page.to("health", "doctor") + ".json");
    const wrong = checks.filter((check) => check.state !== "ok");
    const well = checks.filter((check) => check.state === "ok");
    findings.replaceChildren(heading, el("p", { class: "faint" }, `${counted(checks.length, "check")}, `, wrong.length ? counted(wrong.length, "one to look at", "to look at") : "all well", ", ", when(at), "."),
      ...[wrong.length ? checked(wrong) : null, folded(counted(well.length, "check that is well", "checks that are well"), checked(well))].filter(Boolean));
  } catch (error) {
    findings.replaceChildren(heading, failure(error));
  }
}

function checked(checks) {
  return el("ul", { class: "plain checks" }, checks.map((check) => el("li", {}, tag(check.state, STYLES[check.state]), el("div", {}, el("strong", {}, check.check), " ", check.said, check.mend ? el("div", { class: "faint" }, "mend: ", el("code", {}, check.mend)) : null))));
}

function errors({ faults, proxy }) {
  const kinds = table("Faults of the last seven days", [
    { title: "Where", cell: (kind) => kind.door }, { title: "What", kind: "wide", cell: (kind) => fault(kind) },
    { title: "Times", kind: "number", cell: (kind) => number(kind.count) }, { title: "Last", cell: (kind) => when(kind.at) },
  ], faults.kinds);
  const reported = proxy.errors.map((error) => el("li", {}, when(error.at), " ", error.what));
  return section("Errors", faults.kinds.length ? [el("p", { class: "faint" }, "Faults that Tenon survived in the last seven days, of all agents. None of them stopped a prompt."), kinds] : el("p", { class: "faint" }, "No fault in the last seven days."),
    faults.newest.length ? folded(`The newest ${counted(faults.newest.length, "fault")}`, el("ul", { class: "plain" }, faults.newest.map((one) => el("li", {}, when(one.at), ` ${one.door}: `, fault(one))))) : null,
    reported.length ? [el("h3", {}, "Of the running proxy"), el("ul", { class: "plain" }, reported)] : null);
}

function fault(one) {
  return [`${one.error}${one.said ? ": " + one.said : ""} `, el("span", { class: "faint" }, [one.detail, one.place].filter(Boolean).join(", "))];
}

function sessions({ states, left_alone: left }, page) {
  const told = Object.entries(STATES).filter(([state]) => states[state]).map(([state, words]) => [words, number(states[state])]);
  return section("Sessions at the proxy", told.length ? facts(told) : el("p", { class: "faint" }, "None has gone through it in thirty days."),
    left.length ? table("Sessions that the proxy adds nothing to", [
      { title: "Session", cell: (one) => link(page.to("history", one.session), one.session.slice(0, 8)) }, { title: "State", cell: (one) => tag(one.state, one.state === "bypassed" ? "warn" : "") },
      { title: "Why", kind: "wide", cell: (one) => one.why || "–" }, { title: "Last request", cell: (one) => when(one.last) },
    ], left) : null);
}

function rows(data) {
  return section("What is in the store", facts(data.rows.map((row) => [row.name, number(row.rows)])));
}
