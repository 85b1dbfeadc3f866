// One memory: what it says, whether it comes up, where it came from, what stands around it, when it was shown, what became of it.

import { announce, asked, button, counted, el, facts, folded, link, number, quote, section, table, tag, when, worded } from "./kit.js";
import { drawn } from "./graph.js";
import { meanings, score } from "./score.js";
import { SOURCES, WRITERS, item, place, plain, strength } from "./remembered.js";

const EVENTS = { prompt: "with a prompt", session: "at a session's start", tool: "asked for by the model", command: "asked for by you" };
const KINDS = { related_to: ["is related to", "is related to"], contradicts: ["contradicts", "is contradicted by"], supports: ["supports", "is supported by"], supersedes: ["supersedes", "is superseded by"], refines: ["refines", "is refined by"] };
const DEEDS = {
  remember: "remembered", hold: "became a statement", supersede: "closed", "let go": "let go", revise: "revised", reinforce: "proved right", promote: "made long-term", link: "linked", associate: "associated",
};
const EPISODE = { situation: "Situation", action: "Kind of action", taken: "What was done", expected: "Expected", outcome: "Outcome", evidence: "Evidence" };
const FEW = 5;

/** Draws the memory that the address names. */
export function one(main, data, page) {
  const { memory } = data;
  const kind = plain(memory.kind);
  page.title(`${kind[0].toUpperCase()}${kind.slice(1)} ${memory.ref}`);
  main.append(...[
    el("blockquote", { class: "lead", dir: "auto" }, memory.text || "(no text)"),
    memory.cut && el("p", { class: "faint" }, worded("The text goes on; `tenon recall --id` shows all of it.")),
    memory.reason && el("p", { class: "reason", dir: "auto" }, el("span", { class: "faint" }, "because "), memory.reason),
    page.allowEdit && mending(memory, data.lineage, page),
    comesUp(data, page),
    figures(memory, page),
    data.episode && section("What happened", facts(Object.entries(EPISODE).map(([name, title]) => [title, data.episode[name]]))),
    data.successors.length > 0 && section("What holds instead", listed(data.successors, page)),
    from(data.lineage, page),
    around(data, page),
    shown(data, page),
    became(data, page),
  ].filter(Boolean));
}

function mending(memory, lineage, page) {
  const turns = lineage.flatMap((origin) => origin.turns).filter((turn) => turn.lineage && !turn.forgotten).length;
  const done = async (action, fields) => {
    const { done: said } = await page.change(action, fields);
    announce(said);
    return said;
  };
  const correct = async () => {
    const given = await asked("What does it say from now on?", "Correct it", [{ name: "text", label: "Text", value: memory.text, rows: 5, required: true }, { name: "reason", label: "Why" }]);
    if (!given) return;
    await done("correct", { ref: memory.ref, ...given });
    page.again();
  };
  const forget = async () => {
    const given = await asked("Forget this memory for good?", "Forget it", [{ name: "reason", label: "Why (it is kept without the text)" },
      ...(turns ? [{ name: "said", label: `Also what was said (${counted(turns, "turn")})`, type: "check" }] : [])]);
    if (!given) return;
    const said = await done("forget", { refs: [memory.ref], reason: given.reason, said: Boolean(given.said) });
    document.getElementById("main").replaceChildren(el("h1", {}, "Forgotten"), el("p", {}, said), el("p", {}, link(page.to("memories"), "All memories")));
  };
  return el("p", { class: "buttons" }, memory.status !== "superseded" && button("Correct…", correct), button("Forget…", forget));
}

function comesUp(data, page) {
  const told = data.why.length ? el("ul", {}, data.why.map((sentence) => el("li", { dir: "auto" }, sentence)))
    : el("p", {}, `Nothing keeps it back: it comes up, once a session, ${data.memory.repository ? "in its repository" : "everywhere"}, for a prompt that it answers by its words or by what it means.`);
  const judged = ({ against }) => against && [against.said.map((sentence) => el("p", {}, sentence)), score(against, data.means)];
  const answer = el("div", { role: "status" }, judged(data));
  const input = el("input", { type: "search", name: "cue", value: page.query.get("cue") || "", autocomplete: "off", maxlength: 2000, placeholder: "how do we deploy?" });
  const attempt = async (event) => {
    event.preventDefault();
    if (input.value.trim()) page.query.set("cue", input.value.trim());
    else page.query.delete("cue");
    page.enter();
    try {
      answer.replaceChildren(el("div", {}, judged(await page.load(page.query))));
    } catch (error) {
      answer.replaceChildren(el("p", { class: "failure" }, error.message));
    }
  };
  return section("Does it come up?", told, el("form", { class: "controls", onsubmit: attempt }, el("label", { class: "grows" }, "Try it against a prompt", input), el("button", {}, "Try")), answer);
}

