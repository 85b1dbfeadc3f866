// Selector: for each prompt what was considered, what was put in front of the model, what nearly was, and why.

import { bar, controls, counted, el, empty, facts, failure, folded, link, marked, more, number, quote, section, tag, when } from "./kit.js";

const EVENTS = {
  prompt: "with a prompt", session: "at a session's start", tool: "asked for by the model", command: "asked for by you", pressure: "told of pressure",
};
const STYLES = { likeness: "p1", match: "p2", bm25: "p3", strength: "p4", fit: "p5", linked: "p6", session: "p7", newer: "p8", recency: "p8", citations: "p9" };

/** Draws the journal, or the entry that the address names. */
export function show(main, data, page) {
  if (data.empty) return main.append(empty(data.empty));
  return page.name ? one(main, data, page) : list(main, data, page);
}

function list(main, data, page) {
  const results = el("div", { class: "results" });
  const render = (found, error) => {
    if (error) return results.replaceChildren(failure(error));
    const rows = el("div");
    const add = (next) => rows.append(...next.entries.map((entry) => card(entry, next, page)));
    add(found);
    return results.replaceChildren(...[found.entries.length ? rows : empty(nothing(page)), more(page, found, add)].filter(Boolean));
  };
  const repositories = page.about.repositories.map(({ key, name }) => [key, name]);
  main.append(
    el("p", { class: "faint" }, "What was put in front of the model in the last thirty days, and what nearly was. The journal keeps no prompts: where one is shown, the archive has it."),
    meanings(data),
    controls(page, [
      { name: "event", label: "When", options: [["", "any"], ...Object.entries(EVENTS)] },
      { name: "repository", label: "Repository", options: [["", "all"], ...repositories] },
      { name: "session", label: "Session", type: "search", hint: "the id of a session" },
    ], render),
    results,
  );
  return render(data);
}

function nothing(page) {
  const narrowed = ["event", "repository", "session"].some((name) => page.query.get(name));
  return narrowed ? "Nothing of that kind in the last thirty days." : "Nothing was looked up yet. Ask Claude Code something about earlier work, and it stands here why what came up did.";
}

function meanings(data) {
  return folded("What the parts of a score mean", el("dl", { class: "means" }, Object.entries(data.means).map(([name, { label, says }]) => el("div", {}, el("dt", {}, el("span", { class: `dot ${STYLES[name]}`, "aria-hidden": "true" }), label), el("dd", {}, says)))));
}

function card(entry, data, page) {
  return el("article", { class: "considered" },
    el("h2", {}, link(page.to("selector", entry.id), when(entry.at)), " ", tag(EVENTS[entry.event] || entry.event), " ", el("span", { class: "faint" }, outcome(entry))),
    el("p", { class: "where" }, where(entry, page)),
    asked(entry, page),
    told(entry, data, page, false));
}

/** What came of it, in a few words. */
function outcome(entry) {
  if (entry.event === "pressure") return entry.about;
  const parts = [entry.hits.length ? counted(entry.hits.length, "item") : "", entry.chars ? `${number(entry.chars)} characters` : ""].filter(Boolean);
  const shown = parts.join(", ") || (entry.event === "prompt" || entry.event === "session" ? "nothing was injected" : "nothing was found");
  return entry.skipped.length ? `${shown}, ${counted(entry.skipped.length, "near miss", "near misses")}` : shown;
}

function where(entry, page) {
  const name = page.about.repositories.find(({ key }) => key === entry.repository)?.name || entry.repository;
  const session = entry.session.slice(0, 8);
  return [
    name ? tag(name) : null, name ? " " : null,
    entry.session ? ["session ", entry.archived ? link(page.to("history", entry.session, entry.turn ? { turn: entry.turn } : {}), session) : session] : "no session",
    entry.event === "prompt" || !entry.about ? null : `, ${entry.about}`,
  ];
}

function asked(entry, page) {
  if (entry.prompt) return quote(marked(entry.prompt.text, words(entry)), entry.prompt.cut ? el("span", { class: "faint" }, " …") : null);
  return entry.event === "prompt" && entry.words.length ? el("p", {}, "for the words ", words(entry).map((word, place) => [place ? ", " : "", el("mark", {}, word)])) : null;
}

function words(entry) {
  return entry.words.map((word) => word.replace(/\*$/, ""));
}

function told(entry, data, page, whole) {
  return [
    entry.hits.length ? el("ol", { class: "plain hits" }, entry.hits.map((hit) => el("li", {}, what(hit, entry, page), score(hit, data)))) : null,
    entry.skipped.length ? el("ul", { class: "plain hits skipped", "aria-label": "Left out" }, entry.skipped.map((miss) => el("li", {}, el("div", { class: "why" }, tag(data.reasons[miss.why] || "left out"), " ", whole ? null : plainly(miss)), what(miss, entry, page), whole ? score(miss, data) : null))) : null,
  ];
}

function plainly(miss) {
  return miss.score === null ? null : el("span", { class: "faint" }, el("span", { class: "unseen" }, "score "), miss.score.toFixed(2));
}

/** The text with its id and kind; what is gone since then is said to be. */
function what(hit, entry, page) {
  const there = hit.text !== null && hit.text !== undefined;
  const address = hit.tier === "archive" ? page.to("history", hit.session, { turn: hit.ref }) : page.to("memories", hit.ref);
  const marks = there ? [hit.tier === "archive" ? "said" : hit.tier, hit.tier === "archive" ? null : hit.kind.replace(/_/g, " "), hit.status && hit.status !== "live" ? hit.status : null] : ["forgotten"];
  return el("div", { class: "what" },
    el("span", { class: "id" }, there ? link(address, hit.ref) : hit.ref, " ", marks.filter(Boolean).map((mark) => [tag(mark, mark === "superseded" || mark === "forgotten" ? "warn" : ""), " "])),
    there ? el("span", { class: "text", dir: "auto" }, marked(hit.text.text, words(entry)), hit.text.cut ? el("span", { class: "faint" }, " …") : null) : null);
}

/** The parts of a score as one bar, each in words and numbers; a bar of full length is a score of 1. */
function score(hit, data) {
  if (hit.score === null) return el("p", { class: "faint" }, "told for what it is, not for a score");
  const parts = hit.parts.map(({ name, value, weight }) => ({ name: data.means[name].label, value: value * weight, said: (value * weight).toFixed(2), style: STYLES[name] })).filter((part) => part.value >= 0.005).sort((a, b) => b.value - a.value);
  return el("div", { class: "score" }, el("span", { class: "sum" }, `score ${hit.score.toFixed(2)}`), bar(parts, Math.max(1, hit.score)));
}

function one(main, data, page) {
  const { entry } = data;
  page.title(`Why: ${EVENTS[entry.event] || entry.event}`);
  main.append(
    facts([
      ["When", when(entry.at, true)], ["Outcome", outcome(entry)], ["Where", where(entry, page)], ["Words in common", words(entry).join(", ")],
      ["Evidence asked for", entry.event === "prompt" ? `${data.floor} or more (recall.floor)` : ""],
    ]),
    ...[asked(entry, page)].filter(Boolean),
    section("Considered", told(entry, data, page, true), entry.hits.length + entry.skipped.length ? null : empty("There were no items.")),
    meanings(data),
  );
}
