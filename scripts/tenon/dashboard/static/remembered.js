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
    el("p", { class: "known" }, strength(memory), ...about(memory)),
  ];
}

/** The strength as a small gauge with its number. */
export function strength(memory) {
  const gauge = el("span", { class: "gauge", "aria-hidden": "true" }, el("span"));
  gauge.firstChild.style.width = `${Math.min(100, Math.round(memory.strength * 50))}%`;
  return el("span", { class: "strength", title: "strength now: 1 when written, less with time, up to 2" }, gauge, el("span", { class: "unseen" }, "strength "), memory.strength.toFixed(2));
}

function about(memory) {
  return [
    memory.status !== "live" && tag(memory.status, memory.status === "faded" ? "warn" : "bad"),
    tag(plain(memory.kind)),
    el("span", {}, memory.tier === "long" ? "long-term" : "short-term"),
    el("span", {}, SOURCES[memory.source] || memory.source),
    el("span", { class: "place" }, memory.repository || "everywhere"),
    memory.citations > 0 && el("span", {}, memory.citations === 1 ? "proved once" : `proved ${number(memory.citations)} times`),
    memory.revision > 1 && el("span", {}, `revision ${memory.revision}`),
    when(memory.created),
    el("code", {}, memory.ref),
  ].filter(Boolean);
}

/** Where a memory's words come from, and who wrote them down. */
export function origin(memory) {
  return [SOURCES[memory.source] || memory.source, WRITERS[memory.writer]].filter(Boolean).join(", ");
}
