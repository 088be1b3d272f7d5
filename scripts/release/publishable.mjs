/** Refuses to publish what npm would refuse half-way, when others of the release are out already, and pages that would be false. */
import { requireListed } from "../pack/sbom.mjs";
import { manifestOf, namesIn, tarballsIn, textsIn } from "../pack/tarball.mjs";
import { SetupError } from "../setup/report.mjs";

/** A sentence of before the first release. */
const untilPublished = /\bon\s+npm\s+yet\b/;

/** Throws a SetupError for a page that says that what is published is not there. */
async function requireTruePages(path) {
  const pages = (await namesIn(path)).filter((name) => name.endsWith(".md"));
  for (const [name, text] of await textsIn(path, pages)) {
    const start = text.search(untilPublished);
    if (start === -1) continue;
    const before = text.slice(0, start).split("\n");
    throw new SetupError(
      `${path}: ${name}:${before.length} says "${text.split("\n")[before.length - 1]}". ` +
        "Remedy: say where it is, as CONTRIBUTING.md's Releases has it.",
    );
  }
}

/**
 * Throws a SetupError for a folder with a tarball that cannot be published with provenance, whose pages say that it is not
 * on npm, or that its list of parts does not name.
 */
export async function requirePublishable(folder) {
  for (const path of await tarballsIn(folder)) {
    if ((await manifestOf(path)).repository === undefined)
      throw new SetupError(
        `${path}: expected a repository in its manifest, which npm compares with the workflow's, got none. ` +
          "Remedy: pack it where GITHUB_REPOSITORY names it, as the release workflow does.",
      );
    await requireTruePages(path);
  }
  await requireListed(folder);
}
