/** Shards with several servers: one that fails, hangs or has another index costs no query; a shard without any is named. */
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { shardedSearch } from "../../../../connectors/remote/shards/sharded-search.ts";
import { addToIndex } from "../../../../lib/search/index-folder/change/edit.ts";
import { openIndex } from "../../../../lib/search/index-folder/open.ts";
import { startFaultServer } from "../fault-server.ts";
import { buildShards, type ServedIndex, serveIndex } from "./sharded-world.ts";

const world = await buildShards(120, 2);
const queries = world.passages.slice(0, 8).map(({ title }) => `where was ${title} born`);
const one = await openIndex(world.whole);
const expected = await one(queries, { topK: 5 });
const stable = await serveIndex(world.shards[0] ?? "");
after(async () => {
  one.close();
  await stable[Symbol.asyncDispose]();
  await world.remove();
});
const serveSecond = (port = 0): Promise<ServedIndex> => serveIndex(world.shards[1] ?? "", port);

test("with replicas no query is lost while one is stopped and started again under load", async () => {
  const first = await serveSecond();
  await using second = await serveSecond();
  const shards = [[stable.url], [first.url, second.url]];
  const search = shardedSearch({ shards, transport: { coolMs: 50 } });
  let [isOver, numAsked] = [false, 0];
  const askOn = async (): Promise<void> => {
    while (!isOver) {
      assert.deepEqual(await search(queries, { topK: 5 }), expected);
      numAsked += 1;
    }
  };
  const reached = async (count: number): Promise<void> => {
    while (numAsked < count) await new Promise(setImmediate);
  };
  const load = Promise.all([askOn(), askOn(), askOn()]);
  await reached(20);
  const { port } = first.server;
  await first[Symbol.asyncDispose]();
  await reached(60);
  const again = await serveSecond(port);
  // Back again, it takes queries.
  while ((await numRequests(again.url)) === 0) await new Promise(setImmediate);
  isOver = true;
  await load;
  await again[Symbol.asyncDispose]();
});

/** How many requests for hits a server has had. */
async function numRequests(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const [line = "0"] = /^seekrl_request_seconds_count\{.*\/shard\/find.*$/m.exec(metrics) ?? [];
  return Number(line.split(" ").at(-1));
}

test("a shard none of whose servers answers is an error that names it and what each of them said", async () => {
  await using refusing = await startFaultServer(() => ({}));
  refusing.otherwise = { status: 503, body: "its index is being opened" };
  const gone = await startFaultServer(() => ({}));
  await gone.stop();
  const search = shardedSearch({
    shards: [[stable.url], [refusing.url, gone.url]],
    transport: { retries: 0 },
  });
  await assert.rejects(search(queries, { topK: 5 }), (error: Error & { code?: string }) => {
    assert.equal(error.code, "ERR_REMOTE");
    assert.match(error.message, /^shard 2 of 2: no server answers: /);
    assert.ok(error.message.includes(`${refusing.url}/shard: expected status 200, got 503: its index is`));
    assert.ok(error.message.includes(`${gone.url}/shard: connect ECONNREFUSED`));
    return true;
  });
});

test("a server that hangs is overtaken by another of its shard", async () => {
  await using real = await serveSecond();
  const hanging = await relayTo(real.url);
  const search = shardedSearch({ shards: [[stable.url], [hanging.url, real.url]], hedgeAfterMs: 20 });
  assert.deepEqual(await search(queries, { topK: 5 }), expected);
  assert.ok(hanging.numAsked > 0);
  hanging.hang();
  for (let i = 0; i < 10; i += 1) assert.deepEqual(await search(queries, { topK: 5 }), expected);
  hanging.close();
});

/** A server that passes requests on to another until it is told to hang. */
async function relayTo(target: string) {
  let [numAsked, isHanging] = [0, false];
  const server = createServer((asked, answer) => {
    numAsked += 1;
    if (isHanging) return;
    const passed = request(new URL(asked.url ?? "", target), { method: asked.method }, (found) => {
      answer.writeHead(found.statusCode ?? 500, found.headers);
      found.pipe(answer);
    });
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get numAsked(): number {
      return numAsked;
    },
    hang(): void {
      isHanging = true;
    },
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}

test("a server with another index than its shard's is not asked, and alone it is named", async () => {
  const changed = await buildShards(120, 2);
  await using real = await serveSecond();
  const shards = [[stable.url], [real.url]];
  const search = shardedSearch({ shards });
  await search(queries, { topK: 5 });
  await addToIndex(changed.shards[1] ?? "", [{ id: "new", title: "New", text: "A new passage." }]);
  const { port } = real.server;
  await real[Symbol.asyncDispose]();
  await using other = await serveIndex(changed.shards[1] ?? "", port);
  assert.equal(other.url, real.url);
  await assert.rejects(search(queries, { topK: 5 }), {
    code: "ERR_REMOTE",
    message: /^shard 2 of 2: no server answers: .*409.*this server has another index/,
  });
  await assert.rejects(search(queries, { topK: 5 }), {
    code: "ERR_ARGUMENT",
    message: "shard 2 of 2: expected the 60 passages that it was built with, got 61 after a change",
  });
  await changed.remove();
});

test("a signal ends a search on shards", async () => {
  const signal = AbortSignal.abort();
  const search = shardedSearch({ shards: [[stable.url], [stable.url]] });
  await assert.rejects(search(queries, { topK: 5, signal }), { code: "ERR_ABORTED" });
});
