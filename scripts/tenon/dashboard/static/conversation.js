// One session as a conversation: who said what, tool calls folded with their results, pictures, sub-agents under the call that started them.

import { announce, asked, button, counted, el, facts, failure, folded, link, number, section, size, tag, when } from "./kit.js";

/** Draws the session, and leads to the turn that the address names. */
export async function conversation(main, data, page) {
  const { session, summary } = data;
  page.title(session.prompt || `Session ${session.name}`);
  main.append(facts([
    ["Repository", short(session.repository, page)], ["Branch", session.branch], ["Folder", session.folder], ["Client", session.client],
    ["Began", when(session.started, true)], ["Last turn", when(session.last, true)], ["Length", exchanges(session)], ["Session", el("code", {}, session.name)],
    ["What memory gave it", link(page.to("selector", "", { session: session.name.slice(0, 13) }), "for each prompt")],
  ]));
  if (summary) main.append(section("In a few sentences", summed(summary), el("p", { class: "faint" }, `${writer(summary)}, up to `, when(summary.at, true))));
  const talk = new Talk(page, data, "");
  main.append(el("h2", {}, "What was said"), talk.element);
  if (data.opened) await talk.open(data.opened);
  if (data.focus) lead(data.focus);
}

/** Shows the turn of that id: whatever it is folded in is opened, and the address keeps it. */
function lead(id) {
  const target = document.getElementById(id);
  if (!target) return;
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.classList.add("found");
  history.replaceState(null, "", `${location.pathname}${location.search}#${id}`);
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
}

/** A thread of a session, page after page: the main conversation, or a sub-agent's. */
class Talk {
  constructor(page, data, thread) {
    this.page = page;
    this.thread = thread;
    this.words = data.words;
    this.agents = new Map();
    this.day = "";
    this.turns = el("div", { class: "talk" }, this.drawn(data));
    this.element = el("div", {}, this.further(data, "earlier", "before", "Show what came before"), this.turns, this.further(data, "next", "after", "Show what came after"));
  }

  /** The button for the next page in one direction, or null. */
  further(data, key, parameter, label) {
    if (!data[key]) return null;
    const fetch = button(label, async () => {
      const found = await this.load({ [parameter]: data[key] });
      const first = this.drawn(found);
      if (parameter === "after") this.turns.append(...first);
      else this.turns.prepend(...first);
      fetch.replaceWith(...[this.further(found, key, parameter, label)].filter(Boolean));
      first[0]?.focus({ preventScroll: true });
      announce(`${counted(found.turns.length, "turn")} more`);
    }, "more");
    return fetch;
  }

  load(parameters) {
    const query = new URLSearchParams({ ...parameters, ...(this.thread ? { thread: this.thread } : {}) });
    if (this.page.query.get("q")) query.set("q", this.page.query.get("q"));
    return this.page.load(query);
  }

  drawn(data) {
    return data.turns.flatMap((turn) => [
      turn.compacted ? el("p", { class: "seam" }, "Claude Code compacted the conversation here, ", when(turn.compacted, true)) : null,
      turn.branch ? el("p", { class: "seam" }, "A branch begins here: it goes on from ", this.place(turn.branch.turn, turn.branch.session), turn.branch.session ? ` of session ${turn.branch.session}` : "") : null,
      this.turn(turn),
      ...(turn.agents || []).map((agent) => this.agent(agent)),
    ]).filter(Boolean);
  }

  place(id, session = "") {
    return link(`${this.page.to("history", session || this.page.name, { turn: id })}#${id}`, id);
  }

  /** The time of day, with the day where it is another one than the turn's before. */
  time(at) {
    const element = when(at, true);
    const [day, minute] = element.textContent.split(" ");
    if (day === this.day) element.textContent = minute;
    this.day = day;
    return element;
  }

  turn(turn) {
    const side = turn.kind === "prompt" ? "asks" : turn.role === "assistant" ? "answers" : "aside";
    return el("article", { class: `turn ${side}`, id: turn.id, tabindex: "-1", "aria-label": `${who(turn)}, ${turn.id}` },
      el("p", { class: "meta" }, el("strong", {}, who(turn)), this.time(turn.at), this.place(turn.id), el("span", {}, `${number(turn.tokens)} tokens`), dealt(turn),
        turn.source === "outside" ? tag("from outside", "warn") : null, this.forget(turn)),
      turn.forgotten ? el("p", { class: "faint" }, "Forgotten ", when(turn.forgotten), "; only its place is kept.") : null,
      turn.blocks.map((block) => this.block(turn, block)),
      turn.gist ? el("p", { class: "gist", dir: "auto" }, "In a sentence: ", turn.gist) : null,
      turn.memories.length ? el("ul", { class: "plain made" }, turn.memories.map((memory) => el("li", { dir: "auto" }, "→ ", link(this.page.to("memories", memory.ref), memory.ref), " ", tag(memory.kind.replace("_", " ")), memory.status === "live" ? null : tag(memory.status), " ", memory.text))) : null);
  }

  block(turn, block) {
    if (block.type === "text") return el("div", { class: "words", dir: "auto" }, this.text(turn.id, block));
    if (block.type === "note") return el("p", { class: "faint", dir: "auto" }, this.text(turn.id, block));
    if (block.type === "thinking") return block.text ? folded("Thinking", el("div", { class: "words faint", dir: "auto" }, this.text(turn.id, block))) : null;
    if (block.type === "call") return this.call(turn, block);
    if (block.type === "result") return el("div", { class: "result" }, this.result(block, "A result, whose call stands elsewhere"));
    return this.picture(turn.id, block, turn.blocks.filter((other) => other.type === "image").indexOf(block));
  }

