/** Everything that asks over the network goes through the proxy that the environment names. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { fetchModel } from "../../../../connectors/remote/hub/fetch-model.ts";
import { LocalFile } from "../../../../connectors/remote/hub/upload/local-file.ts";
import { uploadFiles } from "../../../../connectors/remote/hub/upload/upload.ts";
import { routedFetch } from "../../../../connectors/remote/network/routed-fetch.ts";
import { remoteSearch } from "../../../../connectors/remote/remote-search.ts";
import { McpServer } from "../../../../connectors/tools/mcp/server.ts";
import { pageReader } from "../../../../connectors/web/page-reader.ts";
import { SeekError } from "../../../../lib/base/errors.ts";
import { runCliOn, runCliWith } from "../../../cli/run-cli.ts";
import { projectRoot } from "../../../project.ts";
import { machine } from "../../../setup/machine.ts";
import { article, html, startSite } from "../../web/site.ts";
import { retrieveReply, startFaultServer } from "../fault-server.ts";
import { startPushHub } from "../hub/push-hub.ts";
import { certificate, certificateKey } from "./certificate.ts";
import { type ProxyServer, setProxies, startProxy } from "./proxy-server.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-proxy-"));
after(() => rm(folder, { recursive: true }));

const portOf = (url: string): number => Number(new URL(url).port);
const nobody = "http://user:hidden@127.0.0.1:1";
const quick = { timeoutMs: 2000, retries: 0 };

async function failure(work: Promise<unknown>): Promise<SeekError> {
  const error = await work.then(
    () => assert.fail("expected a failure"),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof SeekError, String(error));
  assert.doesNotMatch(String(error.stack) + JSON.stringify(error), /hidden/);
  return error;
}

/** A proxy before a server, which HTTP_PROXY names with its credentials. */
async function proxied(t: TestContext, url: string): Promise<ProxyServer> {
  const proxy = await startProxy(t, portOf(url));
  setProxies(t, { HTTP_PROXY: proxy.url.replace("//", "//user:hid%40den@") });
  return proxy;
}

const basic = `Basic ${Buffer.from("user:hid@den").toString("base64")}`;

test("a remote search asks through the proxy, which is told its credentials", async (t) => {
  await using server = await startFaultServer(retrieveReply);
  const proxy = await proxied(t, server.url);
  const search = remoteSearch({ url: "http://search.example:8000", transport: quick });
  for (const query of ["one", "two"]) {
    const [hits] = await search([query], { topK: 1 });
    assert.equal(hits?.[0]?.text, `about ${query}`);
  }
  assert.deepEqual(proxy.asked, Array(2).fill("POST http://search.example:8000/retrieve"));
  assert.deepEqual(proxy.credentials, [basic, basic]);
  assert.ok(server.asked.every(({ headers }) => headers["proxy-authorization"] === undefined));
  assert.equal(server.asked[0]?.headers.host, "search.example:8000");
});

test("models come from the hub and go to it through the proxy", async (t) => {
  await using hub = await startPushHub("acme/tiny");
  const proxy = await proxied(t, hub.url);
  const endpoint = "http://hub.example";
  const weights = Buffer.alloc(300_000, "abc");
  await writeFile(join(folder, "model.safetensors"), weights);
  const content = new LocalFile(join(folder, "model.safetensors"), { start: 0, end: weights.length });
  const files = [{ name: "model.safetensors", numBytes: weights.length, content }];
  const upload = { id: "acme/tiny", revision: "main", isPrivate: false, message: "first", files };
  const commit = await uploadFiles(upload, { endpoint, token: "mine" });
  assert.ok(proxy.asked.some((asked) => asked.includes("/commit/")));
  const sent = proxy.asked.splice(0).length;
  assert.ok(sent >= 3, String(sent));
  const cache = join(folder, "cache");
  const fetched = await fetchModel("acme/tiny", { endpoint, token: "", cache, offline: false });
  assert.equal(fetched.commit, commit);
  assert.deepEqual(await readFile(join(fetched.path, "model.safetensors")), weights);
  assert.ok(proxy.asked.some((asked) => asked.endsWith("/model.safetensors")));
  assert.deepEqual(new Set(proxy.credentials), new Set([basic]));
});

