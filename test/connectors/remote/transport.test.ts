/** A server that fails in every way it can: what the caller sees, what is asked again, what is left alone. */
import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { TransportOptions } from "../../../connectors/remote/guard.ts";
import { remoteSearch } from "../../../connectors/remote/remote-search.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import type { Search } from "../../../lib/search/search.ts";
import { type Behaviour, type FaultServer, retrieveReply, startFaultServer } from "./fault-server.ts";

function ask(server: FaultServer, transport: TransportOptions = {}): Search {
  return remoteSearch({ url: server.url, transport: { timeoutMs: 500, ...transport } });
}

async function failure(work: Promise<unknown>): Promise<SeekError> {
  const error = await work.then(
    () => assert.fail("expected a failure"),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof SeekError, String(error));
  return error;
}

const passing: Behaviour[] = ["close", "half", "hang", { status: 500 }, { status: 503 }, { status: 429 }];

test("what passes is asked again: broken and half connections, time-outs, 429, 5xx", async () => {
  await using server = await startFaultServer(retrieveReply);
  for (const behaviour of passing) {
    server.script.push(behaviour, behaviour);
    const [hits] = await ask(server)(["q"], { topK: 1 });
    assert.equal(hits?.[0]?.text, "about q", JSON.stringify(behaviour));
  }
  assert.equal(server.asked.length, 3 * passing.length);
});

test("what stays is not asked again, and the message names address, expected, actual", async () => {
  await using server = await startFaultServer(retrieveReply);
  const cases: [Behaviour, RegExp][] = [
    [
      { status: 400, body: '{"detail": "bad  query"}' },
      /expected status 200, got 400: \{"detail": "bad query"\}$/,
    ],
    [{ status: 302, headers: { location: "http://elsewhere.invalid/" } }, /expected status 200, got 302/],
    ["garbage", /expected JSON, got <html>no/],
    ["shape", /result\[0\]\[0\]\S*: Invalid input: expected string, received undefined$/],
  ];
  for (const [behaviour, message] of cases) {
    server.script.push(behaviour);
    const { code, message: said } = await failure(ask(server)(["q"], { topK: 1 }));
    assert.equal(code, "ERR_REMOTE");
    assert.ok(said.startsWith(`${server.url}/retrieve: `), said);
    assert.match(said, message);
  }
  assert.equal(server.asked.length, cases.length);
});

test("an error in an answer of status 200 is told in its own words, and asked again where that helps", async () => {
  await using server = await startFaultServer(retrieveReply);
  const body = (code: number) => JSON.stringify({ error: { message: "model overloaded", code } });
  server.script.push({ status: 200, body: body(503) });
  assert.equal((await ask(server)(["q"], { topK: 1 }))[0]?.[0]?.text, "about q");
  server.script.push({ status: 200, body: body(401) });
  const { message } = await failure(ask(server)(["q"], { topK: 1 }));
  assert.match(message, /answered with \{"error":\{"message":"model overloaded","code":401\}\}$/);
  assert.equal(server.asked.length, 3);
});

test("an answer that ends before its length is named", async () => {
  await using server = await startFaultServer(retrieveReply);
  server.otherwise = "half";
  const { message } = await failure(ask(server, { retries: 0 })(["q"], { topK: 1 }));
  assert.match(message, /: the connection broke in the middle of the answer$/);
});

test("too few lists of documents are a failure", async () => {
  await using server = await startFaultServer(() => ({ result: [[]] }));
  const { message } = await failure(ask(server)(["a", "b"], { topK: 1 }));
  assert.match(message, /expected 2 lists of documents, got 1/);
});

test("retries end, and so does patience with a server that drips", async () => {
  await using server = await startFaultServer(retrieveReply);
  server.otherwise = "drip";
  const { code, message } = await failure(ask(server, { timeoutMs: 100, retries: 1 })(["q"], { topK: 1 }));
  assert.equal(code, "ERR_REMOTE");
  assert.match(message, /no whole answer within 100 ms/);
  assert.equal(server.asked.length, 2);
});

test("Retry-After is heeded, unless the deadline comes first", async () => {
  await using server = await startFaultServer(retrieveReply);
  server.script.push({ status: 429, headers: { "retry-after": "1" } });
  const started = performance.now();
  await ask(server)(["q"], { topK: 1 });
  assert.ok(performance.now() - started >= 990);
  server.script.push({ status: 503, headers: { "retry-after": "3600" } });
  const before = performance.now();
  assert.match((await failure(ask(server)(["q"], { topK: 1 }))).message, /got 503/);
  assert.ok(performance.now() - before < 10_000, "an hour is not waited for");
});

test("the deadline holds over all attempts", async () => {
  await using server = await startFaultServer(retrieveReply);
  server.otherwise = "hang";
  const started = performance.now();
  const { code, message } = await failure(ask(server, { retries: 50, deadlineMs: 700 })(["q"], { topK: 1 }));
  assert.equal(code, "ERR_REMOTE");
  assert.match(message, /no answer within 700 ms|no whole answer/);
  assert.ok(performance.now() - started < 30_000);
});

