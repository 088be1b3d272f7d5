/** Many clients, slow searches, clients that go, a server that starts and stops. */
import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServeFault } from "../../apps/serve/http/http-server.ts";
import { SeekError } from "../../lib/base/errors.ts";
import type { Search } from "../../lib/search/search.ts";
import { type Answer, get, post, quickSearch, served, slowSearch } from "./doubles.ts";

const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status);

test("two hundred clients at once are answered in few batches, each with its own passages", async (t) => {
  const sizes: number[] = [];
  const search: Search = async (queries, options) => {
    sizes.push(queries.length);
    return quickSearch(queries, options);
  };
  // No batch leaves before it is full, however late its last client comes.
  const gathered = { batch: { windowMs: 600_000, maxBatch: 50 }, limits: { timeoutMs: 600_000 } };
  const server = await served(t, { search, ...gathered });
  const names = Array.from({ length: 200 }, (_, i) => `q${i}`);
  const answers = await Promise.all(
    names.map((name) => post(server, "/retrieve", { queries: [name], topk: 1 })),
  );
  for (const [i, { status, text }] of answers.entries()) {
    assert.equal(status, 200);
    assert.ok(text.includes(`über ${names[i]}"`), text);
  }
  assert.deepEqual(sizes, [50, 50, 50, 50]);
});

test("queries over the bound are refused with 429 and a time to try again, and let in when there is room", async (t) => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const search: Search = (queries, options) => opened.then(() => quickSearch(queries, options));
  const server = await served(t, { search, limits: { maxWaiting: 4 } });
  const refused: Answer[] = [];
  const asked = Array.from({ length: 10 }, async (_, i) => {
    const answer = await post(server, "/retrieve", { queries: [`${i}`] });
    if (answer.status === 429) refused.push(answer);
    return answer.status;
  });
  while (refused.length < 6) await sleep(1);
  assert.equal(refused[0]?.headers.get("retry-after"), "1");
  assert.match(refused[0]?.text ?? "", /4 queries are being answered, of at most 4/);
  open();
  assert.equal((await Promise.all(asked)).filter((status) => status === 200).length, 4);
  assert.equal((await post(server, "/retrieve", { queries: ["a", "b", "c", "d", "e"] })).status, 200);
});

test("a search that takes too long is a 504, and no longer searched for", async (t) => {
  const search = slowSearch(0);
  const server = await served(t, { search, limits: { timeoutMs: 500 } });
  const stuck = await post(server, "/retrieve", { queries: ["stuck"] });
  assert.deepEqual([stuck.status, stuck.text], [504, '{"detail":"no answer within 500 ms"}']);
  assert.equal(search.signals[0]?.aborted, true);
  assert.equal((await post(server, "/retrieve", { queries: ["a"] })).status, 200);
});

test("a slow query of one client does not hold up the others", async (t) => {
  const search = slowSearch(1);
  const server = await served(t, { search, limits: { timeoutMs: 4000 } });
  let isAnswered = false;
  const stuck = post(server, "/retrieve", { queries: ["stuck"] }).finally(() => (isAnswered = true));
  while (search.signals.length === 0) await sleep(1);
  for (let i = 0; i < 5; i += 1)
    assert.equal((await post(server, "/retrieve", { queries: [`${i}`] })).status, 200);
  assert.equal(isAnswered, false);
  assert.equal((await stuck).status, 504);
});

test("the search for a client that has gone is ended", async (t) => {
  const search = slowSearch(0);
  const server = await served(t, { search });
  const stop = new AbortController();
  const gone = post(server, "/retrieve", { queries: ["stuck"] }, { signal: stop.signal });
  while (search.signals.length === 0) await sleep(1);
  stop.abort();
  await assert.rejects(gone);
  while (!search.signals[0]?.aborted) await sleep(1);
  const { text } = await get(server, "/metrics");
  assert.match(text, /seekrl_request_seconds_count\{route="\/retrieve",status="499"\} 1/);
  assert.match(text, /^seekrl_queries_waiting 0$/m);
});

test("what the search fails with is a 5xx that shows no more than it should, and is reported", async (t) => {
  const faults: ServeFault[] = [];
  const errors = [
    new SeekError("ERR_REMOTE", "http://inner:9200 is down"),
    new Error("odd"),
    new SeekError("ERR_FORMAT", "/path is damaged"),
  ];
  const search: Search = async ([query]) => {
    throw errors[Number(query)];
  };
  const server = await served(t, { search, onFault: (fault) => faults.push(fault) });
  const answers = [
    await post(server, "/retrieve", { queries: ["0"] }),
    await post(server, "/search", { query: "1" }),
    await post(server, "/batch_search", { query: ["2"] }),
  ];
  assert.deepEqual(statuses(answers), [502, 502, 500]);
  for (const { text } of answers) assert.equal(text, '{"detail":"the search failed"}');
  assert.equal(faults[0]?.error, errors[0]);
  assert.deepEqual(
    faults.map(({ route }) => route),
    ["/retrieve", "/search", "/batch_search"],
  );
});