test("pages are read through the proxy, which resolves names; private addresses are refused all the same", async (t) => {
  await using site = await startSite({ "/": html(article("Paris", "Paris is on the Seine.")) });
  const proxy = await proxied(t, site.url);
  const read = pageReader({ robots: false, hosts: { delayMs: 0 } });
  const urls = [
    "http://site.example/",
    "http://10.1.2.3/",
    "http://localhost:9/",
    `${site.url}/`,
    "http://[::ffff:10.0.0.1]/",
  ];
  const [page, ...refused] = await read(urls);
  assert.ok(page !== undefined && "text" in page, JSON.stringify(page));
  assert.match(page.text, /on the Seine/);
  for (const each of refused)
    assert.match("failure" in each ? each.failure : "", /expected a host of the public internet/);
  assert.deepEqual(proxy.asked, ["GET http://site.example/"]);
  setProxies(t, { HTTP_PROXY: nobody });
  const [lost] = await read(["http://site.example/lost"]);
  const said = lost !== undefined && "failure" in lost ? lost.failure : "";
  assert.match(said, /lost: through HTTP_PROXY \(http:\/\/127\.0\.0\.1:1\): connect ECONNREFUSED/);
});

test("chat asks a server through the proxy, and says which proxy is not there", async (t) => {
  const events = `data: ${JSON.stringify({ choices: [{ delta: { content: "Hello" } }] })}\n\ndata: [DONE]\n\n`;
  await using server = await startSite({
    "/v1/models": (_, response) => void response.end('{"data":[{"id":"first"}]}'),
    "/v1/chat/completions": (_, response) =>
      void response.writeHead(200, { "content-type": "text/event-stream" }).end(events),
  });
  const proxy = await proxied(t, server.url);
  const talk = () => runCliOn("Hi\n", "chat", "--endpoint", "http://chat.example/v1");
  const { code, stdout, stderr } = await talk();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /Hello/);
  assert.ok(proxy.asked.includes("POST http://chat.example/v1/chat/completions"), proxy.asked.join());
  setProxies(t, { HTTP_PROXY: nobody });
  const lost = await talk();
  assert.match(
    lost.stderr,
    /chat\.example\S* through HTTP_PROXY \(http:\/\/127\.0\.0\.1:1\): connect ECONNREFUSED/,
  );
  assert.doesNotMatch(lost.stderr, /hidden/);
});

test("a server of the Model Context Protocol is reached through the proxy", async (t) => {
  await using site = await startSite({ "/mcp": (_, response) => void response.writeHead(404).end() });
  const proxy = await proxied(t, site.url);
  await failure(McpServer.open({ url: "http://tools.example/mcp" }));
  assert.ok(proxy.asked.includes("POST http://tools.example/mcp"), proxy.asked.join());
  setProxies(t, { HTTP_PROXY: nobody });
  const { message } = await failure(McpServer.open({ url: "http://tools.example/mcp" }));
  assert.match(message, /through HTTP_PROXY \(http:\/\/127\.0\.0\.1:1\): connect ECONNREFUSED/);
});

test("the set-up of CUDA asks its index through the proxy", async (t) => {
  await using site = await startSite({});
  const proxy = await proxied(t, site.url);
  const { env } = await machine();
  const setUp = () =>
    runCliWith(
      env as Record<string, string>,
      "setup",
      "cuda",
      "--build",
      "cu130",
      "--index",
      "http://wheels.example",
    );
  assert.match((await setUp()).stderr, /no torch .* was found/);
  assert.deepEqual(proxy.asked, ["GET http://wheels.example/cu130/torch/"]);
  setProxies(t, { HTTP_PROXY: nobody });
  assert.match(
    (await setUp()).stderr,
    /wheels\.example\S* through HTTP_PROXY \(http:\/\/127\.0\.0\.1:1\): connect ECONNREFUSED.*Remedy/,
  );
});

