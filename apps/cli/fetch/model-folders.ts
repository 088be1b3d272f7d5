/** Models that options name on the Hugging Face hub: each becomes a folder of the hub's cache before a command sees it. */
import { existsSync } from "node:fs";
import { codeOf, SeekError } from "../../../lib/base/errors.ts";
import type { CommandIo } from "../command.ts";
import type { Field } from "../fields.ts";
import { progressLine } from "../report/progress.ts";

type Values = Record<string, unknown>;

const mib = (numBytes: number): string => `${Math.round(numBytes / 2 ** 20)} MiB`;

/** A path with a slip of the pen is taken for a name, and the hub's answer is half of what there is to say. */
function asNoPath(error: unknown, text: string): unknown {
  const code = codeOf(error);
  if (code === undefined || code === "ERR_ABORTED" || text.startsWith("hf://")) return error;
  const message = `${text}: no such file or folder here; on the hub: ${(error as Error).message}`;
  return new SeekError(code, message, { cause: error });
}

/** A path of this machine; a model of the hub becomes one. */
async function folderOf(text: unknown, io: CommandIo): Promise<unknown> {
  if (typeof text !== "string" || existsSync(text)) return text;
  const { hubModel } = await import("../../../lib/remote/hub/hub-model.ts");
  if (hubModel(text) === undefined) return text;
  const { fetchModel } = await import("../../../lib/remote/hub/fetch-model.ts");
  const progress = progressLine(io);
  const { path, commit, numBytes } = await fetchModel(text, {
    signal: io.signal,
    onBytes: (done, total) => progress.show(`fetch ${text}: ${mib(done)} of ${mib(total)}`),
    onWait: (why) => io.log(`fetch ${text}: waits, ${why}`),
  }).catch((error) => {
    throw asNoPath(error, text);
  });
  progress.end();
  io.log(
    `${text}: commit ${commit}, ${numBytes === 0 ? "from the cache" : `${mib(numBytes)} fetched`}: ${path}`,
  );
  return path;
}

async function foldersOf(value: unknown, io: CommandIo): Promise<unknown> {
  if (!Array.isArray(value)) return folderOf(value, io);
  const folders: unknown[] = [];
  for (const each of value) folders.push(await folderOf(each, io));
  return folders;
}

/**
 * Options whose models are folders of this machine. A text that is a path here is left as it is.
 *
 * @param options - of a command, checked
 * @param fields - what its schema says of them
 * @throws ERR_REMOTE, ERR_IO as `fetchModel`
 */
export async function withModelFolders(
  options: Values,
  fields: readonly Field[],
  io: CommandIo,
): Promise<Values> {
  const found: Values = { ...options };
  for (const { key, isModel, forms } of fields) {
    const value = found[key];
    if (isModel) found[key] = await foldersOf(value, io);
    else if (typeof value === "object" && value !== null && forms.length > 0)
      found[key] = await withModelFolders(
        value as Values,
        forms.flatMap(({ keys }) => keys),
        io,
      );
  }
  return found;
}
