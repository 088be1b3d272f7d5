/** How adapters are named by the commands that take several: chat and serve. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { namedFolders } from "../../../apps/cli/options/model-options.ts";

test("an adapter has the name before =, or its folder's; a path with = in it is a folder", () => {
  assert.deepEqual(namedFolders(["fr=adapters/french", "runs/lr=0.1/last/", "v1:b@2=x=y"]), [
    { name: "fr", folder: "adapters/french" },
    { name: "last", folder: "runs/lr=0.1/last/" },
    { name: "v1:b@2", folder: "x=y" },
  ]);
  assert.throws(() => namedFolders(["a/last", "last=b"]), /expected another name for each, got last twice/);
});