test("https goes through a tunnel, inside of which the server's own certificate counts", async (t) => {
  const secure = createHttps({ cert: certificate, key: certificateKey }, (request, response) => {
    request.resume();
    response.end(JSON.stringify({ result: [[{ document: { id: 1, contents: '"T"\nsecret' }, score: 1 }]] }));
  });
  secure.listen(0, "127.0.0.1");
  await once(secure, "listening");
  t.after(() => void secure.close());
  const proxy = await startProxy(t, (secure.address() as AddressInfo).port);
  const ca = join(folder, "ca.pem");
  await writeFile(ca, certificate);
  const compiled = (name: string) => JSON.stringify(pathToFileURL(join(projectRoot, "dist", name)).href);
  const script = `const { remoteSearch } = await import(${compiled("connectors/remote/remote-search.js")});
    const { routedFetch } = await import(${compiled("connectors/remote/network/routed-fetch.js")});
    const url = process.argv[1];
    const [[hit]] = await remoteSearch({ url, transport: { retries: 0 } })(["q"], { topK: 1 });
    console.log(hit.text, (await (await routedFetch(url)).json()).result.length);`;
  const env = { PATH: process.env.PATH, HTTPS_PROXY: proxy.url };
  const run = (url: string, more: object) =>
    promisify(execFile)(process.execPath, ["--input-type=module", "-e", script, url], {
      env: { ...env, ...more },
    });
  const { stdout } = await run("https://search.example", { NODE_EXTRA_CA_CERTS: ca });
  assert.equal(stdout, "secret 1\n");
  assert.deepEqual(proxy.asked, Array(2).fill("CONNECT search.example:443"));
  await assert.rejects(run("https://search.example", {}), /self-signed certificate/);
  await assert.rejects(run("https://search.elsewhere", { NODE_EXTRA_CA_CERTS: ca }), /altnames|Hostname/);
});

test("a proxy that cannot be reached, refuses or is silent is named, and its credentials are not", async (t) => {
  const ask = (url: string, retries = 0) =>
    failure(remoteSearch({ url, transport: { ...quick, timeoutMs: 300, retries } })(["q"], { topK: 1 }));
  setProxies(t, { https_proxy: nobody });
  const lost = await ask("https://search.example");
  assert.equal(lost.code, "ERR_REMOTE");
  assert.match(
    lost.message,
    /search\.example\S* through https_proxy \(http:\/\/127\.0\.0\.1:1\): connect ECONNREFUSED/,
  );
  const proxy = await startProxy(t, 1);
  setProxies(t, { ALL_PROXY: proxy.url.replace("//", "//user:hidden@") });
  for (const scheme of ["http", "https"]) {
    proxy.instead = 407;
    proxy.asked.length = 0;
    const refused = await ask(`${scheme}://search.example`, 2);
    assert.match(
      refused.message,
      /search\.example\S* through ALL_PROXY \(http:\S+\): .*407.*Remedy: .*USER:PASSWORD/,
    );
    assert.equal(proxy.asked.length, 1, "what stays is not asked again");
    proxy.instead = "silence";
    const late = await ask(`${scheme}://search.example`);
    assert.match(late.message, /through ALL_PROXY \(http:\S+\): no whole answer within 300 ms/);
  }
  proxy.instead = 403;
  assert.match((await ask("https://search.example")).message, /through ALL_PROXY .*: .*403/);
});

test("a reader who leaves after an answer has come whole is not left waiting", async () => {
  await using site = await startSite({
    "/": (_, response) => {
      response.write("first");
      response.end("second");
    },
  });
  const leave = new AbortController();
  const answer = await routedFetch(site.url, { signal: leave.signal });
  const reader = answer.body!.getReader();
  await reader.read();
  // By when the rest is here, unread.
  await sleep(200);
  leave.abort();
  await assert.rejects(async () => {
    while (!(await reader.read()).done);
  }, /abort/i);
});

test("hosts of NO_PROXY and this machine are asked straight, along redirects too", async (t) => {
  await using server = await startFaultServer(retrieveReply);
  await using site = await startSite({
    "/away": (_, response) => void response.writeHead(302, { location: `${server.url}/there` }).end(),
  });
  const proxy = await proxied(t, site.url);
  const near = remoteSearch({ url: server.url, transport: quick });
  assert.equal((await near(["q"], { topK: 1 })).length, 1);
  assert.deepEqual(proxy.asked, []);
  server.script.push({ status: 200, body: "near" });
  assert.equal(await (await routedFetch("http://far.example/away")).text(), "near");
  assert.deepEqual(proxy.asked, ["GET http://far.example/away"]);
  process.env.NO_PROXY = ".example";
  const far = failure(remoteSearch({ url: "http://far.example", transport: quick })(["q"], { topK: 1 }));
  assert.match((await far).message, /^http:\/\/far\.example\/retrieve: /);
  assert.equal(proxy.asked.length, 1);
});
