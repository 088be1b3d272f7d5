/** What a repository on the hub holds, and which of it a model is. */
import { SeekError } from "../../../lib/base/errors.ts";
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import { Endpoint } from "../endpoint.ts";
import { Fault } from "../fault.ts";
import type { Checksum } from "../files/checksum.ts";
import type { Hub } from "../files/hub.ts";
import type { HubPlace } from "./hub-place.ts";

/** A file of a repository. */
export interface HubFile {
  /** Its path in the repository. */
  readonly name: string;
  readonly numBytes: number;
  readonly checksum: Checksum;
}

/** A repository at a commit. */
export interface Repository {
  readonly commit: string;
  readonly files: readonly HubFile[];
}

const answerSchema = lazySchema((z) =>
  z.object({
    sha: z.string().regex(/^[0-9a-f]{40}$/),
    siblings: z.array(
      z.object({
        rfilename: z.string(),
        size: z.number().optional(),
        blobId: z.string().optional(),
        lfs: z.object({ sha256: z.string(), size: z.number() }).nullish(),
      }),
    ),
  }),
);

type Answer = ReturnType<typeof answerSchema>["_output"];
type Sibling = Answer["siblings"][number];

/** @throws ERR_REMOTE for a file of which the hub does not say what it holds: it could not be checked */
function fileOf({ rfilename: name, size, blobId, lfs }: Sibling, url: URL): HubFile {
  if (lfs) return { name, numBytes: lfs.size, checksum: { kind: "sha256", hex: lfs.sha256 } };
  if (size !== undefined && blobId !== undefined)
    return { name, numBytes: size, checksum: { kind: "git-sha1", hex: blobId } };
  throw new SeekError(
    "ERR_REMOTE",
    `${url}: expected size and checksum of each file, got none of ${name}. ` +
      "Remedy: name a mirror in HF_ENDPOINT that answers ?blobs=true as the hub does, or unset it.",
  );
}

/** Of a repository that has another name now. */
const maxRedirects = 5;

/** Where a redirect leads within the hub; undefined for another host, which the token is not for. */
function movedTo(error: unknown, from: URL): URL | undefined {
  const location = error instanceof Fault ? error.location : undefined;
  if (location === undefined || !URL.canParse(location, from.href)) return undefined;
  const url = new URL(location, from);
  url.searchParams.set("blobs", "true");
  // One that leads to the repository alone would answer with its main branch.
  if (!url.pathname.includes("/revision/"))
    url.pathname += from.pathname.slice(from.pathname.lastIndexOf("/revision/"));
  return url.origin === from.origin ? url : undefined;
}

async function askedThrough(api: Endpoint, url: URL, signal: AbortSignal | undefined): Promise<Answer> {
  let at = url;
  for (let hop = 0; ; hop += 1) {
    try {
      return await api.call({ url: at, method: "GET", expect: answerSchema(), signal });
    } catch (error) {
      const next = hop < maxRedirects ? movedTo(error, at) : undefined;
      if (next === undefined) throw error;
      at = next;
    }
  }
}

/**
 * Asks the hub what a repository holds.
 *
 * @param place - its kind, name and revision
 * @param hub - where to ask
 * @throws ERR_REMOTE naming it, when it is not there or not open, or lists files without checksums
 */
export async function readRepository(
  { kind, id, revision }: HubPlace,
  { endpoint, token }: Hub,
  signal?: AbortSignal,
): Promise<Repository> {
  const own = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` }, secrets: [token] };
  const api = new Endpoint(new URL(endpoint), own);
  const url = api.at("api", `${kind}s`, ...id.split("/"), "revision", revision);
  url.searchParams.set("blobs", "true");
  const { sha, siblings } = await askedThrough(api, url, signal);
  return { commit: sha, files: siblings.map((each) => fileOf(each, url)) };
}

/** Configuration, tokenizer, template, and a sentence encoder's layers in their folders. */
const wantedTexts = /^[^/]+\.(json|model|txt|jinja)$|^\d+_\w+\/[^/]+\.(json|safetensors)$/;
const weights = /^[^/]+\.safetensors$/;
/** Weights a second time, in a form of their maker's. */
const besides = /^consolidated|^(training_args|optimizer|scheduler)/;

/** Whether a file of this name holds weights that a model is read from. */
export function isWeights(name: string): boolean {
  return weights.test(name) && !besides.test(name);
}

/** Whether a file of this name, in a model's folder or repository, is one that a model is read from. */
export function isModelFile(name: string): boolean {
  return isWeights(name) || (wantedTexts.test(name) && !besides.test(name));
}

/**
 * The files of a repository that a model is read from: configuration, tokenizer, weights in safetensors.
 *
 * @throws ERR_ARGUMENT where there are no such weights, with the GGUF files there are
 */
export function filesOfModel({ files }: Repository, id: string): HubFile[] {
  const chosen = files.filter(({ name }) => isModelFile(name));
  if (chosen.some(({ name }) => isWeights(name))) return chosen;
  const gguf = files.map(({ name }) => name).filter((name) => name.endsWith(".gguf"));
  const remedy =
    gguf.length === 0 ? "a model with such weights" : `hf://${id}/FILE with one of ${gguf.join(", ")}`;
  throw new SeekError("ERR_ARGUMENT", `${id}: expected weights in safetensors, got none. Remedy: ${remedy}`);
}

/** @throws ERR_ARGUMENT where there is no such file */
export function oneFile({ files }: Repository, id: string, name: string): HubFile[] {
  const found = files.filter((file) => file.name === name);
  if (found.length === 1) return found;
  const like = files
    .map((file) => file.name)
    .filter((other) => other.endsWith(name.slice(name.lastIndexOf("."))));
  throw new SeekError(
    "ERR_ARGUMENT",
    `${id}: expected the file ${name}, got ${like.join(", ") || "none like it"}`,
  );
}
