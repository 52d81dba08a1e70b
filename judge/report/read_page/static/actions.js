// The keys of the page: those of the rubric first, which say nothing where there is nothing to label.

import { alarm } from "./dom.js";
import { allKeys } from "./draft.js";

export function actions(app) {
  const onDesk = (act) => () => (app.desk ? act(app.desk) : false);
  const image = (act) => onDesk(({ image: view }) => (view ? act(view) : false));
  const labels = new Map(app.kinds.flatMap(({ key, label, facets }) =>
    [[key, label], ...facets.flatMap((facet) => facet.labels.map((one) => [one.key, one.label]))]).filter(([key]) => key));
  return [
    ...allKeys(app.kinds).map((key) => ({ keys: key, text: labels.get(key), act: onDesk((desk) => desk.press(key)) })),
    { keys: "N", text: "no errors: done, next study", act: () => app.finish(true) },
    { keys: "G", text: "done, next study", act: () => app.finish(false) },
    { keys: "n", text: "next study, this one is not done", act: () => app.step(1) },
    { keys: "p", text: "previous study", act: () => app.step(-1) },
    { keys: "r", text: "to the reference; arrows choose words and lines, with Shift more of them", act: onDesk(({ reports }) => reports[0].box.focus()) },
    { keys: "v", text: "to the candidate", act: onDesk((desk) => desk.focus()) },
    ...(app.hasEdits ? [{ keys: "i", text: "put a line in (Enter changes one, Del deletes one)", act: onDesk((desk) => desk.begin("insert")) }] : []),
    { keys: "j", text: "next mark", act: onDesk((desk) => desk.move(1)) },
    { keys: "k", text: "previous mark", act: onDesk((desk) => desk.move(-1)) },
    { keys: "X Delete", text: "delete the mark", act: onDesk((desk) => desk.remove()) },
    { keys: "U", text: "undo, also what was saved (or Ctrl+Z)", act: () => { app.undo().catch(alarm); } },
    { keys: "C", text: "comment on the study", act: onDesk((desk) => desk.comment.focus()) },
    { keys: "q", text: "the queue", act: () => { app.all.open = !app.all.open; app.all.querySelector("[aria-current], summary")?.focus(); } },
    { keys: "+ =", text: "zoom the image in", act: image((view) => view.scale(1.4)) },
    { keys: "-", text: "zoom the image out", act: image((view) => view.scale(1 / 1.4)) },
    { keys: "0", text: "the whole image", act: image((view) => view.fit()) },
    { keys: "Escape", text: "leave a field, a mark", act: onDesk((desk) => desk.cancel()) },
    { keys: "?", text: "this help", act: () => app.keys.help() },
  ];
}
