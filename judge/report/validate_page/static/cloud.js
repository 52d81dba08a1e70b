// A figure of cells: a circle stands for all studies of which the judge and the readers counted
// alike, its area for how many. It can be pointed at, and reached by the arrow keys.

import { el } from "./dom.js";
import { countText } from "./cells.js";
import { count } from "./words.js";

const SPACE_NAME = "http://www.w3.org/2000/svg";
const [WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM] = [440, 360, 46, 10, 10, 44];
const [SMALLEST, LARGEST] = [4, 15];
const MOST_TICKS = 7;

function svg(tag, properties, ...children) {
  const element = document.createElementNS(SPACE_NAME, tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

function ticksOf([low, high]) {
  const steps = [1, 2, 5].flatMap((one) => [1, 10, 100, 1000].map((by) => one * by)).sort((a, b) => a - b);
  const step = steps.find((one) => (high - low) / one <= MOST_TICKS) ?? Math.ceil((high - low) / MOST_TICKS);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(at);
  return found;
}

function endsOf(values) {
  const [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [0, 1]);
  return [low - 0.5, high + 0.5];
}

// `cells` have a `key`, their place `x` and `y`, their `rows` and the `words` that say what they
// are; `levels` go across, each with `value`, `low` and `high`, the first solid.
export function cloud({ id, title, across, down, cells, levels, isSquare, chosen, open }) {
  let [xs, ys] = [endsOf(cells.map(({ x }) => x)),
    endsOf([...cells.map(({ y }) => y), ...levels.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value])])];
  if (isSquare) xs = ys = [Math.min(xs[0], ys[0]), Math.max(xs[1], ys[1])];
  const toX = (value) => LEFT + (value - xs[0]) / (xs[1] - xs[0]) * (WIDE - LEFT - RIGHT);
  const toY = (value) => HIGH - BOTTOM - (value - ys[0]) / (ys[1] - ys[0]) * (HIGH - TOP - BOTTOM);
  const line = (kind, x1, y1, x2, y2) => svg("line", { class: kind, x1, y1, x2, y2 });
  const level = (value, kind) => line(kind, LEFT, toY(value), WIDE - RIGHT, toY(value));
  const word = (text, x, y, more = {}) => svg("text", { x, y, "text-anchor": "middle", ...more }, text);
  const most = Math.max(1, ...cells.map(({ rows }) => rows.length));
  const places = [...cells].sort((a, b) => b.rows.length - a.rows.length || a.x - b.x || a.y - b.y);
  const dots = places.map((cell) => dot(cell, toX(cell.x), toY(cell.y), most, cell.key === chosen, open));
  // One stop of the tab key; the arrows go on from there.
  (dots.find((_, at) => places[at].key === chosen) ?? dots[0])?.setAttribute("tabindex", "0");
  const group = svg("g", { role: "group", "aria-label": `${title}: points, arrow keys go from one to the next` }, ...dots);
  group.addEventListener("keydown", (event) => walk(event, dots));
  const drawn = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "cloud", id, "aria-labelledby": `${id}-title` },
    ...ticksOf(xs).flatMap((at) => [line("grid-line", toX(at), TOP, toX(at), HIGH - BOTTOM), word(countText(at), toX(at), HIGH - BOTTOM + 17)]),
    ...ticksOf(ys).flatMap((at) => [level(at, "grid-line"), word(countText(at), LEFT - 6, toY(at) + 4, { "text-anchor": "end" })]),
    ...levels.filter(({ low }) => low !== null).map(({ low, high }) => svg("rect", {
      class: "band", x: LEFT, width: WIDE - LEFT - RIGHT, y: toY(high), height: toY(low) - toY(high),
    })),
    isSquare ? line("even", toX(xs[0]), toY(xs[0]), toX(xs[1]), toY(xs[1])) : level(0, "even"),
    ...levels.map(({ value }, at) => level(value, at ? "limit" : "bias")),
    group,
    word(across, (LEFT + WIDE - RIGHT) / 2, HIGH - 6),
    word(down, 0, 0, { transform: `translate(12 ${(TOP + HIGH - BOTTOM) / 2}) rotate(-90)` }));
  return el("figure", { class: "figure" }, el("h3", { id: `${id}-title` }, title), drawn);
}

function dot(cell, x, y, most, isChosen, open) {
  const words = `${cell.words}: ${count(cell.rows.length, "study", "studies")}`;
  const element = svg("circle", {
    class: isChosen ? "dot chosen" : "dot", cx: x, cy: y, role: "button", tabindex: "-1", "data-cell": cell.key,
    r: Math.max(SMALLEST, LARGEST * Math.sqrt(cell.rows.length / most)), "aria-label": words,
    "aria-pressed": String(isChosen),
  }, svg("title", {}, words));
  element.addEventListener("click", () => open(cell.key));
  return element;
}

const WAYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

// To the nearest point that way, what lies ahead before what lies aside.
function walk(event, dots) {
  const here = event.target;
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    here.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    return;
  }
  const way = WAYS[event.key];
  if (!way) return;
  event.preventDefault();
  const place = (one) => [one.cx.baseVal.value, one.cy.baseVal.value];
  const [x, y] = place(here);
  let best = { cost: Infinity, one: null };
  for (const one of dots) {
    const [dx, dy] = [place(one)[0] - x, place(one)[1] - y];
    const ahead = dx * way[0] + dy * way[1];
    const cost = ahead + 3 * Math.abs(way[0] ? dy : dx);
    if (ahead > 0.01 && cost < best.cost) best = { cost, one };
  }
  if (!best.one) return;
  here.setAttribute("tabindex", "-1");
  best.one.setAttribute("tabindex", "0");
  best.one.focus();
}
