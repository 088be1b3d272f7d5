/** Everything that is no good request gets a 4xx that names its fault. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { RetrieverServer } from "../../apps/serve/retriever/retriever-server.ts";
import { randomFrom } from "../dice.ts";
import { type Answer, get, post, served, smallEmbedder } from "./doubles.ts";

interface Detail {
  readonly type: string;
  readonly loc: (string | number)[];
  readonly msg: string;
}

function firstDetail({ json }: Answer): Detail {
  return (json as { detail: Detail[] }).detail[0] as Detail;
}

test("what a schema refuses is a 422 in FastAPI's shape that names the value", async (t) => {
  const server = await served(t);
  const bad: [string, unknown, string, (string | number)[]][] = [
    ["/retrieve", {}, "missing", ["queries"]],
    ["/retrieve", { queries: "a" }, "list_type", ["queries"]],
    ["/retrieve", { queries: ["a", 5] }, "string_type", ["queries", 1]],
    ["/retrieve", { queries: ["a"], topk: 0 }, "greater_than_equal", ["topk"]],
    ["/retrieve", { queries: ["a"], topk: -1 }, "greater_than_equal", ["topk"]],
    ["/retrieve", { queries: ["a"], topk: 1e9 }, "less_than_equal", ["topk"]],
    ["/retrieve", { queries: ["a"], topk: 1e300 }, "less_than_equal", ["topk"]],
    ["/retrieve", { queries: ["a"], topk: 1.5 }, "int_from_float", ["topk"]],
    ["/retrieve", { queries: ["a"], topk: "3" }, "int_type", ["topk"]],
    ["/retrieve", { queries: ["a"], return_scores: "yes" }, "bool_type", ["return_scores"]],
    ["/retrieve", { queries: ["x".repeat(1 << 20)] }, "string_too_long", ["queries", 0]],
    ["/retrieve", { queries: Array(4097).fill("a") }, "too_long", ["queries"]],
    ["/retrieve", { queries: Array(4096).fill("a"), topk: 1000 }, "less_than_equal", ["topk"]],
    ["/retrieve", [], "model_attributes_type", []],
    ["/retrieve", "", "missing", []],
    ["/retrieve", "null", "model_attributes_type", []],
    ["/retrieve", "{queries", "json_invalid", [1]],
    ["/retrieve", '{"queries": ["a"]', "json_invalid", [17]],
    ["/retrieve", Uint8Array.of(0x22, 0xff, 0x22), "json_invalid", [0]],
    ["/search", { query: ["a"] }, "string_type", ["query"]],
    ["/search", { query: "a", top_n: 0 }, "greater_than_equal", ["top_n"]],
    ["/search", { query: "a", top_n: null }, "int_type", ["top_n"]],
    ["/batch_search", { query: "a" }, "list_type", ["query"]],
    ["/batch_search", { query: ["a"], top_n: 1e9 }, "less_than_equal", ["top_n"]],
  ];
  for (const [path, body, type, loc] of bad) {
    const answer = await post(server, path, body);
    const detail = firstDetail(answer);
    const what = `${path} ${String(JSON.stringify(body)).slice(0, 60)}`;
    assert.deepEqual([answer.status, detail.type, detail.loc], [422, type, ["body", ...loc]], what);
    assert.ok(answer.text.length < 1000, `${what}: what was sent does not come back whole`);
  }
});

test("a blank query of a batch is refused by its place", async (t) => {
  const server = await served(t);
  const refusals = [
    await post(server, "/retrieve", { queries: ["a", " "] }),
    await post(server, "/batch_search", { query: ["", "a"] }),
  ];
  assert.deepEqual(
    refusals.map(({ status, text }) => [status, text]),
    [
      [400, '{"detail":"queries[1]: Query content cannot be empty"}'],
      [400, '{"detail":"query[0]: Query content cannot be empty"}'],
    ],
  );
  const { status, json } = await post(server, "/queries", { queries: [""] });
  const { error } = json as { error: { code: string; message: string } };
  assert.deepEqual([status, error.code], [400, "empty_query"]);
  assert.match(error.message, /^queries\[0\]: /);
});

test("/queries names the fault in an error object", async (t) => {
  const server = await served(t);
  for (const [body, message] of [
    ["{", /malformed JSON/],
    [{ queries: ["a"], k: 0 }, /^k: Input should be greater than or equal to 1/],
    [{ queries: ["a", null] }, /^queries\[1\]: Input should be a valid string/],
  ] as const) {
    const { status, json } = await post(server, "/queries", body);
    assert.equal(status, 400);
    assert.match((json as { error: { message: string } }).error.message, message);
  }
});

test("a body may be nested as deep as what reads it goes, whatever stands in its texts", async (t) => {
  const server = await served(t);
  const deep = (levels: number): string => `{"x": ${"[".repeat(levels)}"]}\\"[[{"${"]".repeat(levels)}}`;
  for (const levels of [256, 100_000]) {
    const { status, json } = await post(server, "/queries", deep(levels));
    assert.equal(status, 400);
    assert.match((json as { error: { message: string } }).error.message, /at most 256 lists and objects/);
  }
  const text = JSON.stringify({ queries: [`"\\${"[{".repeat(1000)}`] });
  assert.equal((await post(server, "/queries", text)).status, 200);
  const { json } = await post(server, "/queries", deep(255));
  assert.match((json as { error: { message: string } }).error.message, /^queries: Field required/);
});

test("a place in malformed JSON is no field", async (t) => {
  const { json } = await post(await served(t), "/queries", '{"queries": [}');
  assert.equal((json as { error: { param: unknown } }).error.param, null);
});

test("a body over the limit is a 413, with and without a length, and the connection goes on", async (t) => {
  const server = await served(t, { limits: { maxBodyBytes: 1000 } });
  const body = JSON.stringify({ queries: ["x".repeat(5000)] });
  const chunks = (): ReadableStream => new Blob([body.slice(0, 900), body.slice(900)]).stream();
  const streamed = { body: chunks(), duplex: "half" } as RequestInit;
  for (const answer of [
    await post(server, "/retrieve", body),
    await post(server, "/retrieve", "", streamed),
  ]) {
    assert.equal(answer.status, 413);
    assert.match(answer.text, /expected at most 1000 bytes/);
  }
  assert.equal((await post(server, "/retrieve", { queries: ["a"] })).status, 200);
});

test("unknown paths, wrong methods and packed bodies are refused", async (t) => {
  const server = await served(t);
  assert.equal((await get(server, "/nope")).status, 404);
  const wrong = await get(server, "/retrieve");
  assert.deepEqual([wrong.status, wrong.headers.get("allow")], [405, "POST"]);
  assert.equal((await post(server, "/health", {})).headers.get("allow"), "GET");
  const packed = await post(server, "/retrieve", "x", { headers: { "content-encoding": "gzip" } });
  assert.equal(packed.status, 415);
});

test("a request without the key hears how to send it, and /metrics needs it too", async (t) => {
  const server = await served(t, { apiKey: "s3cret" });
  const { status, headers } = await post(server, "/retrieve", { queries: ["a"] });
  assert.deepEqual([status, headers.get("www-authenticate")], [401, "Bearer"]);
  assert.equal((await get(server, "/metrics")).status, 401);
});

test("a request keeps the id it came with, if that is harmless", async (t) => {
  const server = await served(t);
  const idOf = async (id: string): Promise<string | null> =>
    (await get(server, "/health", { headers: { "x-request-id": id } })).headers.get("x-request-id");
  assert.equal(await idOf("trace-7"), "trace-7");
  assert.match((await idOf("no spaces")) ?? "", /^[0-9a-f-]{36}$/);
});

/** Sends bytes as they are; what came back before the connection closed or fell silent. */
function raw({ host, port }: RetrieverServer, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(port, host, () => socket.write(bytes));
    socket.setTimeout(2000, () => socket.destroy());
    socket.on("data", (part) => {
      text += part;
      if (text.includes("\r\n\r\n")) socket.end();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(text));
  });
}

