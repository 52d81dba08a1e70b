// What can be chosen in a list: long names shortened in the middle, the whole name as title.

import { el } from "./dom.js";

const MOST = 34;
const END = 14;

// Beginning and end say more than the middle does; names that would read alike stay whole.
function shortened(names) {
  const short = names.map((name) => {
    const letters = [...name];
    return letters.length <= MOST ? name : `${letters.slice(0, MOST - END - 1).join("")}…${letters.slice(-END).join("")}`;
  });
  return short.map((text, at) => (short.indexOf(text) === short.lastIndexOf(text) ? text : names[at]));
}

// One option a name; `valueOf` and `more`, which is said after it, take its place.
export function options(names, valueOf, more = () => "") {
  return shortened(names).map((text, at) => el("option", {
    value: valueOf(at), title: text === names[at] ? null : names[at],
  }, text + more(at)));
}
