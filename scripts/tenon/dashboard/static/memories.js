// The page Memories: a list that is searched while one types and narrowed by the address; memory.js shows one of them.

import { controls, more } from "./controls.js";
import { counted, el, empty, failure, link, number } from "./kit.js";
import { one } from "./memory.js";
import { SOURCES, WRITERS, item, plain } from "./remembered.js";

const ORDERS = { newest: "newest first", strongest: "strongest first", cited: "most often proved" };

/** The list, or the memory that the address names. */
export async function show(main, data, page) {
  if (page.name) return one(main, data, page);
  page.title("Memories");
  if (data.empty) {
    main.append(empty(data.empty));
    return;
  }
  const found = el("div");
  const form = controls(page, fields(page, data.choices), data, (answer, error) => found.replaceChildren(...results(page, answer, error)));
  form.classList.add("many");
  main.append(form, found);
  found.replaceChildren(...results(page, data));
}

function fields(page, choices) {
  const any = (name, words = {}) => [["", "any"], ...choices[name].map((value) => [value, words[value] || plain(value)])];
  const one_of = (name, words = {}) => choices[name].map((value, place) => [place ? value : "", words[value] || value]);
  return [
    { name: "q", label: "Search", type: "search", hint: "words, the beginning of one, or an id like m7k2…" },
    { name: "repository", label: "Repository", options: [["", "any"], ["everywhere", "true everywhere"], ...page.about.repositories.map(({ key, name }) => [key, name])] },
    { name: "status", label: "Status", options: one_of("status") },
    { name: "tier", label: "Term", options: any("tier", { short: "short-term", long: "long-term" }) },
    { name: "kind", label: "Kind", options: any("kind") },
    { name: "source", label: "Source", options: any("source", SOURCES) },
    { name: "writer", label: "Writer", options: any("writer", WRITERS) },
    { name: "order", label: "Order", options: one_of("order", ORDERS) },
  ];
}

function results(page, data, error) {
  if (error) return [failure(error)];
  const list = el("ul", { class: "plain memories" });
  const add = (answer) => list.append(...answer.rows.map((memory) => el("li", {}, item(memory, page, answer.words))));
  add(data);
  const button = more(page, data, add);
  const held = data.held && [...page.query.keys()].length === 0
    ? el("p", { class: "faint" }, `${counted(data.held.live, "live memory", "live memories")}, ${number(data.held.faded)} faded, ${number(data.held.superseded)} superseded.`) : null;
  if (data.rows.length) return [held, list, button].filter(Boolean);
  return [nothing(page, data, Boolean(button)), list, button].filter(Boolean);
}

function nothing(page, data, goesOn) {
  if (goesOn) return empty("Nothing among the newest memories with these words; «Show more» looks through older ones.");
  if (data.held && !data.held.live && !data.held.faded && !data.held.superseded) {
    return empty("Nothing is remembered yet. Memories come from your sessions, from a digest (`tenon digest`), or from `tenon write`.");
  }
  const words = page.query.get("q");
  return el("p", { class: "empty" }, words ? "No memory like that has all of these words. Take a word away, choose another status, or " : "No memory is like that. Take a filter away, or ",
    words ? link(page.to("history", "", { q: words }), "look for it in what was said") : link(page.to("memories"), "show all of them"), ".");
}
