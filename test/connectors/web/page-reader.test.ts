/** Pages of a local site: what is read, what is refused, how gently it is asked for. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import {
  type PageReaderOptions,
  pageReader,
  type ReadPages,
  type WebPage,
  withPages,
} from "../../../connectors/web/page-reader.ts";
import { article, html, type Route, startSite } from "./site.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const paris = article("Paris", "Paris is the capital of France, on the river Seine.");

/** Local, in a hurry, and with no robots.txt unless asked. */
function reader(options: PageReaderOptions = {}): ReadPages {
  return pageReader({ allowPrivate: true, robots: false, hosts: { delayMs: 0, perHost: 16 }, ...options });
}

function failureOf(page: WebPage | undefined): string {
  assert.ok(page !== undefined && "failure" in page, JSON.stringify(page));
  return page.failure;
}

function textOf(page: WebPage | undefined): string {
  assert.ok(page !== undefined && "text" in page, JSON.stringify(page));
  return page.text;
}

test("the article is read without menus, scripts and footers", async () => {
  await using site = await startSite({ "/": html(paris) });
  const [page] = await reader()([site.url]);
  assert.ok(page && "title" in page);
  assert.equal(page.title, "Paris");
  assert.match(page.text, /^(Paris\n)?Paris is the capital of France/);
  assert.doesNotMatch(page.text, /Home|Imprint|track|rights reserved/);
});

test("compressed pages, other character sets and plain text are read, and cut to the characters that are wanted", async () => {
  const coded =
    (coding: string, bytes: Buffer): Route =>
    (_, response) =>
      response.writeHead(200, { "content-type": "text/html", "content-encoding": coding }).end(bytes);
  const latin = Buffer.from("<meta charset=iso-8859-1><p>Orl\xe9ans</p>", "latin1");
  await using site = await startSite({
    "/gzip": coded("gzip", gzipSync(paris)),
    "/br": coded("br", brotliCompressSync(paris)),
    "/deflate": coded("deflate", deflateSync(paris)),
    "/latin": coded("identity", latin),
    "/plain": (_, response) => response.writeHead(200, { "content-type": "text/plain" }).end("a < b\n"),
    "/odd": coded("zstd", Buffer.from("x")),
    "/set": html("x", { "content-type": "text/html; charset=klingon" }),
  });
  const read = reader({ maxChars: 30 });
  const pages = await read(
    ["gzip", "br", "deflate", "latin", "plain", "odd", "set"].map((path) => `${site.url}/${path}`),
  );
  for (const page of pages.slice(0, 3)) assert.equal(textOf(page).length, 30);
  assert.deepEqual(pages.slice(3, 5).map(textOf), ["Orléans", "a < b"]);
  assert.match(failureOf(pages[5]), /expected br, gzip or deflate, got content coding zstd/);
  assert.match(failureOf(pages[6]), /expected a known character set, got klingon/);
});

test("redirects are followed, within a bound and to http(s) only", async () => {
  const to =
    (location: string): Route =>
    (_, response) =>
      response.writeHead(302, { location }).end();
  const routes = {
    "/a": to("/b"),
    "/b": to("/c?x=1"),
    "/c?x=1": html(paris),
    "/loop": to("/loop"),
    "/file": to("file:///etc/passwd"),
  };
  await using site = await startSite(routes);
  const [page, loop, file] = await reader()(["a", "loop", "file"].map((path) => `${site.url}/${path}`));
  assert.match(textOf(page), /capital of France/);
  assert.match(failureOf(loop), /expected at most 5 redirects/);
  assert.match(failureOf(file), /expected a redirect to http\(s\), got file:/);
  assert.equal(site.asked.filter(({ path }) => path === "/loop").length, 6);
});

test("every hop of a redirect is refused a private address, however it is written, and nothing is asked there", async () => {
  await using inner = await startSite({ "/secret": html(paris) });
  const { port } = new URL(inner.url);
  const targets = [
    ...[`127.0.0.1:${port}`, `localhost:${port}`, `2130706433:${port}`, `0x7f.1:${port}`, `0.0.0.0:${port}`],
    ...[`[::1]:${port}`, `[::ffff:127.0.0.1]:${port}`, "169.254.169.254", "10.0.0.1", "[fd00::1]"],
  ];
  const to =
    (location: string): Route =>
    (_, response) =>
      response.writeHead(302, { location }).end();
  const direct = targets.map((host, i) => [`/${i}`, to(`http://${host}/secret`)] as const);
  const second = targets.map((_, i) => [`/far/${i}`, to(`/${i}`)] as const);
  await using site = await startSite(Object.fromEntries([...direct, ...second]));
  const allowPrivate = [new URL(site.url).host];
  for (const robots of [false, true]) {
    const read = reader({ allowPrivate, robots });
    const urls = [...direct, ...second].map(([path]) => `${site.url}${path}`);
    for (const [i, page] of (await read(urls)).entries()) {
      assert.match(failureOf(page), /expected a host of the public internet, got /, urls[i]);
    }
  }
  assert.equal(inner.asked.length, 0);
});

