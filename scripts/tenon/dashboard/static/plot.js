// Plots drawn by ourselves: bars, lines or dots over a row of days or sessions, and a gauge. As wide as there is room; the values are told
// on hover and by the arrow keys, and stand in a table for whoever does not see the drawing.

import { el, folded, svg, table } from "./kit.js";

const HEIGHT = 168;
const TOP = 10;
const BOTTOM = 22;
const RIGHT = 10;
const LETTER = 7.2; // pixels of a letter at a tick
const APART = 76; // pixels between two ticks of the row

/**
 * A figure. `xs` are the places of the row in order; `series` are {name, style, values}, a value for each place or null; `kind` is bars
 * (on top of each other), lines or dots. `sayX` and `sayY` word a place and a value, `tickX` a place below the axis; `limit` is {value, name}, a line across;
 * `most` is the least that the axis reaches.
 */
export function plot(given) {
  const { title, series, limit, unit = "Day" } = given;
  const frame = el("div", { class: "frame", tabindex: "0", role: "group", "aria-label": `${title}: the arrow keys go through the values` });
  const readout = el("p", { class: "readout", role: "status" });
  const beyond = limit && limit.value > highest(given);
  const across = limit ? el("li", {}, beyond ? null : el("span", { class: "dash", "aria-hidden": "true" }), `${limit.name} ${given.sayY(limit.value)}${beyond ? ", above what is drawn" : ""}`) : null;
  const legend = el("ul", { class: "legend" }, series.map((one) => el("li", {}, dot(one.style), one.name)), across);
  let drawn = null;
  let at = -1;
  const point = (place) => {
    at = place;
    drawn?.cursor(place);
    readout.textContent = place < 0 ? "" : told(given, place);
  };
  frame.addEventListener("pointermove", (event) => point(drawn.place(event.clientX - frame.getBoundingClientRect().left)));
  frame.addEventListener("pointerleave", () => point(-1));
  frame.addEventListener("blur", () => point(-1));
  frame.addEventListener("keydown", (event) => {
    const last = given.xs.length - 1;
    const to = { ArrowLeft: at < 0 ? last : Math.max(0, at - 1), ArrowRight: at < 0 ? 0 : Math.min(last, at + 1), Home: 0, End: last, Escape: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    point(to);
  });
  new ResizeObserver(() => {
    if (!frame.clientWidth || drawn?.width === frame.clientWidth) return;
    drawn = draw(given, frame.clientWidth);
    frame.replaceChildren(drawn.element);
    drawn.cursor(at);
  }).observe(frame);
  return el("figure", { class: "plot" }, el("figcaption", {}, title), legend, frame, readout, folded("The values as a table", () => values(given, unit)));
}

function dot(style) {
  return el("span", { class: `dot ${style}`, "aria-hidden": "true" });
}

/** What stands at a place, in words. */
function told({ xs, series, sayX, sayY }, place) {
  const said = series.filter((one) => one.values[place] !== null).map((one) => (series.length > 1 ? `${one.name} ` : "") + sayY(one.values[place]));
  return `${sayX(xs[place])}: ${said.join(", ") || "nothing"}`;
}

function values({ title, xs, series, sayX, sayY }, unit) {
  const places = xs.map((_, place) => place).filter((place) => series.some((one) => one.values[place])).reverse();
  const column = (one) => ({ title: one.name, kind: "number", cell: (place) => (one.values[place] === null ? "–" : sayY(one.values[place])) });
  return table(title, [{ title: unit, cell: (place) => sayX(xs[place]) }, ...series.map(column)], places);
}

function draw(given, width) {
  const { xs, series, sayY, tickX, limit, kind = "bars" } = given;
  const ticks = marked(given);
  const most = ticks[ticks.length - 1];
  const left = 8 + LETTER * Math.max(...ticks.map((value) => sayY(value).length));
  const pitch = (width - left - RIGHT) / Math.max(1, xs.length);
  const x = (place) => left + pitch * (place + 0.5);
  const y = (value) => HEIGHT - BOTTOM - ((HEIGHT - BOTTOM - TOP) * value) / most;
  const parts = ticks.flatMap((value) => [
    svg("line", { class: value ? "grid" : "axis", x1: left, x2: width - RIGHT, y1: y(value), y2: y(value) }),
    svg("text", { class: "tick", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, sayY(value)),
  ]);
  const every = Math.max(1, Math.ceil(APART / pitch));
  for (let place = xs.length - 1; place >= 0 && tickX; place -= every) {
    const half = (LETTER * tickX(xs[place]).length) / 2;
    if (x(place) - half < left - 4) break;
    const over = x(place) + half > width;
    parts.push(svg("text", { class: "tick", x: over ? width : x(place), y: HEIGHT - 6, "text-anchor": over ? "end" : "middle" }, tickX(xs[place])));
  }
  if (kind === "bars") parts.push(...stacked(series, xs, x, y, Math.max(1, Math.min(28, pitch * 0.72))));
  else if (kind === "lines") parts.push(series.map((one) => line(one, x, y)), series.map((one) => dots(one, x, y, xs.length > 40 ? 1.5 : 3)));
  else parts.push(series.map((one) => dots(one, x, y, 3)));
  if (limit && limit.value <= most) parts.push(svg("line", { class: "limit", x1: left, x2: width - RIGHT, y1: y(limit.value), y2: y(limit.value) }));
  const cursor = svg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
  const element = svg("svg", { width, height: HEIGHT, "aria-hidden": "true" }, parts, cursor);
  return {
    element,
    width,
    place: (pixels) => Math.max(0, Math.min(xs.length - 1, Math.floor((pixels - left) / pitch))),
    cursor: (place) => {
      cursor.setAttribute("visibility", place < 0 ? "hidden" : "visible");
      for (const name of ["x1", "x2"]) cursor.setAttribute(name, x(Math.max(0, place)));
    },
  };
}

function stacked(series, xs, x, y, thick) {
  return xs.flatMap((_, place) => {
    let below = 0;
    return series.filter((one) => one.values[place]).map((one) => {
      const from = below;
      below += one.values[place];
      return svg("rect", { class: one.style, x: x(place) - thick / 2, width: thick, y: y(below), height: Math.max(1, y(from) - y(below)) });
    });
  });
}

function points(one, x, y) {
  return one.values.map((value, place) => (value === null ? null : [x(place), y(value)])).filter(Boolean);
}

function line(one, x, y) {
  return svg("polyline", { class: `line ${one.style}`, points: points(one, x, y).map((point) => point.join(",")).join(" ") });
}

function dots(one, x, y, radius) {
  return points(one, x, y).map(([cx, cy]) => svg("circle", { class: one.style, cx, cy, r: radius }));
}

/** Where the axis of a figure is marked. */
function marked({ xs, series, kind = "bars", most = 0 }) {
  const each = series.flatMap((one) => one.values.map((value) => value || 0));
  const tops = kind === "bars" ? xs.map((_, place) => series.reduce((sum, one) => sum + (one.values[place] || 0), 0)) : each;
  return steps(Math.max(most, ...tops, 0));
}

function highest(given) {
  const ticks = marked(given);
  return ticks[ticks.length - 1];
}

/** Where an axis is marked: 0 and round steps up to past the most. */
function steps(most) {
  if (!(most > 0)) return [0, 1];
  const rough = most / 3;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * ten).find((each) => each >= rough * 0.999);
  return Array.from({ length: Math.ceil((most / step) * 0.999) + 1 }, (_, number) => Number((number * step).toPrecision(12)));
}

const RADIUS = 84;

/** A gauge: `share` of 1 as an arc, with marks at some shares; `style` is good, warn or bad; `said` is what it means, `below` stands under it. */
export function gauge({ title, share, marks, style, said, below }) {
  const [width, height] = [2 * RADIUS + 32, RADIUS + 30];
  const spot = (part, radius) => {
    const angle = Math.PI * (1 - Math.min(1, Math.max(0, part)));
    return [width / 2 + radius * Math.cos(angle), RADIUS + 18 - radius * Math.sin(angle)];
  };
  const arc = (to) => `M ${spot(0, RADIUS).join(" ")} A ${RADIUS} ${RADIUS} 0 0 1 ${spot(to, RADIUS).join(" ")}`;
  const drawing = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    svg("path", { class: "rim", d: arc(1) }),
    share > 0 ? svg("path", { class: `filled ${style}`, d: arc(Math.max(0.004, share)) }) : null,
    marks.map((mark) => {
      const [[x1, y1], [x2, y2]] = [spot(mark, RADIUS - 11), spot(mark, RADIUS + 11)];
      return svg("line", { class: "mark", x1, y1, x2, y2 });
    }),
    svg("text", { class: "value", x: width / 2, y: RADIUS + 6, "text-anchor": "middle" }, `${Math.round(100 * share)} %`));
  const value = { "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": Math.min(100, Math.round(100 * share)), "aria-valuetext": said };
  return el("figure", { class: "meter" }, el("div", { role: "meter", "aria-label": title, ...value }, drawing), el("figcaption", {}, below));
}
