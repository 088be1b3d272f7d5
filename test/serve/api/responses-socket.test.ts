/** Responses over a WebSocket, compaction, and what else asks to upgrade. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { WebSocket } from "ws";
import { responsesRoutes } from "../../../apps/serve/api/responses/routes.ts";
import { socketHandler } from "../../../apps/serve/api/responses/socket.ts";
import { ResponseStore } from "../../../apps/serve/api/responses/store.ts";
import type { Route, ServeOptions } from "../../../apps/serve/http/http-server.ts";
import { type ReplayedModel, replaying, servedRoutes, servingOf } from "./doubles.ts";
import { finish, start, words } from "./replies.ts";

const stored = { maxStoredResponses: 100, maxStoredBytes: 1 << 20 };

function routesOf(model: ReplayedModel): Route[] {
  const serving = servingOf([model]);
  return responsesRoutes({ ...serving, limits: { ...serving.limits, ...stored } });
}

interface Told {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A client that remembers what it is told. */
class Client {
  readonly socket: WebSocket;
  readonly told: Told[] = [];
  readonly #news = new EventEmitter();

  constructor(url: string, headers: Record<string, string> = {}) {
    this.socket = new WebSocket(`${url.replace("http", "ws")}/v1/responses`, { headers });
    this.socket.on("message", (data) => {
      this.told.push(JSON.parse(String(data)) as Told);
      this.#news.emit("told");
    });
  }

  send(body: object): void {
    this.socket.send(JSON.stringify({ type: "response.create", ...body }));
  }

