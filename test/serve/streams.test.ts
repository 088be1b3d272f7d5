/** Answers of server-sent events, and paths with open parts. */
import assert from "node:assert/strict";
import { get as httpGet, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { answerEvents } from "../../apps/serve/http/answer-events.ts";
import type { Call } from "../../apps/serve/http/call.ts";
import type { SentEvent } from "../../apps/serve/http/event-stream.ts";
import { HttpServer, type Route } from "../../apps/serve/http/http-server.ts";
import { matchPath } from "../../apps/serve/http/paths.ts";
import { readEvents } from "../../apps/serve/http/read-events.ts";
import { Refusal } from "../../apps/serve/http/refusal.ts";
import { listOf } from "../../apps/serve/http/slices.ts";

const failureOf = (cause: unknown): Refusal =>
  cause instanceof Refusal ? cause : new Refusal("internal", "it failed", { cause });

async function served(t: TestContext, routes: readonly Partial<Route>[], onFault?: (error: unknown) => void) {
  const whole = routes.map((route) => ({ method: "GET", dialect: "error", ...route }) as Route);
  const service = { routes: whole, timeoutMs: 5000, defaultPort: 0, failureOf };
  const server = await HttpServer.open(service, { onFault: ({ error }) => onFault?.(error) });
  t.after(() => server.close({ graceMs: 0 }));
  return server;
}

const failed = ({ message }: Refusal): SentEvent[] => [{ event: "error", data: { message } }];

test("a path's open parts are decoded, and never hold a further part", () => {
  assert.deepEqual(matchPath("/v1/things/:id", "/v1/things/a%20b"), { id: "a b" });
  assert.deepEqual(matchPath("/files/*", "/files/css/a.css"), { "*": "css/a.css" });
  assert.deepEqual(matchPath("/files/*", "/files/"), { "*": "" });
  for (const path of ["/v1/things/", "/v1/things/a/b", "/v1/things/a%2Fb", "/v1/things/%ff", "/v1/thing"]) {
    assert.equal(matchPath("/v1/things/:id", path), undefined, path);
  }
  for (const path of ["/files/..%2f..%2fetc", "/files/%5c..", "/files/%00", "/other"]) {
    assert.equal(matchPath("/files/*", path), undefined, path);
  }
});

test("a name at the end of a path may have slashes, written in either way", () => {
  for (const path of ["/v1/models/agent/rag", "/v1/models/agent%2Frag"]) {
    assert.deepEqual(matchPath("/v1/models/:id*", path), { id: "agent/rag" });
  }
  assert.equal(matchPath("/v1/models/:id*", "/v1/models/"), undefined);
});

test("one path has a route for each method, and names them to others", async (t) => {
  const { url } = await served(t, [
    { path: "/a/:id", handle: (call) => call.answer({ got: call.params.id }) },
    { path: "/a/:id", method: "DELETE", handle: (call) => call.answer({ deleted: call.params.id }) },
  ]);
  assert.deepEqual(await (await fetch(`${url}/a/7`)).json(), { got: "7" });
  assert.deepEqual(await (await fetch(`${url}/a/7`, { method: "DELETE" })).json(), { deleted: "7" });
  const refused = await fetch(`${url}/a/7`, { method: "POST" });
  assert.deepEqual([refused.status, refused.headers.get("allow")], [405, "GET, DELETE"]);
});

test("events are read as they were written, however the bytes are cut", async () => {
  const written =
    ': hello\r\nevent: a\r\ndata: {"é":\r\ndata:1}\r\n\r\nevent: no data\n\ndata: two\rid: 7\r\rdata: cut off';
  for (const size of [1, 2, 3, 5, 1000]) {
    async function* pieces(): AsyncGenerator<Uint8Array> {
      const bytes = Buffer.from(written);
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
    }
    const read = [];
    for await (const { event, data } of readEvents(pieces())) read.push([event, data]);
    assert.deepEqual(read, [
      ["a", '{"é":\n1}'],
      [undefined, "two"],
    ]);
  }
});

test("events come as they are given, names and line breaks included", async (t) => {
  async function* events(): AsyncGenerator<SentEvent, void> {
    yield { event: "first", data: { text: "a\nb" } };
    yield { data: "[DONE]" };
  }
  const { url } = await served(t, [{ path: "/", handle: (call) => answerEvents(call, events(), failed) }]);
  const answer = await fetch(url);
  assert.match(answer.headers.get("content-type") ?? "", /^text\/event-stream/);
  assert.equal(await answer.text(), 'event: first\ndata: {"text":"a\\nb"}\n\ndata: [DONE]\n\n');
});

test("what fails before the first event has a status, and later a last event and a fault", async (t) => {
  const faults: unknown[] = [];
  const fail = async function* (count: number): AsyncGenerator<SentEvent, void> {
    for (let i = 0; i < count; i++) yield { data: i };
    throw new Error("secret");
  };
  const { url } = await served(
    t,
    [0, 1].map((count) => ({
      path: `/${count}`,
      handle: (call) => answerEvents(call, fail(count), failed),
    })),
    (error) => faults.push((error as Error).message),
  );
  const early = await fetch(`${url}/0`);
  assert.equal(early.status, 500);
  assert.doesNotMatch(await early.text(), /secret/);
  const late = await fetch(`${url}/1`);
  assert.equal(await late.text(), 'data: 0\n\nevent: error\ndata: {"message":"it failed"}\n\n');
  assert.deepEqual(faults, ["secret", "secret"]);
});

test("a client that leaves ends what its events come from", async (t) => {
  let leave = (): void => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const events = async function* (signal: AbortSignal): AsyncGenerator<SentEvent, void> {
    try {
      yield { data: "one" };
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    } finally {
      leave();
    }
  };
  const { url } = await served(t, [
    { path: "/", handle: (call) => answerEvents(call, events(call.signal), failed) },
  ]);
  const asked = httpGet(url, (answer) => answer.once("data", () => asked.destroy()));
  asked.on("error", () => {});
  await left;
});

test("events wait for a client that does not read", async (t) => {
  let numGiven = 0;
  const events = async function* (): AsyncGenerator<SentEvent, void> {
    for (; numGiven < 10_000; numGiven++) yield { data: "x".repeat(10_000) };
  };
  const { url } = await served(t, [{ path: "/", handle: (call) => answerEvents(call, events(), failed) }]);
  const answer = await new Promise<IncomingMessage>((resolve) => httpGet(url, resolve));
  answer.pause();
  // It stops when the buffers between are full, far from the 100 MB of all events.
  for (let last = -1; numGiven !== last; ) {
    last = numGiven;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.ok(numGiven < 9000, `${numGiven} events were given to a client that reads nothing`);
  let numBytes = 0;
  for await (const part of answer) numBytes += (part as Buffer).length;
  assert.equal(numBytes, 10_000 * 10_008);
});

test("a page of another machine is refused on loopback, even where it could not read the answer", async (t) => {
  const { url } = await served(t, [{ path: "/", handle: (call) => call.answer({}) }]);
  const ask = async (origin: string): Promise<number> => (await fetch(url, { headers: { origin } })).status;
  assert.equal(await ask("http://evil.example"), 403);
  assert.equal(await ask("null"), 403);
  assert.equal(await ask("http://localhost:5173"), 200);
});

test("a long answer that nobody reads holds no place among those that are answered", {
  timeout: 30_000,
}, async (t) => {
  let isHandled = false;
  const handle = async (call: Call): Promise<void> => {
    await call.answerLong(
      listOf(
        Array.from({ length: 400 }, () => "x".repeat(100_000)),
        String,
      ),
    );
    isHandled = true;
  };
  const { url } = await served(t, [{ path: "/long", handle }]);
  const { port, hostname } = new URL(url);
  const client = connect(Number(port), hostname);
  t.after(() => client.destroy());
  client.pause().write("GET /long HTTP/1.1\r\nhost: localhost\r\n\r\n");
  while (!isHandled) await sleep(10);
});
