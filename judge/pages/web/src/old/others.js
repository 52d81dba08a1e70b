// Starts the pages that are not moved yet.

import { comparisonPage } from "./comparison.js";
import { begin } from "./dom.js";
import { validationPage } from "./validation.js";

begin(async () => {
  if (document.documentElement.dataset.view === "validation") await validationPage();
  else await comparisonPage();
});
