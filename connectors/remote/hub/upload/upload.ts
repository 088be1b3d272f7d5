/** Files into a model's repository on the hub: as one commit, so that it holds all of them or what it held before. */
import { codeOf, messageOf, SeekError, throwIfAborted } from "../../../../lib/base/errors.ts";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import { excerpt } from "../../attempt.ts";
import { Endpoint } from "../../endpoint.ts";
import { Fault } from "../../fault.ts";
import type { Hub } from "../../files/hub.ts";
import { HubRequests } from "./hub-requests.ts";

/** A file on its way. */
export interface UploadFile {
  /** Its path in the repository. */
  readonly name: string;
  readonly numBytes: number;
  readonly content: Blob;
}

/** What goes where. */
export interface Upload {
  /** `OWNER/NAME`. */
  readonly id: string;
  /** A branch, made where it is missing. */
  readonly revision: string;
  /** Of a repository that is made; one that is there must be so. */
  readonly isPrivate: boolean;
  /** Of the commit. */
  readonly message: string;
  readonly files: readonly UploadFile[];
  readonly onBytes?: ((numBytes: number, totalBytes: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const repositorySchema = lazySchema((z) => z.object({ private: z.boolean() }));

/**
 * Uploads files, over the requests that the server's answers ask for: small files with the commit, large ones to a store
 * before it, those that the store has already not at all.
 *
 * @param upload - repository, branch, files
 * @param hub - with a token that may write there
 * @returns the commit
 * @throws ERR_ARGUMENT without a token; ERR_STATE when the repository is public and should not be; ERR_REMOTE, ERR_ABORTED,
 *   which say whether anything may have been committed
 */
export async function uploadFiles(upload: Upload, hub: Hub): Promise<string> {
  const { id, signal } = upload;
  throwIfAborted(signal, id);
  const remedy = `Remedy: HF_TOKEN with a token that may write (${hub.endpoint}/settings/tokens)`;
  if (hub.token === undefined)
    throw new SeekError("ERR_ARGUMENT", `${id}: expected a token of the hub, got none. ${remedy}`);
  const running = new RepositoryUpload(upload, hub);
  try {
    return await running.run();
  } catch (error) {
    const outcome = running.isCommitting
      ? `the hub had been asked for the commit, which is there whole or not at all: ${hub.endpoint}/${id}/commits/${upload.revision}`
      : "nothing was committed";
    if (signal?.aborted)
      throw new SeekError("ERR_ABORTED", `${id}: aborted; ${outcome}`, { cause: signal.reason });
    throw uploadFailure(error, id, hub, outcome);
  }
}

function uploadFailure(error: unknown, id: string, { endpoint, token = "" }: Hub, outcome: string): unknown {
  const code = codeOf(error) ?? "ERR_REMOTE";
  if (code !== "ERR_REMOTE") return error;
  const said = error instanceof Fault ? error.message : excerpt(messageOf(error), [token]);
  const status = error instanceof Fault ? error.status : undefined;
  const hint =
    hintFor(status, id, endpoint) ?? `${outcome}; the same call again sends only what the hub lacks`;
  return new SeekError(code, `${id}: ${said}. Remedy: ${hint}`, { cause: error });
}

function hintFor(status: number | undefined, id: string, endpoint: string): string | undefined {
  const [owner] = id.split("/");
  if (status === 401) return `HF_TOKEN must be one that is valid (${endpoint}/settings/tokens)`;
  if (status === 403) return `HF_TOKEN must be one that may write models of ${owner}`;
  if (status === 404) return `${id} must be a model's repository, and HF_TOKEN one that may write to it`;
  return undefined;
}

/** One upload. */
class RepositoryUpload {
  readonly #upload: Upload;
  readonly #hub: Hub;
  readonly #fetch: typeof fetch;
  /** Whether the commit was asked for: from then on the hub alone knows whether it made it. */
  isCommitting = false;

  constructor(upload: Upload, hub: Hub) {
    this.#upload = upload;
    this.#hub = hub;
    const requests = new HubRequests(hub, upload.signal);
    this.#fetch = (input, init) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      this.isCommitting ||= pathname.includes(`/api/models/${upload.id}/commit/`);
      return requests.fetch(input, init);
    };
  }

  async run(): Promise<string> {
    await this.#makeRepository();
    await this.#makeBranch();
    return this.#commit();
  }

  async #makeRepository(): Promise<void> {
    const { createRepo } = await import("@huggingface/hub");
    const { id, isPrivate } = this.#upload;
    const visibility = isPrivate ? { visibility: "private" as const } : {};
    // The token stands in the requests; the library takes none that looks unlike huggingface.co's own.
    const isThere = await isTaken(createRepo({ ...this.#parts, ...visibility, accessToken: "" }));
    if (isThere && isPrivate) await this.#checkPrivate(id);
  }

  async #checkPrivate(id: string): Promise<void> {
    const { endpoint, token = "" } = this.#hub;
    const own = { headers: { authorization: `Bearer ${token}` }, secrets: [token] };
    const api = new Endpoint(new URL(endpoint), own);
    const url = api.at("api", "models", ...id.split("/"));
    const { signal } = this.#upload;
    const found = await api.call({ url, method: "GET", expect: repositorySchema(), signal });
    if (found.private) return;
    const remedy = `Remedy: make it private at ${endpoint}/${id}/settings, or push without private`;
    throw new SeekError("ERR_STATE", `${id}: expected a private repository, got a public one. ${remedy}`);
  }

  async #makeBranch(): Promise<void> {
    const { revision: branch } = this.#upload;
    if (branch === "main") return;
    const { createBranch } = await import("@huggingface/hub");
    await isTaken(createBranch({ ...this.#parts, branch }));
  }

  get #parts() {
    const repo = { type: "model", name: this.#upload.id } as const;
    return { repo, hubUrl: this.#hub.endpoint, fetch: this.#fetch };
  }

  async #commit(): Promise<string> {
    const { commitIter } = await import("@huggingface/hub");
    const { files, message: title, revision: branch, signal } = this.#upload;
    const operations = files.map(({ name, content }) => ({
      ...{ operation: "addOrUpdate" as const, path: name, content },
    }));
    const parts = { ...this.#parts, title, branch, operations };
    const steps = commitIter(signal === undefined ? parts : { ...parts, abortSignal: signal });
    const progress = new UploadProgress(this.#upload);
    for (;;) {
      const { done, value } = await steps.next();
      if (done) {
        progress.end();
        return value?.commit.oid ?? missing("the commit");
      }
      if (value.event !== "fileProgress") continue;
      if (value.state === "error") throw new Fault(`${value.path}: was not taken`);
      if (value.state === "uploading") progress.at(value.path, value.progress);
    }
  }
}

function missing(what: string): never {
  throw new Fault(`the answer does not say ${what}`);
}

/** Whether what was to be made is there already. */
async function isTaken(made: Promise<unknown>): Promise<boolean> {
  try {
    await made;
    return false;
  } catch (error) {
    if (error instanceof Fault && error.status === 409) return true;
    throw error;
  }
}

/** Shares of files as bytes of all. */
class UploadProgress {
  readonly #upload: Upload;
  readonly #sent = new Map<string, number>();
  readonly #total: number;

  constructor(upload: Upload) {
    this.#upload = upload;
    this.#total = upload.files.reduce((sum, { numBytes }) => sum + numBytes, 0);
  }

  at(name: string, share: number): void {
    const { files, onBytes } = this.#upload;
    const numBytes = files.find((file) => file.name === name)?.numBytes ?? 0;
    this.#sent.set(name, Math.round(share * numBytes));
    onBytes?.(
      [...this.#sent.values()].reduce((sum, each) => sum + each, 0),
      this.#total,
    );
  }

  end(): void {
    this.#upload.onBytes?.(this.#total, this.#total);
  }
}