test("what is no page, too large, too slow or broken is a failure of that page alone", async () => {
  await using site = await startSite({
    "/good": html(paris),
    "/pdf": (_, response) => response.writeHead(200, { "content-type": "application/pdf" }).end("%PDF"),
    "/large": html("x".repeat(70_000)),
    "/bomb": html("", { "content-encoding": "gzip" }),
    "/hang": () => {},
    "/half": (_, response) => {
      response.writeHead(200, { "content-type": "text/html", "content-length": 1000 });
      response.write("<p>half", () => response.destroy());
    },
    "/deep": html("<div>".repeat(20_000)),
  });
  const paths = ["good", "pdf", "large", "missing", "hang", "half", "deep"];
  const read = reader({ download: { maxBytes: 120_000, timeoutMs: 400 } });
  const urls = [...paths.map((path) => `${site.url}/${path}`), "ftp://x/", "nonsense"];
  const [good, pdf, , missing, hang, half, deep, ftp, nonsense] = await read(urls);
  assert.match(textOf(good), /capital/);
  assert.match(failureOf(pdf), /\/pdf: expected HTML or plain text, got application\/pdf/);
  assert.match(failureOf(missing), /expected status 200, got 404/);
  assert.match(failureOf(hang), /no whole page within 400 ms/);
  assert.match(failureOf(half), /aborted|terminated|ECONNRESET|hang up/);
  assert.match(failureOf(deep), /expected elements nested 512 deep at most/);
  for (const wrong of [ftp, nonsense]) assert.match(failureOf(wrong), /expected an address of http or https/);
  const small = reader({ download: { maxBytes: 1000 } });
  assert.match(failureOf((await small([`${site.url}/large`]))[0]), /expected at most 1000 bytes, got more/);
});

test("a small file that unpacks to a large one is stopped on the way", async () => {
  const bomb = gzipSync(Buffer.alloc(64 << 20));
  await using site = await startSite({
    "/": (_, response) =>
      response.writeHead(200, { "content-type": "text/html", "content-encoding": "gzip" }).end(bomb),
  });
  assert.match(failureOf((await reader()([site.url]))[0]), /expected at most 2097152 bytes/);
});

test("private addresses are not asked, however they are written", async () => {
  await using site = await startSite({ "/": html(paris) });
  const { port } = new URL(site.url);
  const hosts = ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"];
  const read = pageReader();
  for (const host of hosts) {
    const [page] = await read([`http://${host}:${port}/`]);
    assert.match(failureOf(page), /expected a host of the public internet, got /, host);
  }
  assert.equal(site.asked.length, 0);
});

test("robots.txt is heeded, read once, and a site that cannot say is left alone", async () => {
  const robots =
    "User-agent: *\nDisallow: /\n\nUser-agent: SeekRL\nDisallow: /private # mine\nAllow: /private/open\n";
  const plain = { "content-type": "text/plain" };
  await using site = await startSite({
    "/robots.txt": html(robots, plain),
    "/page": html(paris),
    "/private/page": html(paris),
    "/private/open": html(paris),
  });
  const read = reader({ robots: true });
  const pages = await read(["page", "private/page", "private/open"].map((path) => `${site.url}/${path}`));
  assert.deepEqual(
    pages.map((page) => "text" in page),
    [true, false, true],
  );
  assert.match(failureOf(pages[1]), /robots\.txt keeps programs out/);
  await read([`${site.url}/page`]);
  assert.equal(site.asked.filter(({ path }) => path === "/robots.txt").length, 1);
  const [other] = await reader({ robots: true, userAgent: "Other/1.0" })([`${site.url}/page`]);
  assert.match(failureOf(other), /robots\.txt/);

  await using broken = await startSite({
    "/robots.txt": (_, response) => response.writeHead(500).end(),
    "/": html(paris),
  });
  assert.match(failureOf((await read([broken.url]))[0]), /robots\.txt/);
  await using without = await startSite({ "/": html(paris) });
  assert.match(textOf((await read([without.url]))[0]), /capital/);
});

