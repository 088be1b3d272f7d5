/** Refuses to publish what npm would refuse half-way, when others of the release are out already. */
import { requireListed } from "../pack/sbom.mjs";
import { manifestOf, tarballsIn } from "../pack/tarball.mjs";
import { SetupError } from "../setup/report.mjs";

/** Throws a SetupError for a folder with a tarball that cannot be published with provenance, or that its list of parts does not name. */
export async function requirePublishable(folder) {
  for (const path of await tarballsIn(folder))
    if ((await manifestOf(path)).repository === undefined)
      throw new SetupError(
        `${path}: expected a repository in its manifest, which npm compares with the workflow's, got none. ` +
          "Remedy: pack it where GITHUB_REPOSITORY names it, as the release workflow does.",
      );
  await requireListed(folder);
}
