/** Reads a package index (PEP 503 pages, PEP 658 metadata) and settles which wheels a CUDA build of torch consists of. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { arch, tmpdir } from "node:os";
import { join } from "node:path";
import { unescapeHtml } from "../html.mjs";
import { SetupError } from "../report.mjs";
import { isSupported } from "../torch-folder.mjs";
import { readFromZip } from "../unzip.mjs";
import { compareVersions, satisfies } from "../versions.mjs";

const machine = { x64: "x86_64", arm64: "aarch64" }[arch()];

/** `nvidia_cublas-13.1.0.3-py3-none-manylinux_2_27_x86_64.whl` in parts; undefined for what runs elsewhere. */
function wheelParts(file) {
  const [, version, platform] = /^[^-]+-([^-]+)(?:-\d[^-]*)?-[^-]+-[^-]+-(.+)\.whl$/.exec(file) ?? [];
  const fits = platform === "any" || (platform?.includes("linux") && platform.includes(machine));
  return fits ? { version } : undefined;
}

/** The wheels of one package's page that run on this machine. */
function wheelsOf(html, page) {
  return [...html.matchAll(/<a\s([^>]*)>/g)].flatMap(([, text]) => {
    const attribute = (name) => new RegExp(`\\b${name}\\s*=\\s*"([^"]*)"`).exec(text)?.[1];
    const href = attribute("href");
    if (href === undefined || attribute("data-yanked") !== undefined) return [];
    const url = new URL(unescapeHtml(href), page);
    const file = decodeURIComponent(url.pathname.split("/").at(-1));
    const parts = wheelParts(file);
    if (parts === undefined) return [];
    const sha256 = /^#sha256=([0-9a-f]{64})$/.exec(url.hash)?.[1];
    url.hash = "";
    const hasMetadata = [attribute("data-core-metadata"), attribute("data-dist-info-metadata")].some(
      (value) => value !== undefined && value !== "false",
    );
    return [{ ...parts, file, url: url.href, sha256, hasMetadata }];
  });
}

/** What the variables of a marker are here; of others, such as Python's version, every comparison holds. */
const environment = {
  platform_system: "Linux",
  sys_platform: "linux",
  os_name: "posix",
  platform_machine: machine,
};

/** `name == "value"` for the extras that are asked for: `extra` is each of them. */
function compares([name, operator, quoted], extras) {
  const value = quoted.slice(1, -1);
  const own = name === "extra" ? extras : [environment[name] ?? value];
  return operator === "!=" ? !own.includes(value) : own.includes(value);
}

/** Whether a marker holds here (PEP 508): comparisons under `and`, `or` and parentheses; an empty one does. */
function holdsHere(marker, extras) {
  const words = marker.match(/[()]|"[^"]*"|'[^']*'|[\w.]+|[=!<>~]+/g) ?? [];
  const comparison = () => {
    if (words[0] !== "(") {
      const [left, operator, right] = words.splice(0, 3);
      // Of orders only versions of Python have any.
      return !["==", "!="].includes(operator) || compares([left, operator, right], extras);
    }
    words.shift();
    const inside = either();
    words.shift();
    return inside;
  };
  const all = () => joined("and", comparison, (a, b) => a && b);
  const either = () => joined("or", all, (a, b) => a || b);
  const joined = (word, next, join) => {
    let value = next();
    while (words[0] === word) {
      words.shift();
      value = join(next(), value);
    }
    return value;
  };
  return words.length === 0 || either();
}

/** One requirement of a wheel: `cuda-toolkit[cublas,cudart]==13.0.2; platform_system == "Linux"`. */
function requirementOf(line) {
  const [head, marker = ""] = line.split(";", 2);
  const match = /^\s*([\w.-]+)\s*(?:\[([^\]]*)\])?\s*\(?([^)]*)\)?\s*$/.exec(head);
  if (match === null) return undefined;
  const [, name, extras = "", specifier] = match;
  return {
    ...{ name: name.toLowerCase().replaceAll(/[._]+/g, "-"), specifier: specifier.trim(), marker },
    extras: extras
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean),
  };
}

/** What is native of torch's requirements; the rest is Python. */
const isNative = ({ name }) => name.startsWith("nvidia-") || name === toolkit;

/** Names others by its extras, and holds nothing. */
const toolkit = "cuda-toolkit";

/** The native requirements that a wheel states for this machine, with those of the extras asked for. */
function requirementsOf(metadata, extras = []) {
  return [...metadata.matchAll(/^Requires-Dist: *(.+)$/gm)]
    .map(([, line]) => requirementOf(line))
    .filter((each) => each !== undefined && isNative(each) && holdsHere(each.marker, extras));
}

