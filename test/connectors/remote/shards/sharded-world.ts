/** A corpus in four shards, each served, and one index over all of it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RetrieverServer, serveRetriever } from "../../../../apps/serve/retriever/retriever-server.ts";
import type { Passage } from "../../../../lib/search/corpus/passage.ts";
import { type BuildIndexOptions, buildIndex } from "../../../../lib/search/index-folder/build/build.ts";
import { type IndexSearch, openIndex } from "../../../../lib/search/index-folder/open.ts";
import { jsonLinesFile } from "../../../search/index-folder/corpus-file.ts";
import { peoplePassages } from "../../../search/people.ts";

/** Passages of which every third says what one far before it says, so that many score alike in other shards. */
export function passagesWithTies(count: number): Passage[] {
  const people = peoplePassages(count);
  return people.map((person, i) => {
    const source = i % 3 === 2 ? people[(i * 7) % Math.ceil(count / 3)] : person;
    return { ...(source as Passage), id: `p${i}` };
  });
}

/** Folders of one index and of its shards. */
export interface ShardedWorld {
  readonly passages: readonly Passage[];
  readonly whole: string;
  readonly shards: readonly string[];
  remove(): Promise<void>;
}

/** Builds both. */
export async function buildShards(
  count: number,
  numShards: number,
  dense: BuildIndexOptions["dense"] = {},
): Promise<ShardedWorld> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-shards-"));
  const passages = passagesWithTies(count);
  const corpus = await jsonLinesFile(join(folder, "corpus.jsonl"), passages);
  const whole = join(folder, "whole");
  await buildIndex({ corpus, out: whole, dense });
  const shards = Array.from({ length: numShards }, (_, i) => join(folder, `shard-${i + 1}`));
  for (const [i, out] of shards.entries())
    await buildIndex({ corpus, out, dense, part: { index: i + 1, count: numShards } });
  return { passages, whole, shards, remove: () => rm(folder, { recursive: true }) };
}

/** A served index. */
export interface ServedIndex extends AsyncDisposable {
  readonly url: string;
  readonly server: RetrieverServer;
  readonly index: IndexSearch;
}

/** Serves an index folder. */
export async function serveIndex(folder: string, port = 0): Promise<ServedIndex> {
  const index = await openIndex(folder);
  const server = await serveRetriever({ search: index, port });
  const close = async (): Promise<void> => {
    await server.close({ graceMs: 0 });
    index.close();
  };
  return { url: server.url, server, index, [Symbol.asyncDispose]: close };
}
