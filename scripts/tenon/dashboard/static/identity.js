// Identity: what the agent holds about itself and about working with its user, where that came from, and what became of it over time.

import { announce, asked, button, counted, el, empty, folded, link, number, section, tag, when } from "./kit.js";
import { SOURCES, WRITERS, plain } from "./remembered.js";

const KINDS = { identity: "Who it is", relationship: "How you work together" };
const WHO = { user: "by you", digest: "by a digest", model: "by the model in a session", code: "by plain code" };

/** Draws the statements and their timeline. */
export function show(main, data, page) {
  page.title("Identity");
  if (data.empty) return main.append(empty(data.empty));
  main.append(summary(data, page));
  if (!data.statements.length) {
    main.append(empty("No statement is held. A reflection (`tenon digest`) finds some once there are memories; `tenon identity add TEXT` says one yourself."));
  }
  for (const [kind, title] of Object.entries(KINDS)) {
    const held = data.statements.filter((statement) => statement.kind === kind);
    if (held.length) main.append(section(title, el("ul", { class: "plain statements" }, held.map((statement) => one(statement, data, page)))));
  }
  if (data.timeline.length) main.append(section("Timeline", timeline(data.timeline, page)));
  return undefined;
}

function summary({ room, frozen }, page) {
  const meter = el("meter", { min: 0, max: room.budget, value: room.characters, "aria-label": "characters used" });
  const freeze = async () => {
    announce((await page.change("freeze", { on: !frozen })).done);
    page.again();
  };
  return el("div", {},
    el("p", {}, "Every session is told these statements at its start."),
    el("p", { class: "known" }, frozen ? tag("frozen", "warn") : tag("open to digests", "good"),
      el("span", {}, frozen ? "no digest changes them" : "a reflection may add, revise or let go; what you wrote it leaves alone"),
      el("span", {}, `${counted(room.statements, "statement")} of at most ${room.most}`), el("span", {}, meter, ` ${number(room.characters)} of ${number(room.budget)} characters`)),
    page.allowEdit && el("p", { class: "buttons" }, button(frozen ? "Let digests change it again" : "Freeze it", freeze)));
}

function one(statement, { room }, page) {
  const correct = async () => {
    const given = await asked("What does it say from now on?", "Correct it", [{ name: "text", label: `Text, at most ${room.longest} characters`, value: statement.text, rows: 3, required: true }]);
    if (!given) return;
    announce((await page.change("correct", { ref: statement.ref, text: given.text, reason: "" })).done);
    page.again();
  };
  const count = statement.memories.length + statement.turns.length;
  return el("li", {},
    el("p", { class: "statement", dir: "auto" }, statement.text),
    el("p", { class: "known" }, el("span", {}, WRITERS[statement.writer] || SOURCES[statement.source] || statement.source), el("span", {}, "since ", when(statement.since)),
      statement.revision > 1 && el("span", {}, `revision ${statement.revision}`), !statement.told && tag("no room for it in a session", "warn"),
      statement.digests.map((step) => link(page.to("digests", step.digest), `digest ${step.digest}`)), link(page.to("memories", statement.ref), statement.ref)),
    statement.reason && el("p", { class: "faint", dir: "auto" }, statement.reason),
    count > 0 && folded(`From ${counted(count, "place")}`, el("ul", {}, statement.memories.map((memory) => el("li", { dir: "auto" }, link(page.to("memories", memory.ref), memory.text))),
      statement.turns.map((turn) => el("li", { dir: "auto" }, link(page.to("history", turn.session, { turn: turn.ref }), when(turn.at, true)), " ", turn.forgotten ? "(forgotten)" : el("bdi", {}, turn.text))))),
    page.allowEdit && el("p", { class: "buttons" }, button("Correct…", correct)));
}

function timeline(events, page) {
  return el("ol", { class: "plain timeline" }, events.map((event) => el("li", {},
    el("p", { class: "known" }, when(event.at, true), el("strong", {}, event.what), event.by.digest ? link(page.to("digests", event.by.digest), `by digest ${event.by.digest}`) : event.by.who && el("span", {}, WHO[event.by.who] || event.by.who),
      el("span", {}, plain(event.kind)), event.why && el("bdi", {}, event.why), link(page.to("memories", event.ref), event.ref)),
    event.what !== "closed" ? el("p", { class: "was", dir: "auto" }, event.text) : el("p", { class: "was", dir: "auto" }, el("del", {}, event.text)))));
}
