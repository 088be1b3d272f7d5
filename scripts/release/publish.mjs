/** Publishes a release's tarballs with provenance: `node scripts/release/publish.mjs FOLDER`, in the workflow that built them. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { publishAll } from "../pack/publish.mjs";

const [folder] = process.argv.slice(2);
const names = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
await publishAll(
  names.map((name) => join(folder, name)),
  { publish: ["--provenance", "--access", "public"] },
);
