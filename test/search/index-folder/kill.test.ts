/** kill -9 at any moment of a change leaves a folder that opens, or says that its build can be resumed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { removeFromIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { afterEach, delays, first, sizeOf } from "./kill-moments.ts";

test("a killed removal removes all or nothing", async () => {
  await afterEach(delays, "remove", async (folder, at) => {
    assert.ok([0, first.length].includes(await sizeOf(folder)), at);
    await removeFromIndex(
      folder,
      first.map(({ id }) => id),
    );
    assert.equal(await sizeOf(folder), 0, at);
  });
});