function figures(memory, page) {
  const days = (a, b) => Math.abs(a - b) > 60;
  return facts([
    ["Strength now", strength(memory)], ["Proved right", memory.citations ? counted(memory.citations, "time") : "not yet"],
    ["Holds in", memory.repository ? link(page.to("memories", "", { repository: memory.repository }), place(memory.repository, page)) : "every repository"],
    ["Term", memory.tier === "long" ? "long-term" : "short-term, it fades unless it proves right"],
    ["Status", memory.status === "live" ? "live" : tag(memory.status, memory.status === "faded" ? "warn" : "bad")],
    ["Source", SOURCES[memory.source] || memory.source], ["Written", [when(memory.created, true), WRITERS[memory.writer] ? `, ${WRITERS[memory.writer]}` : ""]],
    ["Last proved", days(memory.reinforced, memory.created) ? when(memory.reinforced, true) : ""], ["Valid until", memory.valid_to ? when(memory.valid_to, true) : ""],
    ["Valid from", days(memory.valid_from, memory.created) ? when(memory.valid_from, true) : ""], ["Epic", memory.epic],
    ["Evidence", memory.labels.length ? memory.labels.map((label) => [tag(label), " "]) : ""], ["Revision", memory.revision > 1 ? number(memory.revision) : ""],
  ]);
}

function none(sentence) {
  return el("p", { class: "faint" }, sentence);
}

function listed(memories, page, extra = () => null) {
  return el("ul", { class: "plain memories" }, memories.map((memory) => el("li", {}, item(memory, page), extra(memory))));
}

function from(lineage, page) {
  const title = "Where it came from";
  if (!lineage.length) return section(title, none("No exchange is noted for it: it was written by hand, or before that was kept."));
  const [first, ...rest] = lineage.map((origin) => exchange(origin, page));
  return section(title, first, rest.length > 0 && folded(counted(rest.length, "further exchange"), rest));
}

function exchange({ session, turns }, page) {
  return el("div", { class: "exchange" }, turns.map((turn) => {
    const who = turn.role === "user" && turn.kind === "prompt" ? "You" : turn.kind === "reply" ? "The agent" : plain(turn.kind);
    const at = link(page.to("history", session, { turn: turn.ref }), when(turn.at, true));
    const text = turn.forgotten ? el("p", { class: "faint" }, "(forgotten)") : quote(turn.text || "(no words)", turn.cut && el("span", { class: "faint" }, " … it goes on in the history"));
    return el("div", { class: turn.lineage ? "said from" : "said" }, el("p", { class: "known" }, el("strong", {}, who), at, turn.lineage && el("span", {}, "it came from this")), text);
  }));
}

function around(data, page) {
  const { nodes, links, full } = data.around;
  const title = "Around it";
  if (nodes.length < 2 && !data.edges.length) return section(title, none("No other memory is linked to it, and none has come up together with it so far."));
  const waiting = data.edges.filter((edge) => edge.status === "proposed"), decided = data.edges.filter((edge) => edge.status !== "proposed");
  return section(title,
    nodes.length > 1 && drawn({ nodes, links }, page), full && el("p", { class: "faint" }, "Only the nearest memories are drawn."),
    waiting.length > 0 && [el("h3", {}, "Links that wait for a decision"), some(waiting, page)],
    decided.length > 0 && [el("h3", {}, "Links"), some(decided, page)],
    data.associations.length > 0 && folded(`Comes up together with ${counted(data.associations.length, "memory", "memories")}`,
      listed(data.associations, page, (other) => el("p", { class: "known" }, `strength ${other.association.toFixed(2)}, ${counted(other.times, "time")}`))));
}

