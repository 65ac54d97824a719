// Bundles the console into the folder that the server serves: `node build.mjs [OUT]`. `--watch` builds again on every change.
import { build, context, transform } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const given = process.argv.slice(2).filter((a) => !a.startsWith("--"));
const out = given[0] ?? join(here, "..", "src", "adjourn", "server", "static");

const target = ["chrome111", "firefox115", "safari16.4"];

/** A style that comes with its part: a string in that part's script, as small as the other styles. */
const lateStyles = {
  name: "late styles",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.late\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true, charset: "utf8", target });
      return { contents: code, loader: "text", watchFiles: [path] };
    }),
};
const options = {
  entryPoints: [
    { in: join(here, "src", "main.tsx"), out: "console" },
    { in: join(here, "src", "stream.ts"), out: "stream" }, // the shared worker: one stream for all tabs
    { in: join(here, "src", "push_worker.ts"), out: "push" }, // the service worker: messages while no tab is open
    { in: join(here, "src", "style.css"), out: "console" },
    { in: join(here, "src", "demo.tsx"), out: "demo" }, // only the demo's page loads it
  ],
  outdir: out,
  bundle: true,
  plugins: [lateStyles],
  splitting: true, // a page is loaded when it is first looked at
  chunkNames: "[name]-[hash]",
  minify: true,
  format: "esm",
  charset: "utf8",
  target,
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
};

mkdirSync(out, { recursive: true });
if (process.argv.includes("--watch")) await (await context(options)).watch();
else {
  const { metafile } = await build(options);
  // The page comes last: whoever sees it is new finds the rest new as well.
  for (const name of ["icon.svg", "index.html"]) copyFileSync(join(here, name), join(out, name));
  const made = new Set(["icon.svg", "index.html", ...Object.keys(metafile.outputs).map((path) => basename(path))]);
  for (const name of readdirSync(out)) if (!made.has(name)) rmSync(join(out, name), { recursive: true, force: true });
}
