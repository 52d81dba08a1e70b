// Bundles the scripts of the pages into judge/pages/static; with --watch, again after each change.

import { context } from "esbuild";

const watches = process.argv.includes("--watch");
const build = await context({
  entryPoints: ["src/results.ts", "src/reading.ts"],
  outdir: process.env.JUDGE_PAGES_OUT ?? "../static",
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  minify: !watches,
  sourcemap: watches ? "inline" : false,
  logLevel: "info",
});
if (watches) {
  await build.watch();
} else {
  await build.rebuild();
  await build.dispose();
}
