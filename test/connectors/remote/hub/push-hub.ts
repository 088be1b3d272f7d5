/** A hub that takes files as well: repositories and branches made, large files stored by their SHA-256, commits whole. */
import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { type ModelHub, startModelHub } from "./model-hub.ts";

/** One line of a commit's body. */
interface CommitLine {
  readonly key: "header" | "file" | "lfsFile";
  readonly value: Readonly<Record<string, string>>;
}

/** What it holds, and what it gets wrong on command. */
export interface PushHub extends ModelHub {
  /** Method and path of what was asked besides files, in order. */
  readonly steps: string[];
  /** Large files by their SHA-256. */
  readonly stored: Map<string, Buffer>;
  /** Branches besides main. */
  readonly branches: Set<string>;
  /** Headers of commits. */
  readonly commits: Readonly<Record<string, string>>[];
  /** Of the repository; undefined before it is made. */
  visibility: "public" | "private" | undefined;
  /** Statuses in place of the next answers to requests whose method and path it fits. */
  readonly refusals: { readonly which: RegExp; readonly status: number; readonly text?: string }[];
  /** After so many bytes of a large file the line is cut, once each. */
  readonly cuts: number[];
  /** Called when the first bytes of a large file have come; no more are read before it is done. */
  onStored?: () => void | Promise<void>;
  /** Called when a commit has been asked for; it is made after that. */
  onCommit?: () => void;
}

const json = (response: ServerResponse, value: object, status = 200): void =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));

const sha256 = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

const readJson = async (request: IncomingMessage): Promise<never> =>
  JSON.parse((await buffer(request)).toString("utf8")) as never;

/** The routes of one repository. */
class Routes {
  readonly #hub: PushHub;
  readonly #id: string;

  constructor(hub: PushHub, id: string) {
    this.#hub = hub;
    this.#id = id;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "", "http://hub");
    const step = `${request.method} ${pathname}`;
    this.#hub.steps.push(step);
    const refusal = this.#hub.refusals.findIndex(({ which }) => which.test(step));
    const [told] = refusal < 0 ? [] : this.#hub.refusals.splice(refusal, 1);
    if (told !== undefined) return json(response, { error: told.text ?? "as told" }, told.status);
    if (pathname.startsWith("/store/")) return this.#store(pathname.slice(7), request, response);
    if (request.headers.authorization === undefined) return json(response, { error: "who?" }, 401);
    if (pathname === "/api/repos/create") return this.#create(await readJson(request), response);
    if (pathname === `/${this.#id}.git/info/lfs/objects/batch`)
      return this.#batch(await readJson(request), response);
    const [, kind, branch = ""] = /^\/api\/models\/\w+\/\w+\/(\w+)\/(.+)$/.exec(pathname) ?? [];
    if (kind === "preupload") return this.#preupload(await readJson(request), response);
    if (kind === "branch") return this.#makeBranch(branch, response);
    if (kind === "commit") return this.#commit(branch, await buffer(request), response);
    json(response, { error: "no such place" }, 404);
  }

  #create(asked: { name: string; organization: string; visibility?: "private" }, response: ServerResponse) {
    const hub = this.#hub;
    if (`${asked.organization}/${asked.name}` !== this.#id) return json(response, { error: "whose?" }, 403);
    if (hub.visibility !== undefined) return json(response, { error: "it is there" }, 409);
    hub.visibility = asked.visibility ?? "public";
    json(response, { url: `${hub.url}/${this.#id}`, id: "1" });
  }

  #makeBranch(branch: string, response: ServerResponse) {
    if (this.#hub.branches.has(branch)) return json(response, { error: "it is there" }, 409);
    this.#hub.branches.add(branch);
    json(response, {});
  }

  #preupload({ files }: { files: { path: string; size: number }[] }, response: ServerResponse): void {
    const modeOf = (path: string): string => (path.endsWith(".safetensors") ? "lfs" : "regular");
    json(response, {
      files: files.map(({ path }) => ({ path, uploadMode: modeOf(path), shouldIgnore: false })),
    });
  }

  #batch({ objects }: { objects: { oid: string; size: number }[] }, response: ServerResponse): void {
    const { stored, url } = this.#hub;
    const upload = (oid: string) => ({
      actions: { upload: { href: `${url}/store/${oid}?signature=hidden` } },
    });
    const answers = objects.map((each) => ({ ...each, ...(stored.has(each.oid) ? {} : upload(each.oid)) }));
    json(response, { transfer: "basic", objects: answers });
  }

  async #store(oid: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.headers.authorization !== undefined) return json(response, { error: "a token" }, 400);
    const cut = this.#hub.cuts.shift();
    const pieces: Buffer[] = [];
    for await (const piece of request) {
      if (pieces.push(piece as Buffer) === 1) await this.#hub.onStored?.();
      if (cut !== undefined && Buffer.concat(pieces).length >= cut) return void request.socket.destroy();
    }
    const content = Buffer.concat(pieces);
    const isRight = sha256(content) === oid && Number(request.headers["content-length"]) === content.length;
    if (!isRight) return json(response, { error: "another content" }, 400);
    this.#hub.stored.set(oid, content);
    response.end();
  }

  /** All of it or none: an object that is missing refuses the whole. */
  #commit(branch: string, body: Buffer, response: ServerResponse) {
    const hub = this.#hub;
    hub.onCommit?.();
    const lines = body
      .toString("utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as CommitLine);
    if (branch !== "main" && !hub.branches.has(branch)) return json(response, { error: "no branch" }, 404);
    const files = lines.filter(({ key }) => key !== "header").map((line) => this.#fileOf(line));
    if (files.some(([, content]) => content === undefined))
      return json(response, { error: "no object" }, 400);
    for (const [name, content] of files) if (content !== undefined) hub.files.set(name, content);
    for (const { key, value } of lines) if (key === "header") hub.commits.push({ ...value, branch });
    hub.commit = createHash("sha1").update(body).digest("hex");
    json(response, { commitOid: hub.commit, commitUrl: `${hub.url}/${this.#id}/commit/${hub.commit}` });
  }

  #fileOf({ key, value }: CommitLine): [string, Buffer | undefined] {
    const { path = "", content = "", oid = "" } = value;
    return [path, key === "file" ? Buffer.from(content, "base64") : this.#hub.stored.get(oid)];
  }
}

/** Starts one that knows a single repository, which is not there yet. */
export async function startPushHub(id: string): Promise<PushHub> {
  const accept = (request: IncomingMessage, response: ServerResponse): Promise<void> | undefined => {
    if (request.method === "GET" && request.url !== `/api/models/${id}`) return undefined;
    if (request.method !== "GET") return routes.answer(request, response);
    json(response, { id, private: hub.visibility === "private" });
    return Promise.resolve();
  };
  const hub: PushHub = Object.assign(await startModelHub(id, {}, accept), {
    ...{ steps: [], stored: new Map(), branches: new Set<string>(), commits: [], visibility: undefined },
    ...{ refusals: [], cuts: [] },
  });
  const routes = new Routes(hub, id);
  return hub;
}
