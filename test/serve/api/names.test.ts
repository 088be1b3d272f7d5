/** Which model a request is answered by. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import { post } from "../doubles.ts";
import { replaying, say, whole } from "./doubles.ts";

const messages = [{ role: "user", content: "Hi" }];

for (const path of ["/v1/chat/completions", "/v1/messages", "/v1/responses"]) {
  const named = path === "/v1/responses" ? { input: "Hi" } : { messages, max_tokens: 5 };

  test(`${path}: a request that names no model is the first one's, and the answer says which it was`, async (t) => {
    const models = [replaying(whole([say("a")])), replaying(whole([say("b")]), { id: "other" })];
    const server = await serveModels({ models, port: 0 });
    t.after(() => server.close({ graceMs: 0 }));
    const modelOf = async (body: object): Promise<string> =>
      ((await post(server, path, body)).json as { model: string }).model;
    assert.equal((await post(server, path.slice("/v1".length), { ...named, model: "other" })).status, 200);
    if (path !== "/v1/messages") assert.equal(await modelOf(named), "small");
    assert.equal(await modelOf({ ...named, model: "other" }), "other");
    assert.equal((await post(server, path, { ...named, model: "third" })).status, 404);
  });

  test(`${path}: any name will do where the server says so`, async (t) => {
    const server = await serveModels({ models: [replaying(whole([say("a")]))], anyName: true, port: 0 });
    t.after(() => server.close({ graceMs: 0 }));
    const { status, json } = await post(server, path, { ...named, model: "gpt-4" });
    assert.deepEqual([status, (json as { model: string }).model], [200, "small"]);
  });
}
