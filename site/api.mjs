/** Writes the reference of the library, what every entry of the package exports, as pages: `node site/api.mjs FOLDER BASE`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Application, Comment, Converter } from "typedoc";
import { root } from "./pages.mjs";

/** The source behind each name that users import from: `lib/search` behind `seekrl/search`. */
function entriesOf() {
  const { name, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return Object.entries(exports)
    .filter(([, target]) => typeof target === "object")
    .map(([path, { types }]) => [sourceOf(types), name + path.slice(1)]);
}

function sourceOf(types) {
  return /^\.\/dist\/(.+)\.d\.ts$/.exec(types)[1];
}

/** TypeDoc calls a folder's index by the folder's name. */
function moduleOf(source) {
  return source.replace(/\/index$/, "");
}

/** What an entry is for: the sentence that opens its source, without the entry's own name. */
function sentenceOf(source) {
  const [, sentence] = /^\/\*\* (?:`[^`]+`: )?(.+) \*\/$/m.exec(
    readFileSync(join(root, `${source}.ts`), "utf8"),
  );
  return sentence[0].toUpperCase() + sentence.slice(1);
}

function commentOf(text) {
  return new Comment([{ kind: "text", text }]);
}

async function writeApi(out, base) {
  const names = entriesOf();
  const entries = new Map(names.map(([source, name]) => [moduleOf(source), { source, name }]));
  const app = await Application.bootstrap({
    entryPoints: names.map(([source]) => join(root, `${source}.ts`)),
    tsconfig: join(root, "tsconfig.json"),
    out,
    name: "SeekRL",
    readme: "none",
    // The compiler checks types; here it would do so a second time.
    skipErrorChecking: true,
    excludeInternal: true,
    excludePrivate: true,
    disableSources: true,
    hideGenerator: true,
    // Beside each name in a list of names.
    useFirstParagraphOfCommentAsSummary: true,
    navigationLinks: { Documentation: `${base}index.html` },
    logLevel: "Warn",
    treatWarningsAsErrors: true,
  });
  // Before they are sorted.
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    project.comment = commentOf(
      `What each entry of the package exports; [the documentation](${base}index.html) says how it is used.`,
    );
    for (const module of project.children ?? []) {
      const entry = entries.get(module.name);
      module.comment = commentOf(sentenceOf(entry.source));
      module.name = entry.name;
    }
  });
  const project = await app.convert();
  if (project) await app.generateOutputs(project);
  if (!project || app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1;
}

await writeApi(process.argv[2], process.argv[3]);