  /** The next event of one of the types, after those that were waited for. */
  async next(...types: string[]): Promise<Told> {
    for (;;) {
      const event = this.told.shift();
      if (event === undefined) await once(this.#news, "told");
      else if (types.includes(event.type)) return event;
    }
  }

  /** Asks, and waits for what ends the answer. */
  async ask(body: object): Promise<Told> {
    this.send(body);
    return this.next("response.completed", "response.failed", "error");
  }
}

async function connected(t: TestContext, url: string): Promise<Client> {
  const client = new Client(url);
  t.after(() => client.socket.terminate());
  await once(client.socket, "open");
  return client;
}

const codeOf = ({ error }: Told): unknown => (error as { code: unknown }).code;
const idOf = ({ response }: Told): string => (response as { id: string }).id;

const answering = () => replaying([start, ...words("Yes"), finish()]);

test("a socket answers one request after the other, and goes on from what is not kept", async (t) => {
  const model = answering();
  const { url } = await servedRoutes(t, routesOf(model));
  const client = await connected(t, url);
  const first = await client.ask({ input: "One?", store: false });
  const second = await client.ask({ input: "Two?", store: false, previous_response_id: idOf(first) });
  assert.equal(second.type, "response.completed");
  assert.deepEqual(
    model.asked[1]?.messages.map(({ content }) => content),
    ["One?", "Yes", "Two?"],
  );
  const other = await connected(t, url);
  const lost = await other.ask({ input: "Three?", previous_response_id: idOf(second) });
  assert.deepEqual([lost.status, codeOf(lost)], [404, "previous_response_not_found"]);
  assert.equal((await other.ask({ input: "Again?" })).type, "response.completed");
});

test("requests that come at once are answered in order", async (t) => {
  const model = answering();
  const { url } = await servedRoutes(t, routesOf(model));
  const client = await connected(t, url);
  for (const input of ["a", "b", "c"]) client.send({ input, metadata: { input } });
  const answered: unknown[] = [];
  for (let i = 0; i < 3; i++) {
    const { response } = await client.next("response.completed");
    answered.push((response as { metadata: { input: string } }).metadata.input);
  }
  assert.deepEqual(answered, ["a", "b", "c"]);
});

test("behind a turn that failed nothing can be gone on from", async (t) => {
  const { url } = await servedRoutes(t, routesOf(answering()));
  const client = await connected(t, url);
  const previous_response_id = idOf(await client.ask({ input: "One?", store: false }));
  const output = { type: "function_call_output", call_id: "nobody", output: "x" };
  const failed = await client.ask({ input: [output], store: false, previous_response_id });
  assert.deepEqual([failed.status, codeOf(failed)], [400, "invalid_request"]);
  const evicted = await client.ask({ input: "Two?", store: false, previous_response_id });
  assert.equal(codeOf(evicted), "previous_response_not_found");
});

test("a failure on the way ends the response, and the socket stays", async (t) => {
  const model = replaying(async function* ({ messages }) {
    yield* [start, ...words("Hel")];
    if (messages[0]?.content === "Fail") throw new Error("secret");
    yield finish();
  });
  const faults: unknown[] = [];
  const options: ServeOptions = { onFault: ({ error }) => faults.push((error as Error).message) };
  const { url } = await servedRoutes(t, routesOf(model), options);
  const client = await connected(t, url);
  const error = await client.ask({ input: "Fail" });
  assert.equal(codeOf(error), "internal");
  assert.doesNotMatch(JSON.stringify(error), /secret/);
  assert.deepEqual(faults, ["secret"]);
  await client.next("response.failed");
  assert.equal((await client.ask({ input: "Go" })).type, "response.completed");
});

test("what is no request is refused by name, and what is no text ends the connection", async (t) => {
  const { url } = await servedRoutes(t, routesOf(answering()));
  const client = await connected(t, url);
  assert.match(JSON.stringify(await client.ask({ input: "Hi", stream: true })), /stream: Extra inputs/);
  client.socket.send("{");
  assert.equal(codeOf(await client.next("error")), "malformed_json");
  client.socket.send(Buffer.of(1, 2, 3));
  const [code] = await once(client.socket, "close");
  assert.equal(code, 1003);
  const large = await connected(t, url);
  large.socket.on("error", () => undefined);
  large.send({ input: "x".repeat(2 << 20) });
  const [tooLarge] = await once(large.socket, "close");
  assert.equal(tooLarge, 1009);
});

test("a client that leaves ends its reply", async (t) => {
  const ended = new EventEmitter();
  const model = replaying(async function* (_, signal) {
    yield* [start, ...words("Hel")];
    await once(signal, "abort");
    ended.emit("end");
  });
  const { url } = await servedRoutes(t, routesOf(model));
  const client = await connected(t, url);
  client.send({ input: "Hi" });
  await client.next("response.output_text.delta");
  const isEnded = once(ended, "end");
  client.socket.terminate();
  await isEnded;
});

test("a server that stops closes idle sockets, and answers what the others asked", async (t) => {
  const gate = new EventEmitter();
  const model = replaying(async function* () {
    yield* [start, ...words("Hel")];
    await once(gate, "open");
    yield finish();
  });
  const server = await servedRoutes(t, routesOf(model));
  const [idle, busy] = [await connected(t, server.url), await connected(t, server.url)];
  busy.send({ input: "Hi" });
  await busy.next("response.output_text.delta");
  const closed = server.close();
  const [idleCode] = await once(idle.socket, "close");
  assert.equal(idleCode, 1001);
  const busyClosed = once(busy.socket, "close");
  gate.emit("open");
  await busy.next("response.completed");
  assert.equal((await busyClosed)[0], 1001);
  await closed;
});

test("a socket that has stayed its time is told so, and closed", async (t) => {
  const serving = servingOf([answering()]);
  const parts = { serving, store: new ResponseStore(stored) };
  const socket = socketHandler(parts, { lifetimeMs: 50 });
  const route: Route = { method: "GET", path: "/v1/responses", dialect: "error", handle: () => {}, socket };
  const { url } = await servedRoutes(t, [route]);
  const client = await connected(t, url);
  assert.equal(codeOf(await client.next("error")), "websocket_connection_limit_reached");
  await once(client.socket, "close");
});

test("sockets ask for the key, stay on this machine, and are opened where there are some", async (t) => {
  const refusedWith = async (client: Client): Promise<number | undefined> => {
    client.socket.on("error", () => undefined);
    const [, answer] = (await once(client.socket, "unexpected-response")) as [
      unknown,
      { statusCode?: number },
    ];
    return answer.statusCode;
  };
  const keyed = await servedRoutes(t, routesOf(answering()), { apiKey: "secret" });
  assert.equal(await refusedWith(new Client(keyed.url)), 401);
  const client = new Client(keyed.url, { authorization: "Bearer secret" });
  t.after(() => client.socket.terminate());
  await once(client.socket, "open");
  const { url } = await servedRoutes(t, routesOf(answering()));
  assert.equal(await refusedWith(new Client(url, { origin: "http://elsewhere.example" })), 403);
  assert.equal(await refusedWith(new Client(`${url}/v2`)), 404);
  assert.equal((await fetch(`${url}/v1/responses`)).status, 405);
});

test("clients that offer HTTP/2 are answered all the same", async (t) => {
  const { url, port } = await servedRoutes(t, routesOf(answering()));
  const body = JSON.stringify({ input: "Hi" });
  const head = [
    ...["POST /v1/responses HTTP/1.1", `host: ${new URL(url).host}`, "connection: Upgrade, HTTP2-Settings"],
    ...["upgrade: h2c", "http2-settings: AAMAAABkAARAAAAAAAIAAAAA", `content-length: ${body.length}`],
  ];
  const connection = connect(port, "127.0.0.1");
  t.after(() => connection.destroy());
  connection.write(`${head.join("\r\n")}\r\n\r\n${body.slice(0, 5)}`);
  connection.end(body.slice(5));
  const answer = await text(connection);
  assert.match(answer, /^HTTP\/1\.1 200 /);
  assert.match(answer, /"text":"Yes"/);
});

test("a conversation made short stands for what was said", async (t) => {
  const model = replaying([start, ...words("They greeted.\n"), finish()]);
  const { url } = await servedRoutes(t, routesOf(model));
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${url}/v1/responses${path}`, { method: "POST", body: JSON.stringify(body) });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const input = [
    { role: "user", content: "Hello" },
    { role: "assistant", content: "Hi" },
  ];
  const { body } = await post("/compact", { model: "small", input });
  assert.equal(body.object, "response.compaction");
  assert.match(String(model.asked[0]?.messages[0]?.content), /^user: Hello\n\nassistant: Hi\n\nSummarise/);
  const output = body.output as Told[];
  assert.deepEqual(
    output.map(({ type }) => type),
    ["compaction"],
  );
  await post("", { instructions: "Be brief.", input: [...output, { role: "user", content: "And?" }] });
  assert.deepEqual(model.asked[1]?.messages, [
    { role: "system", content: "Be brief.\n\nSummary of the conversation so far:\nThey greeted." },
    { role: "user", content: "And?" },
  ]);
  for (const wrong of [{ input }, { model: "small" }])
    assert.equal((await post("/compact", wrong)).status, 400);
});
