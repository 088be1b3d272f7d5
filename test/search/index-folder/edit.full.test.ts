/** Indexes that change while many searches of them are opened. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { addToIndex, removeFromIndex } from "../../../lib/search/index-folder/change/edit.ts";
import { mergeIndexes } from "../../../lib/search/index-folder/change/merge.ts";
import { indexInfo } from "../../../lib/search/index-folder/info.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import { peoplePassages } from "../people.ts";

const root = await mkdtemp(join(tmpdir(), "seekrl-edit-"));
after(() => rm(root, { recursive: true }));
const passages = peoplePassages(600);
const [first, second] = [passages.slice(0, 400), passages.slice(400)] as const;

/** An index of the first 400 passages, in a folder of its own. */
async function firstIndex(name: string): Promise<string> {
  const out = join(root, name);
  await buildIndex({ corpus: first, out });
  return out;
}

test("searches are opened without fail while changes replace the files under them", async () => {
  const folder = await firstIndex("busy");
  let isDone = false;
  const change = async (): Promise<void> => {
    for (const passage of second.slice(0, 12)) {
      await addToIndex(folder, [passage]);
      await mergeIndexes([folder], folder);
      await removeFromIndex(folder, [passage.id]);
    }
    isDone = true;
  };
  let numOpened = 0;
  const read = async (): Promise<void> => {
    while (!isDone) {
      const search = await openIndex(folder);
      const [[hit] = []] = await search([first[3]?.title ?? ""], { topK: 1 });
      assert.equal(hit?.id, first[3]?.id);
      assert.ok(search.size === 400 || search.size === 401);
      search.close();
      numOpened += 1;
    }
  };
  await Promise.all([change(), read(), read()]);
  assert.ok(numOpened > 10);
  assert.equal((await indexInfo(folder, { verify: "all" })).problems.length, 0);
});
