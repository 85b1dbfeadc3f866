// What narrows a list: a form whose values are the address, the number of what was found, the button for what comes next.

import { announce, el, failure, number } from "./kit.js";

const SOON_MS = 120; // between a letter and the search for it

/**
 * A form whose values are the address: each change is put there, the data of the new address fetched and given to `render`. A choice is an
 * entry in the browser's history, and so is a search, however many letters it takes; going back undoes it and leaves the form where it is.
 * Fields are {name, label, type: "search"}, {name, label, options: [[value, words], …]} or {name, label, type: "check"} (value «on»);
 * `data` is what is shown first.
 */
export function controls(page, fields, data, render) {
  let waiting = 0;
  let fetching = null;
  let typed = ""; // the search whose entry in the history is the newest one
  const count = el("p", { class: "count" });
  const form = el("form", { class: "controls", role: "search", onsubmit: (event) => event.preventDefault() });
  const load = async () => {
    fetching?.abort();
    const { signal } = (fetching = new AbortController());
    form.setAttribute("aria-busy", "true");
    try {
      const found = await page.load(page.query, signal);
      page.tally(found);
      await render(found);
      if (signal.aborted) return;
      announce(count.textContent || "nothing found");
    } catch (error) {
      if (error.name === "AbortError") return;
      count.textContent = "";
      announce(error.message);
      render(null, error);
    }
    form.removeAttribute("aria-busy");
  };
  const apply = (changed) => {
    clearTimeout(waiting);
    const before = String(page.query);
    for (const field of fields) {
      const value = given(form.elements[field.name]);
      if (value) page.query.set(field.name, value);
      else page.query.delete(field.name);
    }
    page.query.delete("after");
    if (String(page.query) === before) return;
    const name = changed.type === "search" ? changed.name : "";
    if (name && typed === name) page.keep();
    else page.enter();
    typed = name;
    load();
  };
  const listen = (field) => {
    if (field.type !== "search") return { onchange: () => apply(field) };
    const soon = () => {
      clearTimeout(waiting);
      waiting = setTimeout(apply, SOON_MS, field);
    };
    const rest = () => {
      apply(field);
      typed = "";
    };
    return { oninput: soon, onchange: rest };
  };
  let total = 0;
  page.tally = (found, further = false) => {
    total = found.count + (further ? total : 0);
    count.textContent = total || found.next ? `${number(total)} ${found.next ? "and more" : "found"}` : "";
  };
  page.revisited(() => {
    clearTimeout(waiting);
    typed = "";
    for (const field of fields) fill(form.elements[field.name], page.query.get(field.name) || "");
    load();
  });
  form.append(...fields.map((field) => control(field, page.query.get(field.name) || "", listen(field))), count);
  page.tally(data);
  return form;
}

function control(field, value, listeners) {
  if (field.type === "search") {
    return el("label", { class: "grows" }, field.label, el("input", { type: "search", name: field.name, value, autocomplete: "off", spellcheck: "false", placeholder: field.hint || null, ...listeners }));
  }
  if (field.type === "check") {
    return el("label", { class: "check" }, el("input", { type: "checkbox", name: field.name, checked: value === "on", ...listeners }), field.label);
  }
  const select = el("select", { name: field.name, ...listeners }, field.options.map(([option, words]) => el("option", { value: option }, words)));
  fill(select, value);
  return el("label", {}, field.label, select);
}

function given(input) {
  return input.type === "checkbox" ? (input.checked ? "on" : "") : input.value.trim();
}

function fill(input, value) {
  if (input.type === "checkbox") input.checked = value === "on";
  else if (given(input) !== value) input.value = value;
  // A value that is not among the choices, of an address that somebody typed.
  if (input.options && input.selectedIndex < 0) input.append(el("option", { value, selected: true }, value));
}

/** The button that brings the next rows of a list: `add(data)` is called with each answer. Null when there are none. */
export function more(page, data, add) {
  if (!data.next) return null;
  const button = el("button", { type: "button", class: "more" }, "Show more");
  let next = data.next;
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const query = new URLSearchParams(page.query);
      query.set("after", next);
      const found = await page.load(query);
      add(found);
      page.tally(found, true);
      next = found.next;
      announce(`${number(found.count)} more`);
      if (!next) button.remove();
    } catch (error) {
      announce(error.message);
      button.after(failure(error));
    }
    button.disabled = false;
  });
  return button;
}
