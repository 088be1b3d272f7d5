/** Who may ask the two servers: keys, addresses, names of the machine. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { type TestContext, test } from "node:test";
import type { ServeOptions } from "../../apps/serve/http/http-server.ts";
import { serveRetriever } from "../../apps/serve/retriever/retriever-server.ts";
import { serveRewards } from "../../apps/serve/reward-server.ts";
import { emReward } from "../../lib/reward/reward.ts";
import { quickSearch } from "./doubles.ts";

const questions = [{ id: "1", question: "Capital of Italy?", answers: ["Rome"] }];
const query = ["Question: Capital of Italy?\nAssistant: <answer> Rome </answer>"];

/** Either server, and a request that it answers. */
const servers = [
  {
    name: "retriever",
    serve: (options: ServeOptions) => serveRetriever({ search: quickSearch, ...options, port: 0 }),
    ...{ path: "/retrieve", body: { queries: ["a"] } },
  },
  {
    name: "rewards",
    serve: (options: ServeOptions) =>
      serveRewards({ reward: emReward, questions, family: "rag", ...options, port: 0 }),
    ...{ path: "/get_reward", body: { query } },
  },
];

for (const { name, serve, path, body } of servers) {
  const served = async (t: TestContext, options: ServeOptions) => {
    const server = await serve(options);
    t.after(() => server.close({ graceMs: 0 }));
    return server;
  };
  /** The status of a request with these headers. */
  const ask = (port: number, headers: Record<string, string>, [method, to] = ["POST", path]) =>
    new Promise<number>((resolve, reject) => {
      const asked = request({ host: "127.0.0.1", port, path: to, method, headers }, (answer) => {
        answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
      });
      asked.on("error", reject).end(method === "POST" ? JSON.stringify(body) : undefined);
    });

  test(`${name}: an empty key, or none at an address that others reach, is refused unless it is open`, async (t) => {
    const refused: [ServeOptions, RegExp][] = [
      [{ apiKey: "" }, /apiKey: expected a key .*, got an empty one/],
      [{ apiKey: "a key\n" }, /apiKey: expected a key of visible ASCII characters/],
      [{ host: "0.0.0.0" }, /host: "0\.0\.0\.0" .* there is no key; set apiKey \(SEEKRL_API_KEY\)/],
      [{ host: "::" }, /there is no key/],
      [{ host: "10.0.0.1" }, /there is no key/],
      [{ host: "0.0.0.0", apiKey: "" }, /an empty one/],
      [{ host: "0.0.0.0", apiKey: " ", open: true }, /visible ASCII/],
    ];
    for (const [options, message] of refused) {
      await assert.rejects(serve(options), { code: "ERR_ARGUMENT", message }, JSON.stringify(options));
    }
    const allowed: ServeOptions[] = [
      ...[{}, { host: "localhost" }, { host: "127.0.0.2" }, { open: true, apiKey: "" }],
      ...[
        { host: "0.0.0.0", apiKey: "k" },
        { host: "0.0.0.0", open: true },
      ],
    ];
    for (const options of allowed) await served(t, options);
  });

  test(`${name}: with a key, every request but /health must carry it`, async (t) => {
    const { port } = await served(t, { apiKey: "s3cret" });
    for (const headers of [{}, { authorization: "Bearer other" }, { authorization: "s3cret" }]) {
      assert.equal(await ask(port, headers as Record<string, string>), 401);
    }
    assert.equal(await ask(port, { authorization: "Bearer s3cret" }), 200);
    assert.equal(await ask(port, {}, ["GET", "/health"]), 200);
  });

  test(`${name}: a page whose name was led to loopback is not answered`, async (t) => {
    const { port } = await served(t, {});
    for (const host of ["localhost", `localhost:${port}`, "127.0.0.1", "127.9.9.9:80", `[::1]:${port}`]) {
      assert.equal(await ask(port, { host }), 200, host);
    }
    for (const host of ["evil.example", `evil.example:${port}`, "localhost.evil.example", "10.0.0.1"]) {
      assert.equal(await ask(port, { host }), 421, host);
      assert.equal(await ask(port, { host }, ["GET", "/health"]), 421, host);
    }
    for (const host of ["a b", "a/b", "user@localhost"]) assert.ok((await ask(port, { host })) >= 400, host);
    const open = await served(t, { open: true });
    assert.equal(await ask(open.port, { host: "proxy.example" }), 200);
    const keyed = await served(t, { apiKey: "k" });
    const headers = { host: "proxy.example", authorization: "Bearer k" };
    assert.equal(await ask(keyed.port, headers), 200);
  });
}