  call(turn, block) {
    const said = block.result?.error ? tag("error", "bad") : block.result ? null : tag("no result");
    return el("details", { class: "call" },
      el("summary", {}, el("strong", {}, block.name), " ", el("code", { dir: "auto" }, block.about), " ", said, block.agent ? tag("sub-agent") : null),
      block.text ? el("pre", { dir: "auto" }, this.text(turn.id, block)) : null,
      block.agent ? this.agent(block.agent) : null,
      block.result ? el("div", { class: "result", id: block.result.turn, tabindex: "-1" }, this.result(block.result, "Result")) : null);
  }

  result(block, title) {
    return [
      el("p", { class: "meta" }, el("span", {}, title), this.place(block.turn), el("span", {}, `${number(block.tokens)} tokens`), block.error ? tag("error", "bad") : null,
        block.source === "outside" ? tag("from outside", "warn") : null, this.forget({ id: block.turn })),
      block.text || !block.images.length ? el("pre", { dir: "auto" }, this.text(block.turn, block)) : null,
      block.images.map((image, at) => this.picture(block.turn, image, at)),
    ];
  }

  /** A text with the words that were looked for; a long one is cut, and brought whole when it is asked for. */
  text(id, block) {
    const holder = el("span", {}, highlighted(block.text, this.words));
    if (!block.cut) return holder;
    const rest = button(`Show all ${number(block.chars)} characters`, async () => {
      const whole = (await this.load({ turn: id, whole: "on" })).turn.blocks.find((other) => other.type === block.type && other.text.startsWith(block.text));
      if (!whole) throw new Error("It is not there any more.");
      holder.replaceChildren(...highlighted(whole.text, this.words));
      rest.remove();
    });
    return [holder, "… ", rest];
  }

  picture(id, image, at) {
    if (image.data) return el("img", { src: image.data, alt: `A picture of ${id}, ${size(image.bytes)}`, class: "picture", loading: "lazy" });
    if (!image.later) return el("p", { class: "faint", dir: "auto" }, `[${image.note}${image.bytes ? `, ${size(image.bytes)}` : ""}]`);
    return button(`Show the picture, ${size(image.bytes)}`, async (shown) => {
      const { blocks } = (await this.load({ turn: id, whole: "on" })).turn;
      const whole = blocks.flatMap((block) => (block.type === "image" ? [block] : block.images || []))[at];
      shown.replaceWith(this.picture(id, { ...whole, later: false }, at));
    });
  }

  /** A sub-agent's conversation, which is fetched when it is opened. */
  agent(agent) {
    const inside = el("div", { class: "agent" });
    const fold = folded(["Sub-agent, ", counted(agent.spoken, "prompt or reply", "prompts and replies"), ": ", el("bdi", {}, agent.about)], inside);
    let filled = null;
    const fill = (parameters) => (filled ??= this.fill(inside, agent.thread, parameters));
    fold.addEventListener("toggle", () => fill({}));
    this.agents.set(agent.thread, fill);
    return fold;
  }

  async fill(inside, thread, parameters) {
    inside.replaceChildren(el("p", { class: "faint" }, "…"));
    try {
      const query = new URLSearchParams({ ...parameters, thread });
      if (this.page.query.get("q")) query.set("q", this.page.query.get("q"));
      inside.replaceChildren(new Talk(this.page, await this.page.load(query), thread).element);
    } catch (error) {
      inside.replaceChildren(failure(error));
    }
  }

  /** Fetches the sub-agent that a turn belongs to, from about that turn on. */
  async open({ thread, turn }) {
    await this.agents.get(thread)?.({ turn });
  }

  forget(turn) {
    if (!this.page.allowEdit || turn.forgotten) return null;
    return button("Forget", async () => {
      const given = await asked(`Forget ${turn.id} for good? What was learnt from it alone goes too.`, "Forget it", [{ name: "reason", label: "Why, for the record; do not repeat the text here" }]);
      if (!given) return;
      const done = await this.page.change("forget", { refs: [turn.id], ...given });
      await this.page.again();
      announce(done.done);
    }, "small");
  }
}

/** The text with every word marked that begins as one of these does; they are letters and digits alone. */
function highlighted(text, stems) {
  if (!stems.length) return [text];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])((?:${stems.join("|")})[\\p{L}\\p{N}]*)`, "giu");
  return text.split(pattern).map((part, at) => (at % 2 ? el("mark", {}, part) : part));
}

function dealt(turn) {
  if (turn.dealt === "written") return el("span", {}, "digested");
  return turn.dealt === "skipped" ? el("span", {}, "passed over by a digest") : null;
}

/** How many prompts a session has, as far as they were counted. */
export function exchanges(row) {
  return row.more_exchanges ? `more than ${row.exchanges} exchanges` : counted(row.exchanges, "exchange");
}

/** A summary: as it was written, or what plain code put together under its names; `few` of these where there is little room. */
export function summed({ text, parts }, few = null) {
  const shown = parts.filter(([name]) => !few || few.includes(name));
  return [parts.length && few ? null : el("blockquote", { dir: "auto" }, text),
    shown.length > 0 && el("dl", { class: "parts" }, shown.map(([name, said]) => el("div", {}, el("dt", {}, name), el("dd", { dir: "auto" }, said))))];
}

/** Who wrote a summary. */
export function writer(summary) {
  return summary.writer === "digest" ? "by a model" : "by plain code";
}

/** A repository's short name. */
export function short(key, page) {
  return page.about.repositories.find((one) => one.key === key)?.name || key;
}

/** Who says a turn. */
export function who(turn) {
  if (turn.kind === "result") return "Tool";
  if (turn.role === "assistant") return "Agent";
  if (turn.role === "system") return "Note";
  return turn.source === "user" ? "You" : turn.source === "assistant" ? "Main agent" : turn.source === "outside" ? "Outside" : "Claude Code";
}