function some(all, page) {
  return [edges(all.slice(0, FEW), page), all.length > FEW && folded(counted(all.length - FEW, "more link"), () => edges(all.slice(FEW), page))];
}

function edges(all, page) {
  return el("ul", { class: "plain memories" }, all.map((edge) => {
    const words = (KINDS[edge.kind] || [edge.kind, edge.kind])[edge.out ? 0 : 1];
    const style = edge.status === "rejected" ? "bad" : edge.status === "proposed" ? "warn" : "good";
    const decide = async (action, fields) => {
      announce((await page.change(action, { edge: edge.edge, ...fields })).done);
      page.again();
    };
    const reject = async () => {
      const given = await asked("Why is that link wrong?", "Turn it down", [{ name: "reason", label: "Why", required: true }]);
      if (given) await decide("reject", given);
    };
    return el("li", {}, el("a", { class: "says", href: page.to("memories", edge.ref), dir: "auto" }, el("span", { class: "faint" }, words, " "), edge.text),
      el("p", { class: "known" }, tag(edge.status, style), edge.reason && el("bdi", {}, `because ${edge.reason}`), edge.verdict && el("bdi", {}, `decided: ${edge.verdict}`), edge.status !== "rejected" && el("span", {}, `strength ${edge.strength.toFixed(2)}`), when(edge.decided || edge.created)),
      page.allowEdit && el("p", { class: "buttons" }, edge.status === "proposed" && button("Approve", () => decide("approve", {})), edge.status !== "rejected" && button("Turn down…", reject)));
  }));
}

function shown({ shown: times, means }, page) {
  const title = "When it was put in front of the model";
  const hits = times.filter((time) => !time.skipped), missed = times.filter((time) => time.skipped);
  const columns = [
    { title: "When", cell: (time) => link(page.to("selector", time.entry), when(time.at, true)) },
    { title: "How", cell: (time) => [EVENTS[time.event] || time.event, time.skipped && el("p", { class: "faint" }, time.skipped)] },
    { title: "Session", cell: (time) => (time.session ? link(page.to("history", time.session), el("code", {}, time.session.slice(0, 8))) : "–") },
    { title: "What led to it", cell: led },
    { title: "Score", kind: "wide", cell: (time) => score(time, means) || "told for what it is" },
  ];
  return section(title, hits.length ? table(title, columns, hits.slice(0, FEW)) : none("Not in the last thirty days, as far as the journal goes back."),
    hits.length > FEW && folded(counted(hits.length - FEW, "earlier time"), () => table("Earlier", columns, hits.slice(FEW))),
    times.length > 0 && meanings(means),
    missed.length > 0 && folded(`Nearly shown ${counted(missed.length, "time")}, and left out`, () => table("Left out", columns, missed)));
}

/** The words that a prompt shared with it, or the sections of the briefing that it stood in. */
function led({ event, words }) {
  if (event === "session") return `in the briefing: ${words.map(plain).join(", ")}`;
  return words.length ? `words in common: ${words.join(", ")}` : "its meaning";
}

function became(data, page) {
  const events = [
    { at: data.memory.created, what: data.revisions.length ? "written, and said" : "written", text: data.revisions.length ? data.revisions[0].text : null },
    ...data.revisions.map((past, place) => ({ at: past.at, what: `revised: ${past.reason}`, text: data.revisions[place + 1]?.text ?? data.memory.text })),
    ...data.deeds.filter((deed) => deed.what !== "revise").map((deed) => ({ at: deed.at, what: [plain(deed.what), deed.note && `: ${deed.note}`] })),
    ...data.digests.map((step) => ({ at: step.at, what: [DEEDS[step.deed] || plain(step.deed), " by ", link(page.to("digests", step.digest), `digest ${step.digest}`), ` (${step.phase}${step.state === "applied" ? "" : `, ${step.state}`})`] })),
  ].sort((a, b) => b.at - a.at);
  return section("What became of it", el("ol", { class: "plain timeline" }, events.map((event) => el("li", {}, el("p", { class: "known" }, when(event.at, true), el("bdi", {}, event.what)), event.text !== null && event.text !== undefined && quote(event.text)))),
    data.predecessors.length > 0 && [el("h3", {}, "What it superseded"), listed(data.predecessors, page)]);
}