test("one host is asked by few at once, and with pauses", async () => {
  const slow: Route = (...how) => void delay(60).then(() => html(paris)(...how));
  const routes = (route: Route) => Object.fromEntries([0, 1, 2, 3, 4].map((i) => [`/${i}`, route]));
  const urlsOf = ({ url }: { url: string }) => [0, 1, 2, 3, 4].map((i) => `${url}/${i}`);
  await using busy = await startSite(routes(slow));
  await reader({ hosts: { perHost: 2, delayMs: 0 } })(urlsOf(busy));
  assert.equal(busy.mostAtOnce, 2);
  await using site = await startSite(routes(html(paris)));
  await reader({ hosts: { perHost: 5, delayMs: 50 } })(urlsOf(site));
  const [first, last] = [site.asked[0]?.time ?? 0, site.asked.at(-1)?.time ?? 0];
  assert.ok(last - first > 150, `five requests in ${last - first} ms`);
});

test("a page asked for by many is fetched once, and kept on disk until it is old", async () => {
  await using site = await startSite({ "/": html(paris) });
  const cache = { folder: join(folder, "pages") };
  const read = reader({ cache });
  const pages = await Promise.all([read([site.url, site.url]), read([site.url])]);
  assert.equal(new Set(pages.flat().map(textOf)).size, 1);
  assert.equal(site.asked.length, 1);
  assert.deepEqual(await reader({ cache })([site.url]), pages[1], "another process finds it");
  assert.equal(
    textOf((await reader({ cache, maxChars: 9 })([site.url]))[0]).length,
    9,
    "the whole text is kept",
  );
  assert.equal(site.asked.length, 1);
  await delay(5);
  await reader({ cache: { ...cache, maxAgeMs: 1 } })([site.url]);
  assert.equal(site.asked.length, 2, "too old");
  const [file] = (await readdir(cache.folder, { recursive: true })).filter((name) => name.endsWith(".json"));
  await writeFile(join(cache.folder, file ?? ""), '{"key": "http');
  assert.match(textOf((await reader({ cache })([site.url]))[0]), /capital/);
  assert.equal(site.asked.length, 3, "broken files are no pages");
});

test("failures are not kept", async () => {
  let isDown = true;
  await using site = await startSite({
    "/": (request, response) => (isDown ? response.writeHead(503).end() : html(paris)(request, response)),
  });
  const read = reader({ cache: { folder: join(folder, "failures") } });
  assert.match(failureOf((await read([site.url]))[0]), /got 503/);
  isDown = false;
  assert.match(textOf((await read([site.url]))[0]), /capital/);
});

test("a signal ends the waiting at once", async () => {
  await using site = await startSite({ "/": () => {} });
  const started = performance.now();
  const waiting = reader()([site.url], { signal: AbortSignal.timeout(80) });
  await assert.rejects(waiting, { code: "ERR_ABORTED" });
  assert.ok(performance.now() - started < 5000);
  await assert.rejects(reader()([], { signal: AbortSignal.abort() }), { code: "ERR_ABORTED" });
});

test("a page of a megabyte does not stop the process while it is read", async () => {
  const large = article("Large", "Words and words.").replace(
    "</article>",
    `${"<p>Words, <b>more</b> words.</p>".repeat(30_000)}</article>`,
  );
  await using site = await startSite({ "/": html(large) });
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 5);
  const started = performance.now();
  assert.ok(textOf((await reader()([site.url]))[0]).length > 30_000);
  clearInterval(timer);
  const expected = (performance.now() - started) / 5;
  assert.ok(ticks > expected / 10, `${ticks} of ${Math.round(expected)} ticks`);
});

test("hits get the text of their pages, and keep the engine's where there is none", async () => {
  await using site = await startSite({ "/": html(paris) });
  const hit = (id: string, score: number) => ({ id, title: "T", text: "an excerpt", score });
  const search = withPages(
    async (queries) => queries.map(() => [hit(site.url, 1), hit(`${site.url}/gone`, 0.5)]),
    { read: reader() },
  );
  const [first, second] = await search(["a", "b"], { topK: 2 });
  assert.deepEqual(first, second);
  assert.equal(first?.[0]?.title, "Paris");
  assert.match(first?.[0]?.text ?? "", /capital of France/);
  assert.deepEqual(first?.[1], hit(`${site.url}/gone`, 0.5));
  assert.equal(site.asked.length, 2, "each page once");
});
