// The pages of results. The view is named by the file, or by the address of the service.

import { comparisonPage } from "./results/comparison.tsx";
import { livePage } from "./results/live.tsx";
import { runPage } from "./results/run.tsx";
import { runsPage } from "./results/runs.tsx";
import { validationPage } from "./results/validation.tsx";
import { startPage } from "./shared/page.tsx";

const { view, run } = document.documentElement.dataset;
if (view === "live") {
  void startPage(() => livePage(run ?? ""));
} else if (view === "run" || run) {
  void startPage(() => runPage(run ?? ""));
} else if (view === "comparison" || location.pathname === "/compare") {
  void startPage(comparisonPage);
} else if (view === "validation") {
  void startPage(validationPage);
} else {
  void startPage(runsPage);
}
