// What every page is built from: elements, times and numbers in words, tables, dialogs.
// Text goes into the page as text and nowhere as markup: the page's policy refuses innerHTML.

/** An element with its attributes (functions listen: {onclick: …}; null and false are left out) and children (nodes, texts, lists, null). */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for a part of a drawing. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// ---------------------------------------------------------------- words

/** A number with its thousands told apart: 12,345. */
export function number(value) {
  return Number(value).toLocaleString("en");
}

/** A number with its noun: «1 session», «2 memories». */
export function counted(count, one, many = one + "s") {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** A size: 12 KB, 3.4 MB. */
export function size(bytes) {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1000)} KB` : bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

/** How long ago: «just now», «5 minutes ago», «3 days ago»; a time to come is «in …». */
export function ago(seconds, now = Date.now() / 1000) {
  const age = Math.abs(now - seconds);
  for (const [length, unit] of [[31557600, "year"], [86400, "day"], [3600, "hour"], [60, "minute"]]) {
    const count = Math.floor(age / length);
    if (count >= 1) return now >= seconds ? `${counted(count, unit)} ago` : `in ${counted(count, unit)}`;
  }
  return "just now";
}

/** A time as an element: how long ago, or with `whole` the day and minute, and the other as its title. */
export function when(seconds, whole = false) {
  if (!seconds) return "–";
  const date = new Date(seconds * 1000);
  if (isNaN(date)) return "–";
  const pad = (part) => String(part).padStart(2, "0");
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} ${pad(date.getHours())}:${pad(date.getMinutes())}`;
  return el("time", { datetime: date.toISOString(), title: whole ? ago(seconds) : day }, whole ? day : ago(seconds));
}

// ---------------------------------------------------------------- pieces

/** A link inside the dashboard (the shell follows it without a reload). */
export function link(address, ...children) {
  return el("a", { href: address, class: "text" }, ...children);
}

/** A small label; style is good, warn, bad or «». */
export function tag(text, style = "") {
  return el("span", { class: `tag ${style}`.trim() }, text);
}

/** Text from outside, as it was said: its lines kept, its direction its own. */
export function quote(text, ...after) {
  return el("blockquote", { dir: "auto" }, text, ...after);
}

/** The text with the words in it marked, however they are written; words are matched at the beginning of a word. */
export function marked(text, words) {
  const wanted = (words || []).filter((word) => word).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!wanted.length) return [text];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${wanted.sort((a, b) => b.length - a.length).join("|")})`, "giu");
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(pattern)) {
    parts.push(text.slice(from, found.index), el("mark", {}, found[0]));
    from = found.index + found[0].length;
  }
  return [...parts, text.slice(from)];
}

/** What is folded until somebody opens it; `children` may be a function that is asked when that happens. */
export function folded(summary, ...children) {
  const late = typeof children[0] === "function" ? children[0] : null;
  const element = el("details", {}, el("summary", {}, summary), late ? null : children);
  if (late) element.addEventListener("toggle", () => element.append(...[late()].flat(Infinity)), { once: true });
  return element;
}

/** Labels and values as a list of terms; a pair whose value is null or «» is left out. */
export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

/** A section under a heading of its own; level is 2 to 4. */
export function section(title, ...children) {
  return el("section", {}, el("h2", {}, title), ...children);
}

/** A sentence, in which what stands between backticks is code: a command. */
export function worded(sentence) {
  return sentence.split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part));
}

/** A sentence where nothing is, which says what to do. */
export function empty(sentence) {
  return el("p", { class: "empty" }, worded(sentence));
}

/**
 * A table whose rows become cards on a narrow screen. Columns are {title, cell(row) -> node(s), kind: "number" | "wide" | ""};
 * `add(rows)` of the returned element puts further rows under it.
 */
export function table(caption, columns, rows) {
  const body = el("tbody");
  const element = el("table", {}, el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, columns.map((column) => el("th", { scope: "col", class: column.kind || null }, column.title)))), body);
  element.add = (more) => body.append(...more.map((row) => el("tr", {}, columns.map((column) => el("td", { class: column.kind || null, "data-title": column.title || null, dir: column.kind === "wide" ? "auto" : null }, column.cell(row))))));
  element.add(rows);
  return element;
}

/** The parts of a whole as one bar: [{name, value, style}…]; style is one of p1 to p8. With its words below, for every eye. */
export function bar(parts, whole = parts.reduce((sum, part) => sum + part.value, 0)) {
  const shown = parts.filter((part) => part.value > 0);
  const strip = el("span", { class: "bar", "aria-hidden": "true" }, shown.map((part) => {
    const piece = el("span", { class: part.style, title: `${part.name} ${part.said ?? part.value}` });
    piece.style.width = `${(100 * part.value) / (whole || 1)}%`;
    return piece;
  }));
  return el("div", { class: "parts" }, strip, el("ul", { class: "legend" }, shown.map((part) => el("li", {}, el("span", { class: `dot ${part.style}`, "aria-hidden": "true" }), `${part.name} ${part.said ?? part.value}`))));
}

/** A button; `action` may be async, and its refusal is shown beside it. */
export function button(label, action, style = "") {
  const element = el("button", { type: "button", class: style || null }, label);
  element.addEventListener("click", async () => {
    element.disabled = true;
    try {
      await action(element);
    } catch (error) {
      element.after(failure(error));
    }
    element.disabled = false;
  });
  return element;
}

/** Asks in a dialog, with fields ({name, label, value, rows, required} or {name, label, type: "check"}) if there are any; resolves to their values, or to null. */
export function asked(question, yes, fields = []) {
  return new Promise((resolve) => {
    const inputs = fields.map(asking);
    const heading = el("h2", { id: "asked" }, question);
    const form = el("form", { method: "dialog" }, heading, inputs, el("p", { class: "buttons" },
      el("button", { value: "yes", class: "strong" }, yes), el("button", { value: "", formnovalidate: true }, "Cancel")));
    const dialog = el("dialog", { "aria-labelledby": "asked" }, form);
    dialog.addEventListener("close", () => {
      resolve(dialog.returnValue === "yes" ? Object.fromEntries(new FormData(form)) : null);
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

function asking({ name, label, value = "", type, rows, required }) {
  if (type === "check") return el("label", { class: "check" }, el("input", { type: "checkbox", name }), label);
  const field = rows ? el("textarea", { name, rows, required }, value) : el("input", { name, value, required });
  return el("label", {}, el("span", {}, label, required ? " (required)" : ""), field);
}

/** What went wrong, in a box. */
export function failure(error) {
  return el("p", { class: "failure", role: "alert" }, worded(error.message || String(error)));
}

/** Says a sentence to those who do not see the page. */
export function announce(sentence) {
  document.getElementById("announced").textContent = sentence.replaceAll("`", "");
}
