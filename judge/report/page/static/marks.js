// A report with the words marked that errors speak of, and its edit.

import { clipped, el, said } from "./dom.js";

export function report(title, segments, study) {
  const name = title.toLowerCase();
  const text = segments.length
    ? segments.flatMap(({ text: part, errors }) => clipped(part, (piece) => marked(piece, errors, study)))
    : [el("em", {}, "(empty)")];
  return el("section", { class: "report", "aria-labelledby": `${name}-title` },
    el("h3", { id: `${name}-title` }, title),
    el("div", { class: "text", dir: "auto" }, ...text));
}

function marked(text, errors, study) {
  if (!errors.length) return text;
  const tone = study.labels.gravest(errors.map((at) => study.view.items[at]));
  return el("mark", {
    class: `tone-${tone}`,
    tabindex: "0",
    "data-errors": errors.join(" "),
    "aria-describedby": errors.map((at) => `error-${at}-words`).join(" "),
  }, el("bdi", {}, text), el("sup", { "aria-hidden": "true", "data-numbers": errors.map((at) => at + 1).join(",") }));
}

export function edit(rows, study) {
  return el("section", { class: "edit", "aria-labelledby": "edit-title" },
    el("h3", { id: "edit-title" }, "The candidate, corrected"),
    rows.length ? el("ol", { class: "edit-rows" }, rows.map((row) => editRow(row, study)))
      : el("p", {}, "(empty)"));
}

function editRow(row, study) {
  const number = row.line === null ? "+" : String(row.line);
  const tone = row.error === null ? "" : ` tone-${study.labels.grade(study.view.items[row.error]).tone}`;
  return el("li", {
    class: `edit-row ${row.kind}${tone}`,
    "data-errors": row.error === null ? null : String(row.error),
  },
  el("span", { class: "line-number" }, el("span", { class: "unseen" }, row.line === null ? "new line" : "line "),
    row.line === null ? el("span", { "aria-hidden": "true" }, number) : number),
  el("span", { class: "line-text", dir: "auto" }, ...lineText(row)),
  row.error === null ? null : el("a", { class: "error-link", href: `#error-${row.error}`, "data-to": String(row.error) },
    `error ${row.error + 1}`));
}

function lineText(row) {
  const out = (text) => el("del", {}, ...clipped(text, said));
  const put = (text) => el("ins", {}, ...clipped(text, said));
  switch (row.kind) {
    case "same":
      return clipped(row.before, said);
    case "delete":
      return [out(row.before)];
    case "insert":
      return [put(row.after)];
    default:
      return row.diff.flatMap(({ change, text }, at) => {
        if (change === "same") return clipped(text, said);
        if (change === "in") return [put(text)];
        // What is put in right after what is taken out must not run into it.
        const next = row.diff[at + 1];
        const apart = next?.change === "in" && !/\s$/.test(text) && !/^\s/.test(next.text);
        return [out(text), apart ? " " : ""];
      });
  }
}

// Lights up an error wherever it shows: its words in both reports, its line, its card.
export function light(root, numbers) {
  for (const element of root.querySelectorAll("[data-errors]")) {
    const own = element.dataset.errors.split(" ");
    element.classList.toggle("lit", own.some((at) => numbers.includes(at)));
  }
}

export function linkMarks(root) {
  const over = (event) => {
    const element = event.target.closest?.("[data-errors]");
    light(root, element ? element.dataset.errors.split(" ") : []);
  };
  root.addEventListener("pointerover", over);
  root.addEventListener("focusin", over);
  root.addEventListener("pointerleave", () => light(root, []));
}
