// Bundles the page into the Python package. `node build.mjs [--watch] [--out DIRECTORY]`.
// File names carry a hash of what is in them, so browsers may keep them for ever;
// index.html and meta.json (who takes how many bytes) do not.
import { copyFile, mkdir, readdir, readFile, rm, unlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const words = process.argv.slice(2);
const at = words.indexOf("--out");
const out = at >= 0 ? resolve(words[at + 1]) : join(here, "../src/duetty/edges/web/built");

/** The part itself, where esbuild names the module in front of it (`oneShell`). */
const partOf = (name) => name.replace(/^late:/, "");

/** Puts index.html beside the bundle and writes down the sizes. */
const finish = {
  name: "finish",
  setup(build) {
    build.onEnd(async (result) => {
      if (result.errors.length || !result.metafile) return;
      let outputs = Object.entries(result.metafile.outputs);
      const entry = outputs.find(([, made]) => made.entryPoint === "src/main.tsx");
      if (!entry) throw new Error("no entry point was built");
      const [script, made] = entry;
      // One style sheet for the whole page: those of single parts repeat it.
      for (const [name] of outputs.filter(([name]) => name.endsWith(".css") && name !== made.cssBundle)) await unlink(join(here, name));
      outputs = outputs.filter(([name]) => name === made.cssBundle || name.endsWith(".js"));
      const early = made.imports.filter((one) => one.kind === "import-statement").map((one) => basename(one.path));
      const page = (await readFile(join(here, "index.html"), "utf8"))
        .replace("%SCRIPT%", `assets/${basename(script)}`)
        .replace("%STYLE%", `assets/${basename(made.cssBundle)}`)
        .replace("%EARLY%", early.map((name) => `<link rel="modulepreload" href="%BASE%assets/${name}">`).join("\n"));
      await writeFile(join(out, "index.html"), page);
      const sizes = {};
      for (const [name, each] of outputs) {
        const content = await readFile(join(here, name));
        sizes[basename(name)] = {
          entry: each.entryPoint ? partOf(each.entryPoint) : null,
          bytes: content.length,
          gzip: gzipSync(content, { level: 9 }).length,
          imports: each.imports.filter((one) => !one.external).map((one) => ({ file: basename(one.path), kind: one.kind })),
          inputs: Object.keys(each.inputs),
        };
      }
      const imports = Object.fromEntries(
        Object.entries(result.metafile.inputs)
          .filter(([name]) => !name.startsWith("late:"))
          .map(([name, input]) => [name, input.imports.map((one) => partOf(one.path))]),
      );
      const shell = { script: basename(script), style: basename(made.cssBundle) };
      await writeFile(join(out, "meta.json"), JSON.stringify({ shell, sizes, imports }, null, 1));
    });
  },
};

/**
 * Everything that is loaded later imports the entry, which is there by then. esbuild makes a file of what the same parts
 * share: like this all of the shell is one file, not a dozen small ones that pack worse. A small module in
 * front of each such part does it, since one screen loads a part later that another has at once.
 */
const oneShell = {
  name: "one shell",
  setup(build) {
    build.onResolve({ filter: /^\.\.?\// }, async ({ kind, path, resolveDir }) => {
      if (kind !== "dynamic-import") return null;
      const found = await build.resolve(path, { kind: "import-statement", resolveDir });
      return found.errors.length ? found : { path: relative(here, found.path), namespace: "late" };
    });
    build.onLoad({ filter: /./, namespace: "late" }, ({ path }) => ({
      contents: `import "./src/main.tsx"; export * from ${JSON.stringify(`./${path}`)};`,
      resolveDir: here,
    }));
  },
};

/** `X.late.module.css` travels inside the part that uses it, and not in the page's one style sheet. */
const lateStyles = {
  name: "late styles",
  setup(build) {
    build.onLoad({ filter: /\.late\.module\.css$/ }, async ({ path }) => {
      const { outputFiles } = await esbuild.build({
        stdin: { contents: `export { default } from ${JSON.stringify(path)}`, resolveDir: here },
        absWorkingDir: here,
        bundle: true,
        write: false,
        outdir: out,
        format: "esm",
        loader: { ".css": "local-css" },
        target: options.target,
        minifyWhitespace: true,
        minifySyntax: true,
      });
      const text = (ending) => outputFiles.find((each) => each.path.endsWith(ending)).text;
      const wear = `const sheet=new CSSStyleSheet();sheet.replaceSync(${JSON.stringify(text(".css"))});document.adoptedStyleSheets.push(sheet);`;
      return { contents: text(".js") + wear, loader: "js", watchFiles: [path] };
    });
  },
};

await rm(out, { recursive: true, force: true });
await mkdir(join(out, "assets"), { recursive: true });
for (const name of await readdir(join(here, "static"))) await copyFile(join(here, "static", name), join(out, name));

const options = {
  absWorkingDir: here,
  entryPoints: ["src/main.tsx"],
  outdir: join(out, "assets"),
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022", "chrome111", "firefox113", "safari16.4"],
  minify: true,
  metafile: true,
  legalComments: "linked",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".svg": "dataurl" },
  logLevel: "warning",
  plugins: [oneShell, lateStyles, finish],
};

if (words.includes("--watch")) {
  const context = await esbuild.context({ ...options, minify: false });
  await context.watch();
} else {
  await esbuild.build(options);
}
