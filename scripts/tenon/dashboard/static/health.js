// Health: what waits, what was spent, how the prompt cache does, what the proxy takes, how the store grows, what went wrong.

import { ago, counted, el, empty, facts, failure, folded, link, number, section, size, table, tag, when, worded } from "./kit.js";
import { gauge, plot } from "./plot.js";

const STYLES = { ok: "good", warn: "warn", fail: "bad" };
const LEVELS = { "": ["good", "low"], moderate: ["warn", "moderate"], high: ["bad", "high"] };
const STATES = { traced: "Given past sessions in front", plain: "Passed on as they come", bypassed: "Left alone after the API refused one", announced: "Begun, without a request through the proxy so far" };

/** Draws the page; doctor's findings come when they are there. */
export function show(main, data, page) {
  if (data.empty) return main.append(empty(data.empty));
  const findings = section("What doctor finds", el("p", { class: "faint", role: "status" }, el("code", {}, "tenon doctor"), " is looking …"));
  main.append(
    glance(data),
    el("div", { class: "plots" }, spent(data.spending), cache(data.cache, page), latency(data.latency), grown(data.growth)),
    findings, errors(data), sessions(data.sessions, page), rows(data),
  );
  return doctor(findings, page);
}

function glance(data) {
  const { pressure, spending, proxy } = data;
  const [style, level] = LEVELS[pressure.level];
  const now = data.growth[data.growth.length - 1];
  const recent = data.faults.kinds.reduce((sum, kind) => sum + kind.count, 0);
  const way = pressure.level && !pressure.auto ? [" ", el("code", {}, "tenon digest"), " or ", el("code", {}, "/memory-digest"), " works them off."] : null;
  const below = [el("strong", { class: style }, `Pressure ${level}`), ` – about ${number(pressure.tokens)} unconsolidated tokens of ${number(pressure.cap)}.`, way];
  const said = `${level}: about ${number(pressure.tokens)} tokens of what was said lately are no memory yet`;
  return el("div", { class: "glance" }, gauge({ title: "Pressure", share: pressure.share, marks: [pressure.moderate, pressure.high], style, said, below }), facts([
    ["Spent in 24 hours", `${number(spending.counted)} of ${number(spending.cap)} tokens`],
    ["From the prompt cache", share(total(data.cache))],
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

function chart(title, given, sentence, ...after) {
  const notes = after.map((text) => (text ? el("p", { class: "faint" }, text) : null));
  return el("section", {}, el("h2", {}, title), given ? plot({ title, ...given }) : empty(sentence), notes);
}

/** A row of days with what is known of some of them. */
function daily(first, last, days) {
  const by = new Map(days.map((day) => [day.day, day]));
  const xs = span(first, last);
  return { xs, values: (of, none = null) => xs.map((day) => (by.has(day) ? of(by.get(day)) : none)), sayX: whole, tickX: brief };
}

function spent({ first, last, cap, days, purposes }) {
  const title = "Tokens that Tenon spent, by day";
  if (!days.length) return chart(title, null, "Nothing was spent in thirty days: no digest has asked a model.");
  const { values, ...row } = daily(first, last, days);
  const series = purposes.map((name, place) => ({ name, style: ["p1", "p2", "p3"][place], values: values((day) => day[name], 0) }));
  if (days.some((day) => day.unknown)) series.push({ name: "reserved, nothing reported", style: "p8", values: values((day) => day.unknown, 0) });
  const paid = (day) => Object.values(day.dollars).reduce((sum, each) => sum + (each || 0), 0);
  const least = (some) => (some.some((day) => day.unpriced) ? "at least " : "");
  const by = new Map(days.map((day) => [day.day, paid(day)]));
  const dollars = days.reduce((sum, day) => sum + paid(day), 0);
  const requests = counted(days.reduce((sum, day) => sum + day.requests, 0), "request");
  const sayX = (day) => whole(day) + (by.get(day) ? ` (${least(days.filter((one) => one.day === day))}$${by.get(day).toFixed(2)})` : "");
  return chart(title, { ...row, sayX, series, sayY: tokens, limit: { value: cap, name: "the cap of 24 hours is" } }, "",
    `${requests} in thirty days${dollars ? `, ${least(days)}$${dollars.toFixed(2)} as reported` : ""}. The cap holds for any 24 hours and for all agents together.`);
}

function cache({ sessions, traced, others, asides }, page) {
  const title = "Read from the prompt cache, by session";
  const known = sessions.filter((one) => one.share !== null);
  const latest = known[known.length - 1];
  if (!latest) return chart(title, null, "No transcript has said yet what the API counted.");
  const values = (wanted) => known.map((one) => ((one.state === "traced") === wanted ? one.share : null));
  const series = [{ name: "through the proxy, with past sessions", style: "p1", values: values(true) }, { name: "other sessions", style: "p2", values: values(false) }];
  const tickX = (place) => brief(Math.floor(known[place].last / 86400));
  const sums = [["in sessions with past sessions in front", traced], ["in the other sessions", others], ["by sub-agents", asides]].filter(([, value]) => value !== null);
  return chart(title, {
    kind: "dots", unit: "Session", xs: known.map((_, place) => place), series: series.filter((one) => one.values.some((value) => value !== null)), most: 1,
    sayX: (place) => `${tickX(place)}, session ${known[place].session.slice(0, 8)}`, tickX, sayY: (value) => `${Math.round(100 * value)}%`,
  }, "", [`Read from the cache: ${sums.map(([name, value]) => `${share(value)} ${name}`).join(", ")}. The latest session is `,
    link(page.to("history", latest.session), latest.session.slice(0, 8)), "."]);
}

function latency({ first, last, days, running }) {
  const title = "Time that the proxy adds to a request, by day";
  const { values, ...row } = daily(first, last, days);
  const line = (name, style, key) => ({ name, style, values: values((day) => 1000 * day[key]) });
  const now = running?.requests ? [running.median, running.p95].map((took) => milliseconds(1000 * took)) : null;
  return chart(title, days.length ? { kind: "lines", ...row, series: [line("median", "p1", "median"), line("95 of 100 within", "p2", "p95")], sayY: milliseconds } : null,
    "The proxy has counted no request in thirty days.",
    now ? `The running proxy: median ${now[0]}, 95 of 100 within ${now[1]}, over its latest ${counted(running.requests, "request")}.` : null);
}

function milliseconds(value) {
  return `${value >= 10 ? Math.round(value) : Number(value.toFixed(1))} ms`;
}

function grown(days) {
  const [then, now] = [days[0], days[days.length - 1]];
  const { values, ...row } = daily(then.day, now.day, days);
  const more = (name, one, many) => counted(Math.max(0, now[name] - then[name]), one, many);
  const grew = `; since ${whole(then.day)} ${more("memories", "memory", "memories")} and ${more("turns", "turn")} more`;
  const since = then.day === now.day ? "; a point a day from today on" : grew;
  const series = [{ name: "on the disk", style: "p1", values: values((day) => day.bytes) }];
  return chart("Size of the store", { kind: "lines", ...row, series, sayY: size }, "", `${size(now.bytes)} now${since}.`);
}

// ---------------------------------------------------------------- words

async function doctor(findings, page) {
  const heading = findings.firstChild;
  try {
    const { at, checks } = await page.fetch(page.to("health", "doctor") + ".json");
    const wrong = checks.filter((check) => check.state !== "ok");
    const well = checks.filter((check) => check.state === "ok");
    const sum = el("p", { class: "faint" }, `${counted(checks.length, "check")}, ${wrong.length ? `${number(wrong.length)} to look at` : "all well"}, `, when(at), ".");
    const fold = folded(counted(well.length, "check that is well", "checks that are well"), checked(well));
    findings.replaceChildren(heading, sum, ...(wrong.length ? [checked(wrong)] : []), fold);
  } catch (error) {
    findings.replaceChildren(heading, failure(error));
  }
}

function checked(checks) {
  const words = (check) => [el("strong", {}, check.check), " ", check.said, check.mend ? el("div", { class: "faint" }, "mend: ", check.mend.includes("`") ? worded(check.mend) : el("code", {}, check.mend)) : null];
  return el("ul", { class: "plain checks" }, checks.map((check) => el("li", {}, tag(check.state, STYLES[check.state]), el("div", {}, words(check)))));
}

function errors({ faults, proxy }) {
  const sentence = faults.kinds.length ? "Faults that Tenon survived in the last seven days, of all agents. None of them stopped a prompt." : "No fault in the last seven days.";
  const columns = [
    { title: "Where", cell: (kind) => kind.door }, { title: "What", kind: "wide", cell: (kind) => fault(kind) },
    { title: "Times", kind: "number", cell: (kind) => number(kind.count) }, { title: "Last", cell: (kind) => when(kind.at) },
  ];
  const newest = faults.newest.map((one) => el("li", {}, when(one.at), ` ${one.door}: `, fault(one)));
  const reported = proxy.errors.map((error) => el("li", {}, when(error.at), " ", error.what));
  return section("Errors", el("p", { class: "faint" }, sentence), faults.kinds.length ? table("Faults of the last seven days", columns, faults.kinds) : null,
    newest.length ? folded(`The newest ${counted(newest.length, "fault")}`, el("ul", { class: "plain" }, newest)) : null,
    reported.length ? [el("h3", {}, "Of the running proxy"), el("ul", { class: "plain" }, reported)] : null);
}

function fault(one) {
  return [`${one.error}${one.said ? ": " + one.said : ""} `, el("span", { class: "faint" }, [one.detail, one.place].filter(Boolean).join(", "))];
}

function sessions({ states, left_alone: left }, page) {
  const told = Object.entries(STATES).filter(([state]) => states[state]).map(([state, words]) => [words, counted(states[state], "session")]);
  const columns = [
    { title: "Session", cell: (one) => (one.archived ? link(page.to("history", one.session), one.session.slice(0, 8)) : one.session.slice(0, 8)) },
    { title: "State", cell: (one) => tag(one.state, one.state === "bypassed" ? "warn" : "") },
    { title: "Why", kind: "wide", cell: (one) => one.why || "–" }, { title: "Last request", cell: (one) => when(one.last) },
  ];
  return section("Sessions at the proxy", told.length ? facts(told) : el("p", { class: "faint" }, "None has gone through it in thirty days."),
    left.length ? table("Sessions that the proxy adds nothing to", columns, left) : null);
}

function rows(data) {
  return section("What is in the store", facts(data.rows.map((row) => [row.name, number(row.rows)])));
}
