// Digests: what each run learnt, changed and cost, and one of them step by step.

import { controls, more } from "./controls.js";
import { announce, asked, button, counted, el, empty, facts, failure, folded, link, number, section, table, tag, when } from "./kit.js";
import { short } from "./conversation.js";

const PHASES = [["", "asked of a model"], ["all", "all"], ["consolidation", "consolidation"], ["reflection", "reflection"], ["session", "session"], ["spotting", "spotted by plain code"]];
const STATES = [["", "any"], ...["applied", "undone", "failed", "running"].map((state) => [state, state])];
const STYLES = { applied: "good", undone: "warn", failed: "bad", running: "" };
const SIGNS = { "+": "good", "-": "bad", "!": "warn" };
const DEEDS = {
  remember: "remembered", hold: "holds from now on", supersede: "closed", "let go": "let go", revise: "revised", reinforce: "proved right once more", promote: "long-term from now on",
  link: "linked", associate: "associated", gist: "an exchange in a sentence", session: "a session in a few sentences", refused: "refused",
};
const FEW = 40; // turns that are named without being asked for

/** Draws the runs, or the one that the address names. */
export function show(main, data, page) {
  if (data.empty) return main.append(empty(data.empty));
  return page.name ? one(main, data, page) : list(main, data, page);
}

function list(main, data, page) {
  const results = el("div", { class: "results" });
  const render = (found, error) => {
    if (error) return results.replaceChildren(failure(error));
    const rows = table("Digests, newest first", columns(page), found.digests);
    const button = more(page, found, (next) => rows.add(next.digests));
    const spotted = found.spotting ? el("p", { class: "faint" }, "What plain code spotted without a model is not among these; ", link(page.to("digests", "", { phase: "all" }), "show it too"), ".") : null;
    return results.replaceChildren(...[found.digests.length ? rows : empty(nothing(page)), button, spotted].filter(Boolean));
  };
  const repositories = page.about.repositories.map(({ key, name }) => [key, name]);
  main.append(controls(page, [
    { name: "phase", label: "Phase", options: PHASES }, { name: "state", label: "State", options: STATES },
    { name: "repository", label: "Repository", options: [["", "all"], ...repositories] },
  ], data, render), results);
  return render(data);
}

function nothing(page) {
  const narrowed = ["phase", "state", "repository"].some((name) => page.query.get(name));
  return narrowed ? "No digest is like that." : "No model has digested anything yet. `tenon digest` makes one now; `tenon digest auto on` has them made in the background.";
}

function columns(page) {
  return [
    { title: "Digest", cell: (one) => [link(page.to("digests", one.id), String(one.id)), " ", when(one.at)] },
    { title: "State", cell: (one) => tag(one.state, STYLES[one.state]) },
    { title: "What it did", kind: "wide", cell: (one) => did(one) },
    { title: "Phase", cell: (one) => [one.phase, el("br"), el("span", { class: "faint" }, by(one))] },
    { title: "Of", cell: (one) => [one.repository ? short(one.repository, page) : "the agent", el("br"), one.turns ? el("span", { class: "faint" }, counted(one.turns, "turn")) : null] },
    { title: "Cost", kind: "number", cell: (one) => (one.cost ? [`${number(one.cost.tokens)} tokens`, el("br"), el("span", { class: "faint" }, least(one.cost), dollars(one.cost.dollars))] : "–") },
  ];
}

function did(one) {
  if (one.state === "failed") return one.why || "It failed.";
  return one.did || one.why || (one.state === "running" ? "is at it" : "nothing to keep");
}

function by(one) {
  if (one.runner === "code") return "plain code";
  return one.runner + (one.model ? `/${one.model}` : "");
}

function dollars(value) {
  return value === null ? "" : `$${value < 0.1 ? value.toFixed(4) : value.toFixed(2)}`;
}

function least(cost) {
  return cost.unpriced && cost.dollars ? "at least " : "";
}

function one(main, data, page) {
  const { digest } = data;
  page.title(`Digest ${digest.id}`);
  const state = tag(digest.state, STYLES[digest.state]);
  const cost = digest.cost;
  main.append(facts([
    ["State", state], ["Phase", digest.phase], ["Began", when(digest.at, true)], ["Took", digest.ended ? took(digest.ended - digest.at) : ""], ["By", by(digest)],
    ["Of", digest.repository ? short(digest.repository, page) : "the agent"], ["Read", digest.turns ? `${counted(digest.turns, "turn")}${digest.archived_tokens ? `, about ${number(digest.archived_tokens)} tokens` : ""}` : ""],
    ["Spent", cost ? `${number(cost.tokens)} tokens ${least(cost)}${dollars(cost.dollars)}` : "nothing"], ["Did", digest.did],
  ]));
  if (digest.why) main.append(el("p", { class: digest.state === "failed" ? "failure" : "" }, digest.why));
  if (page.allowEdit && digest.state === "applied") main.append(undo(digest, state, page));
  main.append(section("What it did, in order", data.steps.length ? el("ol", { class: "plain steps" }, data.steps.map((step) => line(step, page))) : empty("Nothing that is left to be seen.")));
  if (data.read.length) main.append(section("What it was given to read", sources(data, page)));
  if (data.requests.length) main.append(section("What was asked of the model", requests(data.requests)));
}