test("a query that fails among others is named, or answered with nothing where the server is told so", async (t) => {
  const faults: ServeFault[] = [];
  const picky: Search = async (queries, options) => {
    if (queries.includes("bad")) throw new SeekError("ERR_REMOTE", "http://inner:9200 refused a query");
    return quickSearch(queries, options);
  };
  const onFault = (fault: ServeFault): void => void faults.push(fault);
  const body = { query: ["a", "bad", "b"], top_n: 1 };
  const strict = await served(t, { search: picky, onFault });
  const refused = await post(strict, "/batch_search", body);
  assert.deepEqual([refused.status, refused.text], [502, '{"detail":"query[1]: the search failed"}']);
  const lenient = await served(t, { search: picky, onFault, failedQueries: "answer" });
  const answered = await post(lenient, "/batch_search", body);
  assert.equal(answered.headers.get("x-failed-queries"), "1");
  assert.deepEqual(
    (answered.json as unknown[][]).map(({ length }) => length),
    [1, 0, 1],
  );
  const { result } = (await post(lenient, "/retrieve", { queries: ["bad", "a"], topk: 2 })).json as {
    result: unknown[][];
  };
  assert.deepEqual([result[0]?.length, result[1]?.length], [0, 2]);
  assert.deepEqual(
    faults.map(({ route }) => route),
    ["/batch_search", "/batch_search", "/retrieve"],
  );
  const none = await post(lenient, "/batch_search", { query: ["bad", "bad"], top_n: 1 });
  assert.deepEqual([none.status, none.text], [502, '{"detail":"the search failed"}']);
});

test("until its index is open a server says so and takes no queries", async (t) => {
  let open = (_: Search): void => undefined;
  const search = new Promise<Search>((resolve) => {
    open = resolve;
  });
  const server = await served(t, { search });
  const before = [await get(server, "/health"), await post(server, "/retrieve", { queries: ["a"] })];
  assert.deepEqual(statuses(before), [503, 503]);
  assert.match(before[0]?.text ?? "", /"status":"loading"/);
  open(quickSearch);
  await server.ready;
  assert.deepEqual(
    statuses([await get(server, "/health"), await post(server, "/queries", { queries: ["a"] })]),
    [200, 200],
  );
});

test("an index that cannot be opened is said by ready and by /health", async (t) => {
  const server = await served(t, { search: Promise.reject(new SeekError("ERR_IO", "no index")) });
  await assert.rejects(server.ready, { code: "ERR_IO" });
  const { status, text } = await get(server, "/health");
  assert.equal(status, 503);
  assert.match(text, /"status":"failed"/);
});

test("a server that stops answers what is under way, refuses the rest on open connections, then is gone", async (t) => {
  const search = slowSearch(150);
  const server = await served(t, { search });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ask = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const options = { port: server.port, host: server.host, path: "/retrieve", method: "POST", agent };
      const asked = request(options, (answer) => {
        answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
      });
      asked.on("error", reject);
      asked.end('{"queries": ["a"]}');
    });
  const under = ask();
  while (search.signals.length === 0) await sleep(1);
  const closed = server.close();
  assert.equal(await under, 200);
  await closed;
  await assert.rejects(ask(), { code: "ECONNREFUSED" });
});

test("what is still under way after the grace is refused with 503", async (t) => {
  const search = slowSearch(0);
  const server = await served(t, { search });
  const under = post(server, "/retrieve", { queries: ["stuck"] });
  while (search.signals.length === 0) await sleep(1);
  const started = performance.now();
  await server.close({ graceMs: 50 });
  const { status, text } = await under;
  assert.deepEqual([status, text], [503, '{"detail":"the server is shutting down"}']);
  assert.ok(performance.now() - started < 10_000);
});

test("a port that is taken and limits that make no sense are refused", async (t) => {
  const server = await served(t);
  await assert.rejects(served(t, { port: server.port }), {
    ...{ code: "ERR_IO", message: /cannot listen: .*EADDRINUSE.*Remedy: another port/ },
  });
  await assert.rejects(served(t, { limits: { maxTopK: 0 } }), {
    code: "ERR_RANGE",
    message: /limits: maxTopK: /,
  });
});

test("/metrics counts requests, queries and batches, and says how late the event loop is", async (t) => {
  const server = await served(t);
  await post(server, "/retrieve", { queries: ["a", "b"] });
  await post(server, "/retrieve", { queries: ["a"] });
  await post(server, "/retrieve", {});
  const { text, headers } = await get(server, "/metrics");
  assert.match(headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
  for (const line of [
    'seekrl_request_seconds_count{route="/retrieve",status="200"} 2',
    'seekrl_request_seconds_count{route="/retrieve",status="422"} 1',
    'seekrl_queries_total{kind="search",outcome="asked"} 2',
    'seekrl_queries_total{kind="search",outcome="cached"} 1',
    'seekrl_batch_queries_sum{kind="search"} 2',
    'seekrl_batch_seconds_count{kind="search",outcome="answered"} 1',
    "seekrl_queries_waiting 0",
  ])
    assert.ok(text.includes(`${line}\n`), line);
  assert.match(text, /^seekrl_event_loop_delay_seconds\{quantile="0\.99"\} [0-9.e-]+$/m);
});
