// Selector: for each prompt what was considered, what was put in front of the model, what nearly was, and why.

import { controls, more } from "./controls.js";
import { counted, el, empty, facts, failure, link, marked, number, quote, section, tag, when } from "./kit.js";
import { meanings, score } from "./score.js";

const EVENTS = {
  prompt: "with a prompt", session: "at a session's start", tool: "asked for by the model", command: "asked for by you", pressure: "told of pressure",
};

const INTRODUCTION = "What was put in front of the model in the last thirty days, and what nearly was. The journal keeps no prompts: where one is shown, the archive has it.";
const NOTHING = "Nothing was looked up yet. Ask Claude Code something about earlier work, and it stands here why what came up did.";

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
    el("p", { class: "faint" }, INTRODUCTION),
    meanings(data.means),
    controls(page, [
      { name: "event", label: "When", options: [["", "any"], ...Object.entries(EVENTS)] },
      { name: "repository", label: "Repository", options: [["", "all"], ...repositories] },
      { name: "session", label: "Session", type: "search", hint: "the id of a session, or 8 letters of it" },
    ], data, render),
    results,
  );
  return render(data);
}

function nothing(page) {
  const narrowed = ["event", "repository", "session"].some((name) => page.query.get(name));
  return narrowed ? "Nothing of that kind in the last thirty days." : NOTHING;
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
  const address = page.to("history", entry.session, entry.turn ? { turn: entry.turn } : {});
  return [
    name ? tag(name) : null, name ? " " : null,
    entry.session ? ["session ", entry.archived ? link(address, session) : session] : "no session",
    entry.event === "prompt" || !entry.about ? null : `, ${entry.about}`,
  ];
}

function asked(entry, page) {
  if (entry.prompt) return quote(marked(entry.prompt.text, words(entry)), entry.prompt.cut ? el("span", { class: "faint" }, " …") : null);
  if (entry.event !== "prompt" || !entry.words.length) return null;
  return el("p", {}, "for the words ", words(entry).map((word, place) => [place ? ", " : "", el("mark", {}, word)]));
}

/** The words that led to it, or the sections of a briefing. */
function led(entry) {
  if (entry.event === "session") return ["In the briefing", entry.words.map((word) => word.replaceAll("_", " ")).join(", ")];
  return ["Words in common", entry.event === "pressure" ? "" : words(entry).join(", ")];
}

function words(entry) {
  return entry.words.map((word) => word.replace(/\*$/, ""));
}

/** What was shown, and what was left out with the reason; alone on its page (`whole`) a near miss has its bar too. */
function told(entry, data, page, whole) {
  const hit = (one) => el("li", {}, what(one, entry, page), scored(one, data));
  const miss = (one) => {
    const why = tag(data.reasons[one.why] || "left out");
    return whole ? el("li", {}, el("div", {}, why, what(one, entry, page)), scored(one, data)) : el("li", {}, el("div", { class: "why" }, why, plainly(one)), what(one, entry, page));
  };
  return [
    entry.hits.length ? el("ol", { class: "plain hits" }, entry.hits.map(hit)) : null,
    entry.skipped.length ? el("ul", { class: `plain hits skipped ${whole ? "" : "brief"}`, "aria-label": "Left out" }, entry.skipped.map(miss)) : null,
  ];
}

function plainly(miss) {
  return miss.score === null ? null : el("span", { class: "faint" }, el("span", { class: "unseen" }, "score "), miss.score.toFixed(2));
}

/** The text with its id and kind; what is gone since then is said to be. */
function what(hit, entry, page) {
  if (hit.text === null) return el("div", { class: "what" }, el("span", { class: "id" }, hit.ref, " ", tag("forgotten", "warn")));
  const said = hit.tier === "archive";
  const address = said ? page.to("history", hit.session, { turn: hit.ref }) : page.to("memories", hit.ref);
  const own = said ? [["said"]] : [[hit.tier], [hit.kind.replace(/_/g, " ")], ...(hit.status === "live" ? [] : [[hit.status, "warn"]])];
  const marks = own.map((mark) => [tag(...mark), " "]);
  const text = el("span", { class: "text", dir: "auto" }, marked(hit.text.text, words(entry)), hit.text.cut ? el("span", { class: "faint" }, " …") : null);
  return el("div", { class: "what" }, el("span", { class: "id" }, link(address, hit.ref), " ", marks), text);
}

function scored(hit, data) {
  return score(hit, data.means) || el("p", { class: "faint" }, "told for what it is, not for a score");
}

function one(main, data, page) {
  const { entry } = data;
  page.title(`Why: ${EVENTS[entry.event] || entry.event}`);
  main.append(
    facts([
      ["When", when(entry.at, true)], ["Outcome", outcome(entry)], ["Where", where(entry, page)], led(entry),
      ["Evidence asked for", entry.event === "prompt" ? `${data.floor} or more (recall.floor)` : ""],
    ]),
    ...[asked(entry, page)].filter(Boolean),
    entry.hits.length + entry.skipped.length ? section("Considered", told(entry, data, page, true)) : "",
    meanings(data.means),
  );
}