test("what is no HTTP is a 400, and the server lives on", async (t) => {
  const server = await served(t);
  const lines = [
    "nonsense",
    "POST /retrieve HTTP/1.1",
    "POST \\ HTTP/1.1\r\nHost: localhost",
    "GET / HTTP/1.1\r\nHost: a b",
  ];
  for (const line of lines) assert.match(await raw(server, `${line}\r\n\r\n`), /^HTTP\/1.1 400 /, line);
  assert.equal((await get(server, "/health")).status, 200);
});

test("a body that comes too slowly is a 408", async (t) => {
  const server = await served(t, { limits: { timeoutMs: 100 } });
  const head = "POST /retrieve HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{";
  assert.match(await raw(server, head), /^HTTP\/1.1 408 /);
});

/** A request body with one thing about it changed at random. */
function mutant(random: () => number): string {
  const pick = <Value>(list: readonly Value[]): Value => list[Math.floor(random() * list.length)] as Value;
  const odd = [
    "",
    "\u0000",
    "\ud800",
    "日本",
    "x".repeat(40_000),
    null,
    0,
    -1,
    1e308,
    true,
    [],
    {},
    [[]],
    ["a"],
  ];
  const keys = ["queries", "query", "topk", "top_n", "k", "return_scores", "return_score", "input", "model"];
  const body = Object.fromEntries(
    keys.filter(() => random() < 0.5).map((key) => [key, pick([...odd, "a", 3])]),
  );
  if (random() < 0.3) Object.assign(body, { queries: Array.from({ length: 5 }, () => pick(odd)) });
  const text = JSON.stringify(body);
  const cut = Math.floor(random() * text.length);
  return pick([text, text.slice(0, cut), text.slice(cut), `${"[".repeat(5000)}${text}`, `${text}}`]);
}

test("no body makes the server fail or hang", async (t) => {
  const embedding = { model: "small", embedder: smallEmbedder };
  const server = await served(t, { embedding, limits: { timeoutMs: 5000 } });
  const random = randomFrom(3);
  const paths = ["/retrieve", "/search", "/batch_search", "/queries", "/v1/embeddings"];
  for (let round = 0; round < 40; round += 1) {
    const answers = await Promise.all(paths.map((path) => post(server, path, mutant(random))));
    for (const [i, { status, json }] of answers.entries()) {
      assert.ok(status === 200 || (status >= 400 && status < 500), `${paths[i]}: ${status}`);
      assert.equal(typeof json, "object");
    }
  }
  await sleep(10);
  assert.match((await get(server, "/metrics")).text, /^seekrl_queries_waiting 0$/m);
});
