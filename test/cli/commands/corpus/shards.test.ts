/** An index is split, its parts are served, and searched as one from the command line. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildIndex } from "../../../../lib/search/index-folder/build/build.ts";
import { serveIndex } from "../../../connectors/remote/shards/sharded-world.ts";
import { peoplePassages } from "../../../search/people.ts";
import { runCli, runJson } from "../../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-cli-shards-"));
after(() => rm(folder, { recursive: true }));
const passages = peoplePassages(50);
const index = join(folder, "index");
await buildIndex({ corpus: passages, out: index });

test("parts of an index find on their servers what the index finds", async () => {
  const split = ["index", "split", "--index", index, "--out", join(folder, "parts"), "--shards", "3"];
  const { folders } = (await runJson(...split)) as { folders: string[] };
  assert.equal(folders.length, 3);
  const servers = await Promise.all(folders.map((part) => serveIndex(part)));
  const query = ["--query", `where was ${passages[7]?.title} born`, "--top-k", "9"];
  const urls = servers.map(({ url }) => `http://127.0.0.1:1|${url}`).join(" ");
  const whole = await runJson("search", "--index", index, ...query);
  assert.deepEqual(await runJson("search", "--shards", urls, ...query), whole);
  const words = await runJson("search", "--index", `${index},mode=bm25`, ...query);
  assert.deepEqual(await runJson("search", "--shards", `${urls},mode=bm25`, ...query), words);
  await servers[1]?.[Symbol.asyncDispose]();
  const { code, stderr } = await runCli("search", "--shards", urls, ...query);
  assert.equal(code, 1);
  assert.match(stderr, /shard 2 of 3: no server answers: http:\/\/127\.0\.0\.1:1\/.*; http/);
  await servers[0]?.[Symbol.asyncDispose]();
  await servers[2]?.[Symbol.asyncDispose]();
});
