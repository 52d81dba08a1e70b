// Starts the page: which view it is, the address of the service or the file itself says.

import { begin } from "./dom.js";
import { comparisonPage } from "./comparison.js";
import { runPage } from "./run.js";
import { runsPage } from "./runs.js";
import { stressPage } from "./stress.js";
import { validationPage } from "./validation.js";

const PAGES = { comparison: comparisonPage, run: runPage, stress: stressPage, validation: validationPage };

begin(async () => {
  const { view, run, reader } = document.documentElement.dataset;
  if (view) await PAGES[view]();
  else if (run) await runPage(run, reader);
  else if (location.pathname === "/compare") await comparisonPage();
  else await runsPage();
});
