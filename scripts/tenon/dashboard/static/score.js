// A score in parts, in the same words and colours on every page; what the words mean is told by the server.

import { bar, el, folded } from "./kit.js";

const STYLES = { likeness: "p1", match: "p2", bm25: "p3", strength: "p4", fit: "p5", linked: "p6", session: "p7", newer: "p8", recency: "p8", citations: "p9" };

/** The parts of a score as one bar, each in words and numbers; a bar of full length is a score of 1. Null where there is no score. */
export function score(hit, means) {
  if (hit.score === null) return null;
  const part = ({ name, value, weight }) => ({ name: means[name].label, value: value * weight, said: (value * weight).toFixed(2), style: STYLES[name] });
  const parts = hit.parts.map(part).filter((one) => one.value >= 0.005).sort((a, b) => b.value - a.value);
  return el("div", { class: "score" }, el("span", { class: "sum" }, `score ${hit.score.toFixed(2)}`), bar(parts, Math.max(1, hit.score)));
}

/** What the parts mean, folded. */
export function meanings(means) {
  const part = ([name, { label, says }]) => el("div", {}, el("dt", {}, el("span", { class: `dot ${STYLES[name]}`, "aria-hidden": "true" }), label), el("dd", {}, says));
  return folded("What the parts of a score mean", el("dl", { class: "means" }, Object.entries(means).map(part)));
}
