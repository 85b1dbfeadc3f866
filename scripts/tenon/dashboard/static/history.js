// History: the sessions, and a search through all that was said that answers while it is typed.

import { controls, more } from "./controls.js";
import { ago, el, empty, failure, link, tag, when } from "./kit.js";
import { conversation, exchanges, short, summed, who, writer } from "./conversation.js";

const FEW = 8; // passages below which a search goes on by itself
const TOLD = ["Changed", "Commits", "Tests", "Outcome"]; // of a session's summary in the list
const FURTHER = 12; // times, until somebody says so

/** Draws the list, or the session that the address names. */
export async function show(main, data, page) {
  if (data.empty) return main.append(empty(data.empty));
  if (page.name) return conversation(main, data, page);
  const results = el("div", { class: "results" });
  let drawn = 0;
  const render = async (found, error) => {
    const mine = ++drawn;
    if (error) return results.replaceChildren(failure(error));
    const words = page.query.get("q");
    const list = el("ol", { class: "plain said" });
    const add = (next) => list.append(...(next.sessions || []).map((row) => session(row, page)), ...(next.hits || []).map((row) => hit(row, page)));
    const note = el("p", { class: "faint" });
    add(found);
    results.replaceChildren(list);
    for (let times = 0; found.further && list.children.length < FEW && times < FURTHER; times++) {
      const query = new URLSearchParams(page.query);
      query.set("after", found.next);
      note.textContent = "Searching further back …";
      list.after(note);
      try {
        found = await page.load(query);
      } catch (error) {
        return note.replaceWith(failure(error));
      }
      if (mine !== drawn) return null;
      add(found);
      page.tally(found, true);
    }
    note.remove();
    if (!list.children.length) list.replaceWith(empty(nothing(found, words)));
    const button = more(page, found, add);
    if (button && found.further) button.textContent = "Search further back";
    if (button) results.append(button);
    return null;
  };
  main.append(controls(page, fields(data, page), data, render), results);
  await render(data);
}

function fields(data, page) {
  const repositories = page.about.repositories.map(({ key, name }) => [key, name]);
  const found = [
    { name: "q", label: "Search what was said", type: "search", hint: "words, \"a phrase\", or the id of a session" },
    { name: "repository", label: "Repository", options: [["", "all"], ...repositories] },
    { name: "client", label: "Client", options: [["", "all"], ...data.clients.map((client) => [client, client])] },
    { name: "tools", label: "also tools and sub-agents", type: "check" },
  ];
  return found.filter((field) => field.name !== "client" || data.clients.length > 1 || page.query.get("client"));
}

function nothing(found, words) {
  if (!words) return "No session is kept yet. They come by themselves; `tenon import` brings those from before.";
  return found.next ? "Nothing so far." : "Nothing that was said has all these words. Fewer of them find more; so does a look at tools and sub-agents.";
}

/** A passage that was found, in its session. */
function hit(row, page) {
  const address = page.to("history", row.session, { turn: row.turn, q: page.query.get("q") || "" }) + `#${row.turn}`;
  const text = row.parts.map((part, at) => (at % 2 ? el("mark", {}, part) : part));
  return el("li", { class: "hit" },
    el("p", { class: "meta" }, link(address, `${who(row)} in ${row.repository ? short(row.repository, page) : row.session}`), " ", when(row.at),
      row.sub_agent ? tag("sub-agent") : null, ["call", "result"].includes(row.kind) ? tag(row.kind === "call" ? "tool call" : "tool result") : null, row.source === "outside" ? tag("from outside", "warn") : null),
    el("blockquote", { dir: "auto" }, text));
}

function session(row, page) {
  const lasted = row.last - row.started;
  const span = lasted > 90 ? `over ${ago(row.started, row.last).replace(" ago", "")}` : "";
  return el("li", { class: "session" },
    el("p", { class: "first", dir: "auto" }, link(page.to("history", row.name), row.prompt || `Session ${row.name}`)),
    el("p", { class: "meta" }, when(row.last), span, el("span", {}, exchanges(row)), short(row.repository, page), row.branch ? tag(row.branch) : null, row.client === "claude-code" ? null : tag(row.client)),
    row.summary ? [summed(row.summary, TOLD), row.summary.parts.length ? null : el("p", { class: "faint" }, writer(row.summary))] : null);
}
