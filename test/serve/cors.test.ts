/** Which web pages may ask from a browser, and what a browser is told. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { HttpServer, type Route, type ServeOptions } from "../../apps/serve/http/http-server.ts";
import { Refusal } from "../../apps/serve/http/refusal.ts";

const page = "https://chat.example";
const failureOf = (cause: unknown): Refusal =>
  cause instanceof Refusal ? cause : new Refusal("internal", "it failed", { cause });

async function urlOf(t: TestContext, options: ServeOptions): Promise<string> {
  const path = "/v1/things";
  const routes: Route[] = [
    { method: "POST", path, dialect: "error", handle: (call) => call.answer({ ok: true }) },
  ];
  const server = await HttpServer.open({ routes, timeoutMs: 5000, defaultPort: 0, failureOf }, options);
  t.after(() => server.close({ graceMs: 0 }));
  return `${server.url}${path}`;
}

const preflight = (url: string, origin: string): Promise<Response> =>
  fetch(url, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization, content-type",
    },
  });

const ask = (url: string, origin: string): Promise<Response> =>
  fetch(url, { method: "POST", body: "{}", headers: { origin } });

const allowed = ({ headers }: Response): string | null => headers.get("access-control-allow-origin");

test("a browser is told before it asks, without the key, which headers it may send", async (t) => {
  const url = await urlOf(t, { corsOrigins: [page], apiKey: "secret" });
  const answer = await preflight(url, page);
  assert.deepEqual([answer.status, allowed(answer), await answer.text()], [200, page, ""]);
  assert.equal(answer.headers.get("access-control-allow-headers"), "authorization, content-type");
  assert.match(answer.headers.get("access-control-allow-methods") ?? "", /\bPOST\b/);
  assert.equal(answer.headers.get("vary"), "origin");
});

test("a page with leave reads answers, refusals included", async (t) => {
  const open = await ask(await urlOf(t, { corsOrigins: [page] }), page);
  assert.deepEqual([open.status, allowed(open)], [200, page]);
  const refused = await ask(await urlOf(t, { corsOrigins: [page], apiKey: "secret" }), page);
  assert.deepEqual([refused.status, allowed(refused)], [401, page]);
});

test("a page without leave neither asks nor reads", async (t) => {
  const other = "https://evil.example";
  const url = await urlOf(t, { corsOrigins: [page] });
  assert.equal(allowed(await preflight(url, other)), null);
  const answer = await ask(url, other);
  assert.deepEqual([answer.status, allowed(answer)], [403, null]);
  const silent = await urlOf(t, {});
  assert.equal(allowed(await ask(silent, "http://localhost:5173")), null);
  assert.equal((await preflight(silent, "http://localhost:5173")).status, 405);
});

test("localhost stands for pages of this machine on any port, and a star for every page", async (t) => {
  const local = await urlOf(t, { corsOrigins: ["localhost"] });
  for (const origin of ["http://localhost:5173", "http://127.0.0.1", "http://[::1]:3000"]) {
    assert.equal(allowed(await preflight(local, origin)), origin);
  }
  for (const origin of ["http://localhost.evil.example", "http://notlocalhost", "null"]) {
    assert.equal(allowed(await preflight(local, origin)), null, origin);
  }
  const any = await urlOf(t, { corsOrigins: ["*"] });
  assert.equal(allowed(await ask(any, "https://evil.example")), "https://evil.example");
});

test("what is no origin is refused before the server listens", async (t) => {
  for (const origin of ["chat.example", "https://chat.example/", "https://chat.example/page", ""]) {
    await assert.rejects(urlOf(t, { corsOrigins: [origin] }), {
      code: "ERR_ARGUMENT",
      message: /corsOrigins: expected an origin such as/,
    });
  }
});
