/** Models and data that options name elsewhere: each becomes a path of this machine before a command sees it. */
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { codeOf, SeekError } from "../../../lib/base/errors.ts";
import { packageRoot } from "../../../lib/base/package-root.ts";
import type { CommandIo } from "../command.ts";
import type { Field } from "../fields.ts";
import { notHere } from "../report/missing-path.ts";
import { fetchedFile } from "./fetched-file.ts";
import { fromHub } from "./from-hub.ts";
import { type Pin, pinsOf } from "./run-pins.ts";

type Values = Record<string, unknown>;

/** A path with a slip of the pen is taken for a name, and the hub's answer is half of what there is to say. */
function asNoPath(error: unknown, text: string): unknown {
  const code = codeOf(error);
  if (code === undefined || code === "ERR_ABORTED" || text.startsWith("hf://")) return error;
  const message = `${text}${notHere}${(error as Error).message}`;
  return new SeekError(code, message, { cause: error });
}

/** A model of this package, by the path that it has in a clone; undefined for any other. */
function shippedModel(text: string, io: CommandIo): string | undefined {
  const folder = join(packageRoot, text);
  if (!/^world\/\w+$/.test(text) || !existsSync(folder)) return undefined;
  const path = relative(process.cwd(), folder);
  io.log(`${text}: the one that seekrl brings, ${path}`);
  return path;
}

/** A path of this machine; a model of the package or of the hub becomes one. */
async function folderOf(text: string, io: CommandIo): Promise<string> {
  return shippedModel(text, io) ?? (await fetchedFromHub(text, io)) ?? text;
}

/**
 * What a text that is no path here names on the hub, fetched.
 *
 * @param text - a model's name, with or without `hf://`
 * @param io - says what came
 * @param file - the one file that is wanted of it; the model when left out
 * @returns a path of this machine; undefined for a text that names no model
 * @throws ERR_REMOTE, ERR_IO as `fetchModel`
 */
export async function fetchedFromHub(
  text: string,
  io: CommandIo,
  file?: string,
): Promise<string | undefined> {
  const { hubModel } = await import("../../../connectors/remote/hub/hub-place.ts");
  const place = hubModel(text);
  if (place === undefined) return undefined;
  const { fetchModel } = await import("../../../connectors/remote/hub/fetch-model.ts");
  const { id, revision } = place;
  const wanted = file === undefined ? text : `hf://${id}@${encodeURIComponent(revision)}/${file}`;
  return fromHub(wanted, fetchModel, io).catch((error) => {
    throw asNoPath(error, text);
  });
}

type ToPath = (text: string) => Promise<string>;

async function pathsOf(value: unknown, toPath: ToPath): Promise<unknown> {
  if (typeof value === "string" && !existsSync(value)) return toPath(value);
  if (!Array.isArray(value)) return value;
  const paths: unknown[] = [];
  for (const each of value) paths.push(await pathsOf(each, toPath));
  return paths;
}

/**
 * Options whose models and data are paths of this machine. A text that is a path here is left as it is; a model, or a file
 * of questions or conversations, of the hub, another server or an archive becomes one of a cache.
 *
 * @param options - of a command, checked
 * @param fields - what its schema says of them
 * @param pin - gives names of the hub the commits of the run that goes on
 * @throws ERR_REMOTE, ERR_IO as `fetchModel` and `fetchedFile`
 */
export async function withLocalPaths(
  options: Values,
  fields: readonly Field[],
  io: CommandIo,
  pin?: Pin,
): Promise<Values> {
  const found: Values = { ...options };
  const toCommit = pin ?? (await pinsOf(options.out, io));
  for (const { key, isModel, isData, forms } of fields) {
    const value = found[key];
    if (isModel) found[key] = await pathsOf(value, (text) => folderOf(toCommit(text), io));
    else if (isData) found[key] = await pathsOf(value, (text) => fetchedFile(toCommit(text), io));
    else if (typeof value === "object" && value !== null && forms.length > 0)
      found[key] = await withLocalPaths(
        value as Values,
        forms.flatMap(({ keys }) => keys),
        io,
        toCommit,
      );
  }
  return found;
}