test("the caller's signal ends a request at once, also one that waits to be sent again", async () => {
  await using server = await startFaultServer(retrieveReply);
  for (const behaviour of ["hang", { status: 503, headers: { "retry-after": "20" } }] as const) {
    server.otherwise = behaviour;
    const started = performance.now();
    const signal = AbortSignal.timeout(100);
    const { code } = await failure(
      ask(server, { timeoutMs: 60_000, deadlineMs: 120_000 })(["q"], { topK: 1, signal }),
    );
    assert.equal(code, "ERR_ABORTED");
    assert.ok(performance.now() - started < 15_000);
  }
  const asked = server.asked.length;
  await failure(ask(server)(["q"], { topK: 1, signal: AbortSignal.abort() }));
  assert.equal(server.asked.length, asked, "nothing is sent for somebody who has left");
});

test("after failures in a row nothing is sent, until one request finds the server well again", async () => {
  await using server = await startFaultServer(retrieveReply);
  server.otherwise = { status: 500 };
  const search = ask(server, { retries: 0, breakAfter: 3, coolMs: 300 });
  for (let i = 0; i < 3; i += 1) await failure(search(["q"], { topK: 1 }));
  const { message } = await failure(search(["q"], { topK: 1 }));
  assert.match(message, /3 failures in a row, so nothing is sent for 300 ms; the last: .*got 500/);
  assert.equal(server.asked.length, 3);
  server.otherwise = "answer";
  await delay(320);
  const found = await Promise.all(["a", "b", "c"].map((query) => search([query], { topK: 1 })));
  assert.deepEqual(
    found.flat(2).map(({ text }) => text),
    ["about a", "about b", "about c"],
  );
});

test("refusals do not open the breaker", async () => {
  await using server = await startFaultServer(retrieveReply);
  server.otherwise = { status: 400 };
  const search = ask(server, { breakAfter: 1 });
  for (let i = 0; i < 4; i += 1) assert.match((await failure(search(["q"], { topK: 1 }))).message, /got 400/);
  assert.equal(server.asked.length, 4);
});

test("requests at once are bounded, long lists are cut, and connections are used again", async () => {
  await using server = await startFaultServer(async (asked) => {
    await delay(5);
    return retrieveReply(asked);
  });
  const queries = Array.from({ length: 40 }, (_, i) => `q${i}`);
  const search = remoteSearch({ url: server.url, maxQueries: 4, transport: { maxConcurrent: 2 } });
  const hits = await search(queries, { topK: 1 });
  assert.deepEqual(
    hits.map(([hit]) => hit?.text),
    queries.map((query) => `about ${query}`),
  );
  assert.equal(server.asked.length, 10);
  assert.equal(server.mostAtOnce, 2);
  assert.ok(server.numConnections <= 5, `${server.numConnections} connections`);
});

test("a key is sent and never shown, not even when the server repeats it", async () => {
  await using server = await startFaultServer(retrieveReply);
  process.env.SEEKRL_TEST_KEY = "s3cret-key";
  const search = remoteSearch({ url: server.url, apiKeyEnv: "SEEKRL_TEST_KEY" });
  server.script.push({ status: 401, body: "the key s3cret-key is unknown" });
  const { message } = await failure(search(["q"], { topK: 1 }));
  assert.equal(server.asked[0]?.headers.authorization, "Bearer s3cret-key");
  assert.match(message, /got 401: the key \*\*\* is unknown/);
  delete process.env.SEEKRL_TEST_KEY;
  assert.throws(
    () => remoteSearch({ url: server.url, apiKeyEnv: "SEEKRL_TEST_KEY" }),
    /SEEKRL_TEST_KEY: expected an API key/,
  );
});

test("user and password of an address become a header and are not shown", async () => {
  await using server = await startFaultServer(retrieveReply);
  const url = server.url.replace("//", "//elastic:p%40ss@");
  server.script.push({ status: 401, body: "p@ss is wrong" });
  const { message } = await failure(remoteSearch({ url })(["q"], { topK: 1 }));
  assert.equal(
    server.asked[0]?.headers.authorization,
    `Basic ${Buffer.from("elastic:p@ss").toString("base64")}`,
  );
  assert.ok(!message.includes("p@ss") && !message.includes("p%40ss"), message);
});

test("wrong options are refused where they are given", () => {
  const url = "http://127.0.0.1:1";
  assert.throws(() => remoteSearch({ url: "ftp://x" }), { code: "ERR_ARGUMENT", message: /got "ftp:\/\/x"/ });
  assert.throws(() => remoteSearch({ url: "localhost:8000" }), {
    code: "ERR_ARGUMENT",
    message: /expected http:.*, got "localhost:8000"/,
  });
  assert.throws(() => remoteSearch({ url: "me:p@ss" }), { message: /got another address$/ });
  assert.throws(() => remoteSearch({ url, protocol: "soap" as "search" }), {
    code: "ERR_ARGUMENT",
    message: /got soap/,
  });
  assert.throws(() => remoteSearch({ url, transport: { timeoutMs: 0 } }), {
    code: "ERR_RANGE",
    message: /timeoutMs/,
  });
  assert.throws(() => remoteSearch({ url, maxQueries: 0 }), { code: "ERR_RANGE", message: /maxQueries/ });
});
