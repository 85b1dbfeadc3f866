// How a memory is told in a line, wherever one is named.

import { el, marked, number, tag, when } from "./kit.js";

export const SOURCES = { user: "said by you", assistant: "noted by the agent", tool: "seen in a tool's output", outside: "from outside", reflection: "concluded in a reflection" };
export const WRITERS = { user: "written by you", model: "written in a session", code: "spotted by plain code", digest: "written by a digest" };

/** A name of the store in words: failure signature. */
export function plain(name) {
  return name.replaceAll("_", " ");
}

/** A memory as a line: what it says, and below it what is known of it. */
export function item(memory, page, words = []) {
  return [
    el("a", { href: page.to("memories", memory.ref), class: "says", dir: "auto" }, memory.text ? marked(memory.text, words) : "(no text)"),
    el("p", { class: "known" }, strength(memory), ...about(memory, page)),
  ];
}

/** The strength as a small gauge with its number. */
export function strength(memory) {
  const gauge = el("span", { class: "gauge", "aria-hidden": "true" }, el("span"));
  gauge.firstChild.style.width = `${Math.min(100, Math.round(memory.strength * 100))}%`;
  return el("span", { class: "strength", title: "strength now: about 1 when written, less with time, up to 2 for a surprise" }, gauge, el("span", { class: "unseen" }, "strength "), memory.strength.toFixed(2));
}

/** A repository by its short name; its key is the title. */
export function place(key, page) {
  const known = page.about.repositories.find((repository) => repository.key === key);
  return key ? el("span", { title: key, dir: "auto" }, known ? known.name : key) : el("span", {}, "everywhere");
}

function about(memory, page) {
  return [
    memory.status !== "live" && tag(memory.status, memory.status === "faded" ? "warn" : "bad"),
    tag(plain(memory.kind)),
    el("span", {}, memory.tier === "long" ? "long-term" : "short-term"),
    el("span", {}, SOURCES[memory.source] || memory.source),
    place(memory.repository, page),
    memory.citations > 0 && el("span", {}, memory.citations === 1 ? "proved once" : `proved ${number(memory.citations)} times`),
    memory.revision > 1 && el("span", {}, `revision ${memory.revision}`),
    when(memory.created),
    el("code", {}, memory.ref),
  ].filter(Boolean);
}
