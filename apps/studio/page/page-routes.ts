/** The built page's files: compressed once, cached by their names, never beyond their folder. */
import { readdir, readFile, stat } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, gzip, constants as zlib } from "node:zlib";
import { packageRoot } from "../../../lib/base/package-root.ts";
import type { Call } from "../../serve/http/call.ts";
import type { Route } from "../../serve/http/http-server.ts";
import { Refusal } from "../../serve/http/refusal.ts";

/** Where the page is mounted. */
const pagePath = "/studio/";

/** Where `scripts/page.mjs` puts what it builds. */
const builtPage = join(packageRoot, "dist", "studio");

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".woff2": "font/woff2",
  ".png": "image/png",
};

/** The page asks nobody but its own server, and stands in no frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  // Charts set the sizes of their parts.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const guard = {
  "content-security-policy": policy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
};

/** A file in every form that it is sent in. */
interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly forms: ReadonlyMap<Encoding, Buffer>;
}

type Encoding = "br" | "gzip" | "identity";

/** Smaller files gain nothing. */
const minCompressed = 512;
/** These are compressed already. */
const packedTypes = /^(font|image\/png)/;

/** The files of a folder, read as they are asked for. */
export class PageFiles {
  readonly #folder: string;
  #names: Promise<ReadonlySet<string>> | undefined;
  readonly #files = new Map<string, Promise<PageFile>>();

  /** @param folder - of the built page */
  constructor(folder: string = builtPage) {
    this.#folder = folder;
  }

  /** A file by its path in the folder. @throws Refusal 404 for what is no file of the page; 503 when it is not built */
  async file(path: string): Promise<PageFile> {
    this.#names ??= namesBelow(this.#folder);
    const names = await this.#names;
    if (names.size === 0) {
      this.#names = undefined;
      throw new Refusal("not_ready", "the page is not built: npm run build");
    }
    // Only what stands in the list is opened, so no path leads elsewhere.
    const name = path === "" ? "index.html" : path;
    if (!names.has(name)) throw new Refusal("not_found", `${name.slice(0, 100)}: no such file of the page`);
    const known = this.#files.get(name) ?? readPageFile(this.#folder, name);
    this.#files.set(name, known);
    return known;
  }
}

async function namesBelow(folder: string): Promise<ReadonlySet<string>> {
  const found = await readdir(folder, { recursive: true }).catch((): string[] => []);
  const kinds = await Promise.all(found.map((name) => stat(join(folder, name))));
  return new Set(found.filter((_, i) => kinds[i]?.isFile()));
}

async function readPageFile(folder: string, name: string): Promise<PageFile> {
  const plain = await readFile(join(folder, name));
  const type = types[extname(name)] ?? "application/octet-stream";
  const { createHash } = await import("node:crypto");
  const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  const forms = new Map<Encoding, Buffer>([["identity", plain]]);
  if (plain.length >= minCompressed && !packedTypes.test(type)) {
    const quality = { params: { [zlib.BROTLI_PARAM_QUALITY]: 9 } };
    forms.set("br", await promisify(brotliCompress)(plain, quality));
    forms.set("gzip", await promisify(gzip)(plain));
  }
  return { type, etag, forms };
}

/** The best form that the client takes. */
function encodingFor(accepted: string, forms: PageFile["forms"]): Encoding {
  const names = accepted.split(",").map((each) => {
    const [name = "", ...parameters] = each.trim().toLowerCase().split(";");
    return parameters.some((parameter) => /^\s*q=0(\.0*)?$/.test(parameter)) ? "" : name.trim();
  });
  const found = (["br", "gzip"] as const).find((each) => names.includes(each) && forms.has(each));
  return found ?? "identity";
}

/** Files whose names hold a digest of what is in them never change. */
const named = /-[\w-]{8,}\.(js|css|woff2|svg|png)$/;

async function sendFile(call: Call, files: PageFiles): Promise<void> {
  const path = call.params["*"] ?? "";
  const { type, etag, forms } = await files.file(path);
  const { "if-none-match": held, "accept-encoding": accepted = "" } = call.incoming.headers;
  const caching = named.test(path) ? "public, max-age=31536000, immutable" : "no-cache";
  const headers = { ...guard, etag, "cache-control": caching, vary: "accept-encoding" };
  if (held === etag) return call.send([], 304, headers);
  const encoding = encodingFor(String(accepted), forms);
  const body = forms.get(encoding) ?? Buffer.alloc(0);
  const encoded: Record<string, string> = encoding === "identity" ? {} : { "content-encoding": encoding };
  call.send([body], 200, { ...headers, ...encoded, "content-type": type });
}

/** The page, which holds nothing that needs a key: it asks for one. A server's bare address leads to it. */
export function pageRoutes(files = new PageFiles()): Route[] {
  const open = { method: "GET", dialect: "error", isPublic: true } as const;
  const lead = (call: Call): void => call.send([], 302, { location: pagePath });
  return [
    { ...open, path: `${pagePath}*`, handle: (call) => sendFile(call, files) },
    ...["/", pagePath.slice(0, -1)].map((path) => ({ ...open, path, handle: lead })),
  ];
}