function took(seconds) {
  return seconds < 90 ? `${Math.max(0, seconds).toFixed(seconds < 10 ? 1 : 0)} s` : `${Math.round(seconds / 60)} minutes`;
}

function undo(digest, state, page) {
  const place = el("div");
  place.append(button("Undo this digest", async () => {
    const agreed = await asked(`Undo digest ${digest.id}? What it wrote is closed and not written again by a digest, what it closed holds again. What was built on since stays.`, "Undo it");
    if (!agreed) return;
    const done = await page.change("undo", { digest: digest.id });
    state.replaceWith(tag("undone", "warn"));
    place.replaceChildren(el("p", { class: "good" }, done.done), el("ul", {}, done.lines.map((told) => el("li", { dir: "auto" }, told))));
    announce(done.done);
  }));
  return place;
}

function line(step, page) {
  const between = { supersede: "in favour of", link: "and", associate: "and" }[step.deed];
  const shown = [step.memory, step.other].filter(Boolean).map((memory, at) => [at && between ? el("span", {}, between) : null, link(page.to("memories", memory.ref), memory.ref), tag(memory.kind.replace("_", " "))]);
  const first = el("p", { class: "meta" }, el("strong", { class: SIGNS[step.sign] || null }, el("span", { class: "sign", "aria-hidden": "true" }, step.sign.replace("-", "−")), " ", DEEDS[step.deed] || step.deed), shown,
    step.session ? link(page.to("history", step.session), "the session") : null,
    step.turns?.length ? el("span", {}, "from ", step.turns.map((turn, at) => [at ? ", " : "", place(step, turn, page)])) : null);
  return el("li", {}, first, told(step));
}

/** The text of a step: a change as old and new, what was written as it stands, a refusal as it was worded. */
function told(step) {
  if (step.deed === "refused") return el("p", { class: "warn", dir: "auto" }, step.said.replace(/^refused /, ""));
  if (step.old !== undefined) return difference(step.old, step.new);
  if (step.new) return el("blockquote", { dir: "auto" }, step.new);
  if (!step.memory) return el("p", { class: "faint" }, step.said);
  return [step.memory, step.other].filter(Boolean).map((memory) => el("blockquote", { dir: "auto" }, memory.text));
}

/** Old and new under each other, with what they do not share marked. */
function difference(old, now) {
  const [before, after] = [old, now].map((text) => text.split(/(\s+)/));
  let first = 0;
  while (first < Math.min(before.length, after.length) && before[first] === after[first]) first++;
  let last = 0;
  while (last < Math.min(before.length, after.length) - first && before[before.length - 1 - last] === after[after.length - 1 - last]) last++;
  const parts = (words, tag) => [words.slice(0, first).join(""), el(tag, {}, words.slice(first, words.length - last).join("")), words.slice(words.length - last).join("")];
  return el("div", { class: "difference" },
    el("blockquote", { class: "old", dir: "auto" }, el("span", { class: "unseen" }, "before: "), parts(before, "del")),
    now ? el("blockquote", { class: "new", dir: "auto" }, el("span", { class: "unseen" }, "after: "), parts(after, "ins")) : null);
}

function place(step, turn, page) {
  return step.places?.[turn] ? link(`${page.to("history", step.places[turn], { turn })}#${turn}`, turn) : turn;
}

/** The turns that were read, session by session. */
function sources(data, page) {
  const sessions = new Map();
  for (const turn of data.read) sessions.set(turn.session, [...(sessions.get(turn.session) || []), turn]);
  const rows = [...sessions].map(([session, turns]) => el("li", {}, link(page.to("history", session, { turn: turns[0].turn }) + `#${turns[0].turn}`, `session ${session.slice(0, 13)}`), data.digest.turns > data.read.length && !data.more_read ? ` ${counted(data.digest.turns, "turn")}, from the first on: ` : ` ${counted(turns.length, "turn")}: `,
    turns.map((turn, at) => [at ? ", " : "", link(`${page.to("history", session, { turn: turn.turn })}#${turn.turn}`, turn.turn)])));
  const found = el("ul", { class: "plain" }, rows, data.more_read ? el("li", { class: "faint" }, `and ${counted(data.more_read, "more turn")}`) : null);
  return data.read.length > FEW ? folded(`${counted(data.read.length + data.more_read, "turn")} of ${counted(sessions.size, "session")}`, found) : found;
}

function requests(rows) {
  const tokens = (name) => (row) => (row.reported ? number(row[name]) : "–");
  return table("Requests to the model", [
    { title: "When", cell: (row) => when(row.at, true) }, { title: "Model", cell: (row) => `${row.runner}/${row.model}` }, { title: "Input", kind: "number", cell: tokens("input") },
    { title: "Cache written", kind: "number", cell: tokens("written") }, { title: "Cache read", kind: "number", cell: tokens("read") }, { title: "Output", kind: "number", cell: tokens("output") },
    { title: "Cost", cell: (row) => (row.reported ? dollars(row.dollars) || "not told" : `nothing reported; at most ${number(row.reserved)} tokens`) },
  ], rows);
}
