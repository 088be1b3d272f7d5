/** Models and data sets of the Hugging Face hub by their names, as they are given in place of a path. */
import { SeekError } from "../../../lib/base/errors.ts";
import { revisionOf, revisionPattern } from "../files/address-parts.ts";

/** A repository of the hub, or one file of it. */
export interface HubPlace {
  readonly kind: "model" | "dataset";
  /** `OWNER/NAME`. */
  readonly id: string;
  /** A branch, a tag or a commit. */
  readonly revision: string;
  /** A file that is wanted alone, such as one of several GGUF files; the model's folder without it. */
  readonly file?: string | undefined;
}

const name = String.raw`[A-Za-z0-9][\w.-]*`;
const modelPattern = new RegExp(String.raw`^(${name}/${name})(?:@${revisionPattern})?(?:/([^@\s]+))?$`);
const datasetPattern = new RegExp(String.raw`^hf://datasets/([\w.-]+/[\w.-]+)(?:@${revisionPattern})?/(.+)$`);

/**
 * The model that a text names: `hf://OWNER/NAME[@REVISION][/FILE]`, or `OWNER/NAME[@REVISION]` alone.
 *
 * @param text - what was given in place of a path
 * @returns undefined for a text that is no name of a model, such as a path of three parts
 * @throws ERR_ARGUMENT for an address of the hub that names no model, and for a revision with escapes that are none
 * @example
 * assert.deepEqual(hubModel("Qwen/Qwen2.5-0.5B@main")?.id, "Qwen/Qwen2.5-0.5B");
 * assert.equal(hubModel("models/qwen/new"), undefined);
 */
export function hubModel(text: string): HubPlace | undefined {
  const isAddress = text.startsWith("hf://");
  const [, id, revision = "main", file] = modelPattern.exec(text.replace(/^hf:\/\//, "")) ?? [];
  const isPlace = id !== undefined && !id.startsWith("datasets/") && !file?.split("/").includes("..");
  if (isPlace && (isAddress || file === undefined))
    return { kind: "model", id, revision: revisionOf(revision, text), file };
  if (!isAddress) return undefined;
  throw new SeekError("ERR_ARGUMENT", `expected hf://OWNER/NAME[@REVISION][/FILE], got ${text}`);
}

/**
 * The file of a data set that an address names.
 *
 * @param address - `hf://datasets/OWNER/NAME[@REVISION]/PATH`
 * @throws ERR_ARGUMENT for anything else
 */
export function hubDataset(address: string): HubPlace & { readonly file: string } {
  const [, id, revision = "main", file] = datasetPattern.exec(address) ?? [];
  if (id !== undefined && file !== undefined && !file.split("/").includes(".."))
    return { kind: "dataset", id, revision: revisionOf(revision, address), file };
  const expected = "expected hf://datasets/OWNER/NAME[@REVISION]/PATH";
  throw new SeekError("ERR_ARGUMENT", `${expected}, got ${address}`);
}
