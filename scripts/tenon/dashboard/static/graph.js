// The memories around one, drawn: where each stands is worked out by forces, the same for the same memories on every visit, and nothing moves.

import { counted, el, folded, link, svg, tag } from "./kit.js";

const KINDS = {
  supersedes: ["supersedes", true], contradicts: ["contradicts", true], refines: ["refines", true], supports: ["supports", true],
  related_to: ["related to", false], associated: ["comes up together with", false],
};
const LETTERS = 20; // of a line of a label; fewer where the window is narrow
const FEW = 24; // memories whose labels have two lines
const LINE = 15, EDGE = 8;
const FONT = "12px system-ui, sans-serif";
const SMALL = 6; // memories of which the picture is kept together
const ROUNDS = 260; // of the forces, and then at most as many to set labels apart
const CROWDED = 0.3; // share of the picture that nodes and labels may take
const GOLDEN = Math.PI * (3 - Math.sqrt(5));
const TURNS = /[\u0000-\u001f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g; // would turn the direction of what stands beside them

/** A figure of the memories around the first of `around.nodes`, with a legend, and the same in words. */
export function drawn(around, page) {
  const frame = el("div", { class: "graph" });
  const figure = el("figure", {}, frame, legend(around.links), folded("The same in words", () => inWords(around, page)));
  let width = 0;
  const again = () => {
    if (!frame.isConnected || Math.abs(frame.clientWidth - width) < 24) return;
    width = frame.clientWidth;
    frame.replaceChildren(picture(around, page, Math.max(260, width)));
  };
  new ResizeObserver(again).observe(frame);
  return figure;
}

function picture(around, page, width) {
  const letters = width < 500 ? 15 : LETTERS;
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = FONT;
  const nodes = around.nodes.map((node) => {
    const label = lines(node.text, letters, around.nodes.length > FEW ? 1 : 2);
    const radius = 4 + 3 * Math.min(1, node.strength / 1.5) + (node.step ? 0 : 2);
    return { ...node, label, radius, wide: Math.max(...label.map((words) => measure.measureText(words).width * (node.step ? 1 : 1.1)), 2 * radius) + 14, high: 2 * radius + 9 + LINE * label.length, x: 0, y: 0 };
  });
  const at = new Map(nodes.map((node) => [node.ref, node]));
  const links = around.links.map((one) => ({ ...one, a: at.get(one.from), b: at.get(one.to) })).filter((one) => one.a && one.b);
  const area = nodes.reduce((sum, node) => sum + node.wide * node.high, 0);
  const small = nodes.length <= SMALL;
  const room = small ? Math.min(width, 150 + 110 * nodes.length) : width;
  arrange(nodes, links, room, Math.max(small ? 60 + 45 * nodes.length : 260, Math.min(90 * nodes.length, small ? 0 : 440), area / (CROWDED * room)));
  const top = Math.min(...nodes.map((node) => node.y - node.high / 2)) - EDGE;
  for (const node of nodes) {
    node.x += (width - room) / 2;
    node.y -= top;
  }
  const height = Math.ceil(Math.max(...nodes.map((node) => node.y + node.high / 2)) + EDGE);
  const strokes = links.map((one) => line(one));
  const lit = (node) => strokes.forEach((drawnLine, place) => drawnLine.classList.toggle("lit", node !== null && (links[place].a === node || links[place].b === node)));
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${counted(nodes.length, "memory", "memories")} around this one` },
    strokes, nodes.map((node) => dot(node, page, lit)));
}

/** The beginning of a text in so many lines. */
function lines(text, letters, most) {
  let left = [...text.replace(TURNS, " ").replace(/\s+/g, " ").trim()];
  const found = [];
  while (left.length && found.length < most) {
    const last = found.length === most - 1;
    const space = left.slice(0, letters + 1).lastIndexOf(" ");
    const end = left.length <= letters ? left.length : last ? letters - 1 : space > letters / 2 ? space : letters;
    found.push(left.slice(0, end).join("").trim() + (last && end < left.length ? "…" : ""));
    left = left.slice(end);
  }
  return found.length ? found : ["…"];
}

// ---------------------------------------------------------------- where everything stands

/** Sets x and y of every node: pushed apart by all others, pulled together by links, then moved until no label lies on another. */
export function arrange(nodes, links, width, height) {
  const apart = 0.5 * Math.sqrt((width * height) / nodes.length);
  const flat = width / height > 1 ? Math.min(1.8, Math.sqrt(width / height)) : 1; // labels are wide, so what is beside stands further off
  nodes.forEach((node, place) => {
    const away = (node.step ? 0.2 + 0.25 * node.step : 0) * Math.min(width, height * 1.4) * 0.6;
    node.x = width / 2 + Math.cos(place * GOLDEN) * away;
    node.y = height / 2 + Math.sin(place * GOLDEN) * away * 0.7;
  });
  for (let round = 0; round < ROUNDS; round++) {
    const most = 0.12 * width * (1 - round / ROUNDS) ** 1.5 + 0.5;
    for (const node of nodes) node.push = [(width / 2 - node.x) * 0.5, (height / 2 - node.y) * 0.9];
    for (let i = 0; i < nodes.length; i++) for (let j = 0; j < i; j++) pushed(nodes[i], nodes[j], flat, apart);
    for (const one of links) pulled(one.a, one.b, flat, apart, one.kind === "associated" ? 0.5 * one.strength : 1);
    for (const node of nodes) moved(node, most, width, height);
  }
  for (let round = 0; round < ROUNDS && unstacked(nodes, width, height); round++);
}

function pushed(a, b, flat, apart) {
  const dx = (a.x - b.x) / flat || 0.1, dy = a.y - b.y || 0.1;
  const force = (apart * apart) / Math.max(dx * dx + dy * dy, 25);
  a.push[0] += dx * force * flat; a.push[1] += dy * force;
  b.push[0] -= dx * force * flat; b.push[1] -= dy * force;
}

function pulled(a, b, flat, apart, weight) {
  const dx = (a.x - b.x) / flat, dy = a.y - b.y;
  const force = (weight * Math.hypot(dx, dy)) / apart;
  a.push[0] -= dx * force * flat; a.push[1] -= dy * force;
  b.push[0] += dx * force * flat; b.push[1] += dy * force;
}

function moved(node, most, width, height) {
  const length = Math.hypot(...node.push) || 1;
  if (node.step) {
    node.x += (node.push[0] / length) * Math.min(length, most);
    node.y += (node.push[1] / length) * Math.min(length, most);
  }
  inside(node, width, height);
}

function inside(node, width, height) {
  node.x = Math.min(width - node.wide / 2, Math.max(node.wide / 2, node.x));
  node.y = Math.min(height - node.high / 2, Math.max(node.high / 2, node.y));
}

/** Moves what lies on each other apart, along the shorter way; whether there was anything. */
function unstacked(nodes, width, height) {
  let any = false;
  for (let i = 0; i < nodes.length; i++) {
    for (let j = 0; j < i; j++) {
      const a = nodes[i], b = nodes[j];
      const dx = (a.wide + b.wide) / 2 - Math.abs(a.x - b.x), dy = (a.high + b.high) / 2 - Math.abs(a.y - b.y);
      if (dx <= 0.01 || dy <= 0.01) continue;
      any = true;
      const share = b.step ? 0.5 : 1; // the one in the middle stays
      if (dx < dy) {
        const side = a.x === b.x ? 1 : Math.sign(a.x - b.x);
        a.x += side * dx * share; b.x -= side * dx * (1 - share);
      } else {
        const side = a.y === b.y ? 1 : Math.sign(a.y - b.y);
        a.y += side * dy * share; b.y -= side * dy * (1 - share);
      }
      inside(a, width, height);
      inside(b, width, height);
    }
  }
  return any;
}

// ---------------------------------------------------------------- how it is drawn

function line({ a, b, kind, status, strength }) {
  const [words, directed] = KINDS[kind] || [kind, true];
  const from = foot(a), to = foot(b);
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
  const [ux, uy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
  const end = [to[0] - ux * (b.radius + 3), to[1] - uy * (b.radius + 3)];
  const together = kind === "associated";
  return svg("g", { class: `link ${kind}${status === "proposed" ? " proposed" : ""}` }, svg("title", {}, `${a.label.join(" ")} ${words} ${b.label.join(" ")}${status === "proposed" ? " (proposed)" : ""}`),
    svg("line", { x1: from[0] + ux * (a.radius + 2), y1: from[1] + uy * (a.radius + 2), x2: end[0], y2: end[1], "stroke-width": together ? 1.2 : 1.6, "stroke-opacity": together ? (0.25 + 0.75 * strength).toFixed(2) : null }),
    directed && svg("path", { d: `M${end} L${[end[0] - 8 * ux - 3.5 * uy, end[1] - 8 * uy + 3.5 * ux]} L${[end[0] - 8 * ux + 3.5 * uy, end[1] - 8 * uy - 3.5 * ux]} Z` }));
}

/** Where a node's dot is: its place is the middle of dot and label. */
function foot(node) {
  return [node.x, node.y - node.high / 2 + node.radius + 3];
}

function dot(node, page, lit) {
  const [x, y] = foot(node);
  const address = page.to("memories", node.ref);
  const follow = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    page.go(address);
  };
  return svg("a", { href: address, class: `node ${node.tier} ${node.status}${node.step ? "" : " middle"}`, "aria-current": node.step ? null : "true",
    onclick: follow, onfocus: () => lit(node), onblur: () => lit(null), onpointerenter: () => lit(node), onpointerleave: () => lit(null) },
  svg("title", {}, `${node.kind.replaceAll("_", " ")}: ${node.text}`), svg("rect", { x: x - node.wide / 2 + 4, y: node.y - node.high / 2, width: node.wide - 8, height: node.high, rx: 4 }),
  svg("rect", { class: "behind", x: x - (node.wide - 10) / 2, y: y + node.radius + 2, width: node.wide - 10, height: LINE * node.label.length + 3 }),
  svg("circle", { cx: x, cy: y, r: node.radius }), svg("text", { x, y: y + node.radius, "text-anchor": "middle", "aria-hidden": "true" }, node.label.map((words) => svg("tspan", { x, dy: LINE }, words))));
}

function legend(links) {
  const present = Object.entries(KINDS).filter(([kind]) => links.some((one) => one.kind === kind));
  const sample = (name) => svg("svg", { width: 28, height: 10, "aria-hidden": "true" }, svg("g", { class: `link ${name}` }, svg("line", { x1: 1, y1: 5, x2: 27, y2: 5, "stroke-width": 2 })));
  return el("figcaption", {}, el("ul", { class: "legend" }, present.map(([kind, [words]]) => el("li", {}, sample(kind), " ", words)),
    links.some((one) => one.status === "proposed") && el("li", {}, sample("related_to proposed"), " proposed, fainter"),
    el("li", {}, "filled: long-term, hollow: short-term, struck through: superseded")));
}

function inWords({ nodes, links }, page) {
  const named = new Map(nodes.map((node) => [node.ref, node]));
  const ends = (ref) => links.filter((one) => one.from === ref || one.to === ref);
  return el("ul", { class: "inwords" }, nodes.map((node) => el("li", { dir: "auto" }, link(page.to("memories", node.ref), node.text), " ", tag(node.kind.replaceAll("_", " ")),
    el("ul", {}, ends(node.ref).filter((one) => one.from === node.ref || !KINDS[one.kind]?.[1]).map((one) => el("li", { class: "faint", dir: "auto" },
      `${(KINDS[one.kind] || [one.kind])[0]}: ${named.get(one.from === node.ref ? one.to : one.from).text}${one.status === "proposed" ? " (proposed)" : ""}`))))));
}
