// The pages of results. The view is named by the file, or by the address of the service.

import { runPage } from "./results/run.tsx";
import { startPage } from "./shared/page.tsx";

const { view, run } = document.documentElement.dataset;
if (view === "run" || run) {
  void startPage(() => runPage(run ?? ""));
} else {
  // @ts-expect-error: this module is JavaScript
  void import("./old/runs.js");
}
