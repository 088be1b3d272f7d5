/** The studio shows an index's own files, and none that a link leads to. */
import assert from "node:assert/strict";
import { mkdir, readdir, rename, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { IndexDescription, IndexSearchResult } from "../../../apps/studio/api.ts";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { peoplePassages } from "../../search/people.ts";
import { withFolder, withStudio } from "./asked.ts";

test("an index with a link out of its folder is not opened; links within it are followed", async () => {
  await withFolder(async (folder) => {
    const corpus = peoplePassages(4);
    const [index, outside] = [join(folder, "index"), join(folder, "outside")];
    await buildIndex({ corpus, out: index });
    await mkdir(outside);
    const segment = join("segments", (await readdir(join(index, "segments")))[0] ?? "");
    const files = (await readdir(join(index, segment))).map((name) => join(segment, name));
    assert.ok(files.length > 1);
    for (const name of ["manifest.json", "segments", segment, ...files]) {
      const [own, away] = [join(index, name), join(outside, "away")];
      await rename(own, away);
      await symlink(away, own);
      await assert.rejects(
        withStudio({ roots: [folder], index }, async () => {}),
        {
          code: "ERR_IO",
          message: /index\S*: expected a file of \S*index, got a link out of it, to \S*away/,
        },
        name,
      );
      await rm(own);
      await rename(away, own);
    }
    await rename(join(index, files[0] ?? ""), join(index, "moved"));
    await symlink(join(index, "moved"), join(index, files[0] ?? ""));
    await symlink(index, join(folder, "current"));
    await withStudio({ roots: [folder], index: join(folder, "current") }, async ({ get, post, status }) => {
      assert.equal((await get<IndexDescription>("/index")).passages, 4);
      const { hits } = await post<IndexSearchResult>("/index/search", { query: corpus[0]?.text });
      assert.equal(hits[0]?.text, corpus[0]?.text);
      // A link that comes later.
      await rename(join(index, "manifest.json"), join(outside, "away"));
      await symlink(join(outside, "away"), join(index, "manifest.json"));
      assert.match((await status("/index")).message, /got a link out of it/);
    });
  });
});
