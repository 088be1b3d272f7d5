/** Publishes a release's tarballs with provenance: `node scripts/release/publish.mjs FOLDER`, in the workflow that built them. */
import { publishAll } from "../pack/publish.mjs";
import { tarballsIn } from "../pack/tarball.mjs";
import { runMain, SetupError } from "../setup/report.mjs";

await runMain(async () => {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new SetupError("expected the folder of the tarballs, got nothing.");
  await publishAll(await tarballsIn(folder), { publish: ["--provenance", "--access", "public"] });
});
