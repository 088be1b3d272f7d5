/** Who may ask a studio, what its page may do, and what no path leads to. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { Studio } from "../../../apps/studio/api.ts";
import { withFolder, withStudio } from "./asked.ts";

const script = `console.log(${JSON.stringify("x".repeat(2000))});`;

async function makePage(folder: string): Promise<string> {
  const page = join(folder, "page");
  await mkdir(join(page, "assets"), { recursive: true });
  await writeFile(join(page, "index.html"), "<!doctype html><title>studio</title>");
  await writeFile(join(page, "assets", "index-C0ffee12.js"), script);
  await writeFile(join(folder, "secret.txt"), "secret");
  return page;
}

/** A request whose path no client has tidied up. */
function raw(url: string, path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      const { hostname, port } = new URL(url);
      const sent = request({ hostname, port, path, headers }, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(parts),
          }),
        );
      });
      sent.on("error", reject).end();
    },
  );
}

test("with a key the API asks for it and the page's files do not", async () => {
  await withFolder(async (folder) => {
    const page = await makePage(folder);
    const use = { roots: [folder], page };
    await withStudio(
      use,
      async ({ url, status }) => {
        assert.equal((await status("/runs")).status, 401);
        assert.equal((await status("/runs", { headers: { authorization: "Bearer wrong" } })).status, 401);
        const authorization = "Bearer secret-key";
        assert.equal((await status("/runs", { headers: { authorization } })).status, 200);
        assert.equal((await raw(url, "/studio/")).status, 200);
        assert.equal((await raw(url, "/health")).status, 200);
        assert.equal((await raw(url, "/")).headers.location, "/studio/");
      },
      { apiKey: "secret-key" },
    );
  });
});

test("no path leads out of the page's folder", async () => {
  await withFolder(async (folder) => {
    const page = await makePage(folder);
    await withStudio({ roots: [folder], page }, async ({ url }) => {
      const paths = ["../secret.txt", "%2e%2e/secret.txt", "..%2fsecret.txt", "assets/../../secret.txt"];
      const more = ["..\\secret.txt", "//etc/passwd", "assets", "index.html%00", "%c0%ae%c0%ae/secret.txt"];
      for (const path of [...paths, ...more]) {
        const { status, body } = await raw(url, `/studio/${path}`);
        assert.equal(status, 404, path);
        assert.ok(!body.includes("secret\n") && !body.includes("root:"), path);
      }
    });
  });
});

test("files are packed for those who take it, kept by their names, and may ask nobody else", async () => {
  await withFolder(async (folder) => {
    const page = await makePage(folder);
    await withStudio({ roots: [folder], page }, async ({ url }) => {
      const path = "/studio/assets/index-C0ffee12.js";
      const packed = await raw(url, path, { "accept-encoding": "gzip, br" });
      assert.equal(packed.headers["content-encoding"], "br");
      assert.equal(brotliDecompressSync(packed.body).toString(), script);
      const gzip = await raw(url, path, { "accept-encoding": "gzip, br;q=0" });
      assert.equal(gunzipSync(gzip.body).toString(), script);
      const plain = await raw(url, path);
      assert.equal(plain.body.toString(), script);
      assert.match(String(plain.headers["cache-control"]), /immutable/);
      const index = await raw(url, "/studio/");
      assert.equal(index.headers["cache-control"], "no-cache");
      const held = await raw(url, "/studio/", { "if-none-match": String(index.headers.etag) });
      assert.deepEqual([held.status, held.body.length], [304, 0]);
      const policy = String(index.headers["content-security-policy"]);
      for (const rule of [
        "default-src 'none'",
        "connect-src 'self'",
        "script-src 'self'",
        "frame-ancestors 'none'",
      ])
        assert.ok(policy.includes(rule), rule);
      assert.doesNotMatch(policy, /https?:|\*/);
    });
  });
});

test("another site's page can neither read nor do anything", async () => {
  await withFolder(async (folder) => {
    await withStudio({ roots: [folder] }, async ({ url, status }) => {
      const origin = "https://elsewhere.example";
      assert.equal((await status("/runs", { headers: { origin } })).status, 403);
      // A form can send a text, but not JSON, without being asked first.
      const form = { method: "POST", body: "{}", headers: { "content-type": "text/plain" } };
      const refused = await status("/runs/any/stop", form);
      assert.deepEqual([refused.status, /content-type/.test(refused.message)], [400, true]);
      assert.equal((await raw(url, "/api/studio/runs", { host: "rebound.example" })).status, 421);
    });
  });
});

test("a studio that everybody may ask without a key controls nothing", async () => {
  await withFolder(async (folder) => {
    await mkdir(join(folder, "run"));
    await writeFile(join(folder, "run", "metrics.jsonl"), '{"step":1}\n');
    await withStudio(
      { roots: [folder] },
      async ({ get, status }) => {
        assert.equal((await get<Studio>("")).capabilities.control, false);
        const { runs } = await get<{ runs: { id: string }[] }>("/runs");
        const init = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
        const refused = await status(`/runs/${runs[0]!.id}/stop`, init);
        assert.deepEqual([refused.status, /without a key/.test(refused.message)], [409, true]);
      },
      { open: true },
    );
  });
});
