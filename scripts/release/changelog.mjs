/**
 * What CHANGELOG.md says of a version. `node scripts/release/changelog.mjs` dates what is unreleased, as `npm version` asks it to
 * before it commits; with `--check` it only refuses what it would not date, before `npm version` has changed a file; with
 * `--notes` it prints the text of package.json's version. A prerelease (`0.3.0-rc.1`) is what is unreleased by then, and leaves it there for
 * the version that it is of.
 */
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runMain, SetupError } from "../setup/report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** The text below a heading, up to the next one; undefined without it. */
function below(text, heading) {
  const [, after] = `\n${text}`.split(`\n## ${heading}`);
  return after
    ?.replace(/^[^\n]*\n/, "")
    .split("\n## ")[0]
    .trim();
}

const isPrerelease = (version) => version.includes("-");

/** The changelog with what is unreleased under a version and a day; as it was for a prerelease. */
export function dated(text, version, day) {
  if (!below(text, "Unreleased"))
    throw new SetupError(
      "CHANGELOG.md: expected lines under ## Unreleased, got none. Remedy: say what changed.",
    );
  if (below(text, `${version} `) !== undefined)
    throw new SetupError(`CHANGELOG.md: ${version} stands there already. Remedy: another version.`);
  if (isPrerelease(version)) return text;
  return text.replace("## Unreleased\n", `## Unreleased\n\n## ${version} (${day})\n`);
}

/** What changed in a version. */
export function notesOf(text, version) {
  const notes = below(text, isPrerelease(version) ? "Unreleased" : `${version} `);
  if (notes === undefined)
    throw new SetupError(`CHANGELOG.md: expected a heading of ${version}. Remedy: npm version ${version}.`);
  return notes;
}

async function main() {
  const path = join(root, "CHANGELOG.md");
  const text = await readFile(path, "utf8");
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const day = new Date().toISOString().slice(0, 10);
  // npm says to which version it goes.
  if (process.argv.includes("--check")) dated(text, process.env.npm_new_version ?? version, day);
  else if (process.argv.includes("--notes")) process.stdout.write(`${notesOf(text, version)}\n`);
  else await writeFile(path, dated(text, version, day));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runMain(main);
