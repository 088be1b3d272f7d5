/** A program that changes an index folder and may kill itself on the way: `change-run.js OPERATION FOLDER [STAGE]`. */
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import type { IndexProgress } from "../../../lib/search/index-folder/build/progress.ts";
import { addToIndex, removeFromIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { mergeIndexes } from "../../../lib/search/index-folder/change/merge.ts";
import { killedPassages } from "./killed.ts";

const [operation = "", folder = "", killAt] = process.argv.slice(2);
const { first, second } = killedPassages();
const onProgress = ({ stage }: IndexProgress): void => {
  if (stage === killAt) process.kill(process.pid, "SIGKILL");
};

// The parent counts its delays from here.
process.stdout.write("begin\n");
if (operation === "build") await buildIndex({ corpus: first, out: folder, onProgress });
if (operation === "add") await addToIndex(folder, second, { onProgress });
if (operation === "merge") await mergeIndexes([folder], folder, { onProgress });
if (operation === "remove")
  await removeFromIndex(
    folder,
    first.map(({ id }) => id),
  );
