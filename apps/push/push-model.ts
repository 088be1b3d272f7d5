/** Models to the Hugging Face hub, with a card that says where they come from and how good they are. */

import { type HubOptions, hubOf } from "../../connectors/remote/files/hub.ts";
import { hubModel } from "../../connectors/remote/hub/hub-place.ts";
import { type Upload, uploadFiles } from "../../connectors/remote/hub/upload/upload.ts";
import { checkArgument, checkOptions, type OptionKinds, shownValue } from "../../lib/base/check-options.ts";
import { SeekError, throwIfAborted } from "../../lib/base/errors.ts";
import { readPushed, textFile } from "./pushed-folder.ts";

/** How a model is pushed. */
export interface PushModelOptions extends HubOptions {
  /** Makes the repository private; one that is there and public is refused. @default false */
  readonly private?: boolean | undefined;
  /** The branch, made where it is missing. @default "main" */
  readonly revision?: string | undefined;
  /** Of the commit. @default "Model of SeekRL VERSION" */
  readonly message?: string | undefined;
  /** The card's: an identifier of the hub, such as `apache-2.0`. @default none is named */
  readonly license?: string | undefined;
  /** Files of results, as `seekrl eval --out` writes them, whose scores the card states. @default the run's own last evaluation */
  readonly evaluations?: readonly string[] | undefined;
  /** Makes card and list and asks nobody. @default false */
  readonly dryRun?: boolean | undefined;
  /** Called with the bytes that are there, and those of all files together. */
  readonly onBytes?: ((numBytes: number, totalBytes: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A model that was pushed. */
export interface PushedModel {
  /** Of its repository. */
  readonly url: string;
  /** Undefined after a dry run. */
  readonly commit: string | undefined;
  /** The text of its README.md. */
  readonly card: string;
  /** What was sent. */
  readonly files: readonly { readonly name: string; readonly numBytes: number }[];
  /** Names of what else stands in the folder: states of optimisers, logs, what no model is read from. */
  readonly leftOut: readonly string[];
}

const pushKinds: OptionKinds<PushModelOptions> = {
  endpoint: "string",
  token: "string",
  private: "boolean",
  revision: "string",
  message: "string",
  license: "string",
  evaluations: "list",
  dryRun: "boolean",
  onBytes: "function",
  signal: "signal",
};

/**
 * Uploads a model, an adapter or a run's final model to the Hugging Face hub, as one commit. Only what a model is read from is
 * sent, and a README.md: the folder's own, or a card with recipe, data, settings and scores, made of the run and of files of
 * results. Paths of this machine stand in neither.
 *
 * @param folder - a model's, an adapter's, a checkpoint's, or a run's, of which the final model is meant
 * @param to - `OWNER/NAME`; the repository is made where it is missing
 * @param options - the hub and its token, branch, licence, evaluations
 * @returns the commit, the card, and what was sent
 * @throws ERR_ARGUMENT without a token or for a name that is none; ERR_IO, ERR_FORMAT for a folder that holds no whole model;
 *   ERR_STATE for a run that has not ended, or a public repository that should be private; ERR_REMOTE, ERR_ABORTED, which
 *   say whether anything may have been committed
 * @example
 * const pushed = pushModel("no-such-folder", "acme/searcher", { dryRun: true });
 * await assert.rejects(pushed, { code: "ERR_IO" });
 */
export async function pushModel(
  folder: string,
  to: string,
  options: PushModelOptions = {},
): Promise<PushedModel> {
  checkOptions("pushModel", options, pushKinds);
  checkArgument("pushModel: folder", folder, "string");
  const id = repositoryId(to);
  const { signal, license, evaluations = [], dryRun = false } = options;
  throwIfAborted(signal, folder);
  const pushed = await readPushed(folder);
  const readme = pushed.files.find(({ name }) => name === "README.md")?.content;
  if (readme) refuseCardOptions(folder, options);
  const card = readme ? await readme.text() : await cardOf(pushed, { id, license, evaluations });
  const files = readme ? pushed.files : [textFile("README.md", card), ...pushed.files];
  const hub = hubOf(options);
  const commit = dryRun ? undefined : await uploadFiles({ ...(await uploadOf(options)), id, files }, hub);
  const { leftOut } = pushed;
  const sent = files.map(({ name, numBytes }) => ({ name, numBytes }));
  return { url: `${hub.endpoint}/${id}`, commit, card, files: sent, leftOut };
}

/** A card of one's own says itself what these would. */
function refuseCardOptions(folder: string, { license, evaluations = [] }: PushModelOptions): void {
  const named = license === undefined ? "evaluations" : "license";
  if (license === undefined && evaluations.length === 0) return;
  const what = `${named}: expected none, since ${folder} has a README.md, which is taken as it is`;
  throw new SeekError("ERR_ARGUMENT", `pushModel: ${what}. Remedy: write it there, or move that file away`);
}

function repositoryId(to: unknown): string {
  const named = typeof to === "string" && !to.startsWith("hf://") ? hubModel(to) : undefined;
  if (named !== undefined && named.id === to && !/^(datasets|spaces)\//.test(to)) return to;
  throw new SeekError("ERR_ARGUMENT", `pushModel: to: expected OWNER/NAME of a model, got ${shownValue(to)}`);
}

async function cardOf(
  pushed: Awaited<ReturnType<typeof readPushed>>,
  options: {
    readonly id: string;
    readonly license?: string | undefined;
    readonly evaluations: readonly string[];
  },
): Promise<string> {
  const { cardFacts } = await import("./card/card-facts.ts");
  const { modelCard } = await import("./card/model-card.ts");
  return modelCard(await cardFacts(pushed, options));
}

async function uploadOf(options: PushModelOptions): Promise<Omit<Upload, "id" | "files">> {
  const { packageVersion } = await import("../../lib/base/package-root.ts");
  const { private: isPrivate = false, revision = "main", onBytes, signal } = options;
  const message = options.message ?? `Model of SeekRL ${packageVersion()}`;
  return { isPrivate, revision, message, onBytes, signal };
}