/** An index at an address: pages of packages by name, kept while the set-up runs. */
export class WheelIndex {
  #pages = new Map();
  #signal;
  #fetch;

  /** @param options - `fetch` in place of the global one, which knows no proxies */
  constructor(url, { signal, fetch = globalThis.fetch } = {}) {
    this.url = url.replace(/\/*$/, "/");
    this.#signal = signal;
    this.#fetch = fetch;
  }

  /** Wheels of a package, the newest first; none where the index has no such page. */
  async wheels(name) {
    if (!this.#pages.has(name)) {
      const page = new URL(`${name}/`, this.url).href;
      const html = await this.text(page);
      const found = html === undefined ? [] : wheelsOf(html, page);
      this.#pages.set(
        name,
        found.sort((a, b) => compareVersions(b.version, a.version)),
      );
    }
    return this.#pages.get(name);
  }

  /** What stands at an address; undefined when nothing does (403 is what object stores say of a missing file). */
  async text(url) {
    const response = await this.fetched(url);
    if ([403, 404].includes(response.status)) return undefined;
    if (!response.ok) throw new SetupError(`${url}: HTTP ${response.status}`, "ERR_REMOTE");
    return await response.text();
  }

  async fetched(url, options = {}) {
    try {
      return await this.#fetch(url, { ...options, signal: this.#signal ?? null });
    } catch (error) {
      if (this.#signal?.aborted) throw new SetupError("setup: aborted", "ERR_ABORTED");
      // What knows proxies names address and proxy itself.
      const why =
        error.code === "ERR_REMOTE" ? error.message : `${url}: ${error.cause?.message ?? error.message}`;
      throw new SetupError(
        `${why}. Remedy: check the network, name a mirror of the index with --index, or a torch that is here already, ` +
          "whose folder is torch in its Python's site-packages, in SEEKRL_LIBTORCH.",
        "ERR_REMOTE",
      );
    }
  }

  async metadataOf({ url, hasMetadata }) {
    return hasMetadata ? await this.text(`${url}.metadata`) : undefined;
  }

  /** Of a small wheel whose index has no metadata beside it: what stands in it. */
  async metadataInside({ url }) {
    const folder = await mkdtemp(join(tmpdir(), "seekrl-wheel-"));
    try {
      const [path, response] = [join(folder, "wheel"), await this.fetched(url)];
      if (!response.ok) throw new SetupError(`${url}: HTTP ${response.status}`, "ERR_REMOTE");
      await writeFile(path, Buffer.from(await response.arrayBuffer()));
      return await readFromZip(path, /\.dist-info\/METADATA$/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async sizeOf({ url }) {
    const response = await this.fetched(url, { method: "HEAD" });
    const size = Number(response.headers.get("content-length"));
    return response.ok && size > 0 ? size : undefined;
  }
}

/** The newest wheel of torch that this source compiles against and that was built for a tag; undefined for none. */
export async function torchWheel(index, tag, fits = isSupported) {
  const wheels = await index.wheels("torch");
  return wheels.find(({ version }) => version.endsWith(`+${tag}`) && fits(version));
}

/**
 * The wheels that torch's metadata asks for, and those that they ask for.
 *
 * @param metadata - torch's
 * @returns one of each package, of the newest version that every requirement accepts
 */
export async function neededWheels(index, metadata) {
  const [specifiers, chosen, asked] = [new Map(), new Map(), new Set()];
  const waiting = requirementsOf(metadata);
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { name, specifier, extras } = next;
    specifiers.set(name, [...(specifiers.get(name) ?? []), specifier].filter(Boolean));
    const all = specifiers.get(name);
    const wheels = await index.wheels(name);
    const found = wheels.find(({ version }) => all.every((each) => satisfies(version, each)));
    if (found === undefined)
      throw new SetupError(
        `${index.url}${name}/: expected a wheel ${all.join(",") || "of any version"} for ${machine}, got ` +
          `${
            wheels.length === 0
              ? "none"
              : wheels
                  .map(({ version }) => version)
                  .slice(0, 5)
                  .join(", ")
          }. ` +
          "Remedy: name a complete index with --index.",
        "ERR_REMOTE",
      );
    chosen.set(name, found);
    const question = `${found.file} ${extras.join(",")}`;
    if (asked.has(question)) continue;
    asked.add(question);
    const stated =
      (await index.metadataOf(found)) ?? (name === toolkit && (await index.metadataInside(found)));
    waiting.push(...requirementsOf(stated || "", extras));
  }
  chosen.delete(toolkit);
  return [...chosen].map(([name, wheel]) => ({ name, ...wheel }));
}
