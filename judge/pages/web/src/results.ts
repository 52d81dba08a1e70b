// The pages of results. The view is named by the file, or by the address of the service.

import { livePage } from "./results/live.tsx";
import { runPage } from "./results/run.tsx";
import { runsPage } from "./results/runs.tsx";
import { startPage } from "./shared/page.tsx";

const { view, run, source } = document.documentElement.dataset;
if (view === "live") {
  void startPage(() => livePage(run ?? ""));
} else if (view === "run" || run) {
  void startPage(() => runPage(run ?? ""));
} else if (view || source) {
  // @ts-expect-error: this module is JavaScript
  void import("./old/others.js");
} else {
  void startPage(runsPage);
}
