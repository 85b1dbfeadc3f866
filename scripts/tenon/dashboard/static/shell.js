// The frame around every page: which agent and page the address names, its data, its module, and links followed without a reload.

import { announce, el, empty, failure, link } from "./kit.js";

const BASE = "/_dashboard/";
const PAGES = { memories: "Memories", identity: "Identity", history: "History", digests: "Digests", selector: "Selector", health: "Health" };

let about = null;
let shown = 0;
let path = ""; // of what is shown
let revisit = null; // has it follow the address by itself, where only the query is another

/** What an address names: the agent, the page, and one thing of it («» for the list). */
function parsed(location) {
  const [agent = "", page = "", ...rest] = location.pathname.slice(BASE.length).split("/");
  return { agent: decodeURIComponent(agent), page, name: decodeURIComponent(rest.join("/")).replace(/(.)~$/s, "$1") };
}

/** A name as the last part of an address; what would be taken for something else (`.`, `..`, `x.json`) has a `~` behind it. */
function spelled(name) {
  return encodeURIComponent(/^\.\.?$|\.json$|.~$/s.test(name) ? name + "~" : name);
}

/** The data of an address. Raises an Error with the server's sentence. */
async function fetched(address, options = {}) {
  let answer;
  try {
    answer = await fetch(address, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("Tenon does not answer any more. Run `tenon dashboard` again and open the new link.");
  }
  let data;
  try {
    data = await answer.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(`Tenon answered ${answer.status} and no data.`);
  }
  if (!answer.ok) throw Object.assign(new Error(data.error || `Tenon answered ${answer.status}.`), { status: answer.status });
  return data;
}

function twin(location) {
  return location.pathname + ".json" + location.search;
}

/** Draws what the address names; a later call makes an earlier one give up. */
async function draw({ moved = false } = {}) {
  const mine = ++shown;
  const { agent, page: page_name, name } = parsed(location);
  const main = document.getElementById("main");
  const focused = !moved && main.contains(document.activeElement) && document.activeElement.name;
  frame(agent, page_name);
  main.setAttribute("aria-busy", "true");
  try {
    const [data, module] = await Promise.all([fetched(twin(location)), import(`./${page_name}.js`), known(agent)]);
    if (mine !== shown) return;
    begin();
    const page = context(agent, page_name, name);
    main.replaceChildren(el("h1", {}, PAGES[page_name]));
    if (data.empty) main.append(empty(data.empty));
    else await module.show(main, data, page);
  } catch (error) {
    if (mine !== shown) return;
    begin();
    main.replaceChildren(el("h1", {}, PAGES[page_name] || "Tenon"), failure(error));
    if (error.status === 400 && location.search) main.append(el("p", {}, link(location.pathname, name ? "Show it without what the address asks for beyond it" : "Show the list without filters")));
    announce(error.message);
  }
  if (mine !== shown) return;
  main.removeAttribute("aria-busy");
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) {
    target.scrollIntoView({ block: "center" });
    target.focus({ preventScroll: true });
  } else if (moved) {
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
  } else if (focused) {
    main.querySelector(`[name="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

function begin() {
  path = location.pathname;
  revisit = null;
}

/**
 * What a page module may use. `enter` puts the query into the address as a new entry in the history, `keep` into the newest one;
 * `revisited` takes what shows the query again when the user goes back or forth between such entries.
 */
function context(agent, page, name) {
  const root = `${BASE}${encodeURIComponent(agent)}/`;
  const here = location.pathname;
  const query = new URLSearchParams(location.search);
  const address = () => here + (query.size ? "?" + query : "");
  return {
    agent,
    name,
    query,
    about,
    allowEdit: about.allow_edit,
    to: (other, one = "", parameters = {}) => {
      const given = new URLSearchParams(parameters).toString();
      return root + other + (one === "" ? "" : "/" + spelled(one)) + (given ? "?" + given : "");
    },
    title: (text) => {
      document.querySelector("#main h1").textContent = text;
      document.title = text === PAGES[page] ? `${text} – Tenon` : `${text} – ${PAGES[page]} – Tenon`;
    },
    go: (address) => go(address),
    again: () => draw(),
    enter: () => history.pushState(null, "", address()),
    keep: () => history.replaceState(null, "", address()),
    revisited: (again) => {
      revisit = () => {
        for (const key of [...query.keys()]) query.delete(key);
        for (const [key, value] of new URLSearchParams(location.search)) query.append(key, value);
        again();
      };
    },
    load: (parameters, signal) => fetched(here + ".json" + (parameters.size ? "?" + parameters : ""), { signal }),
    fetch: (address, signal) => fetched(address, { signal }),
    change: (action, fields) => fetched(root + "change.json", {
      method: "POST", headers: { "Content-Type": "application/json", "X-Tenon-Token": about.change_token || "" }, body: JSON.stringify({ action, ...fields }),
    }),
  };
}

async function known(agent) {
  if (about && about.agent === agent) return;
  about = await fetched(`${BASE}${encodeURIComponent(agent)}/about.json`);
  const select = document.querySelector("header select");
  select.replaceChildren(...about.agents.map((other) => el("option", { value: other, selected: other === agent }, other)));
  document.querySelector("header .agent").hidden = about.agents.length < 2;
  document.body.classList.toggle("editable", about.allow_edit);
}

function frame(agent, page) {
  const nav = document.querySelector("header nav");
  nav.replaceChildren(...Object.entries(PAGES).map(([name, title]) => el("a", { href: `${BASE}${encodeURIComponent(agent)}/${name}`, "aria-current": name === page ? "page" : null }, title)));
  document.title = `${PAGES[page] || page} – Tenon`;
}

function go(address) {
  history.pushState(null, "", address);
  return draw({ moved: true });
}

document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const url = new URL(anchor.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(BASE) || url.pathname.endsWith(".json") || anchor.hasAttribute("download")) return;
  if (url.pathname === location.pathname && url.search === location.search && url.hash) return;
  event.preventDefault();
  go(url.pathname + url.search + url.hash);
});
window.addEventListener("popstate", () => {
  if (!revisit || location.pathname !== path) {
    draw();
    return;
  }
  shown++; // what was on its way is not wanted any more
  document.getElementById("main").removeAttribute("aria-busy");
  const { agent, page } = parsed(location);
  frame(agent, page);
  revisit();
});
document.querySelector("header select").addEventListener("change", (event) => {
  const { page } = parsed(location);
  go(`${BASE}${encodeURIComponent(event.target.value)}/${page || "memories"}`);
});

draw();
