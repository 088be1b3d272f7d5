/** Publishes a release's tarballs with provenance: `node scripts/release/publish.mjs FOLDER`, in the workflow that built them. */
import { publishAll } from "../pack/publish.mjs";
import { tarballsIn } from "../pack/tarball.mjs";
import { runMain, SetupError } from "../setup/report.mjs";
import { requirePublishable } from "./publishable.mjs";

await runMain(async () => {
  // What is published cannot be taken back, and provenance is signed with the workflow's token: nothing else may publish.
  if (process.env.ACTIONS_ID_TOKEN_REQUEST_URL === undefined)
    throw new SetupError(
      "publishing: expected the release workflow and its token. Remedy: push a tag (npm version X); " +
        "npm run pack:check is the dry run.",
    );
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new SetupError("expected the folder of the tarballs, got nothing.");
  await requirePublishable(folder);
  await publishAll(await tarballsIn(folder), { publish: ["--provenance", "--access", "public"] });
});
