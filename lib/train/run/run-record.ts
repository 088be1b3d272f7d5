/** `config.yaml` of a run: the options it was begun with, signed, since what goes on with it starts what they name. */
import { readdir, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "../../base/errors.ts";
import { writeFileAtomic } from "../../base/files/files.ts";
import { findText } from "../../base/files/regular-file.ts";
import { isSigned, sign } from "../../base/files/signature.ts";
import type { Settings } from "./settings.ts";

/** The file's name in the folder of a run. */
export const recordFile = "config.yaml";

/** Begins the last line; YAML takes it for a comment. */
const mark = "# signature: ";
/** Begins it where there is no signature. */
const unsigned = "# not signed: ";

/** The content of the file that names programs is signed with the options that name it. */
async function signedContent(body: string, config: Settings): Promise<string> {
  const tools = typeof config.tools === "string" ? await findText(config.tools) : undefined;
  return JSON.stringify(["seekrl run", body, tools ?? null]);
}

/** The last line of a record; one that says why there is no signature costs no training. */
async function signatureLine(body: string, config: Settings): Promise<string> {
  try {
    return `${mark}${await sign(await signedContent(body, config))}\n`;
  } catch (error) {
    if (codeOf(error) === undefined) throw error;
    return `${unsigned}${(error as Error).message.replaceAll(/\s+/g, " ")}\n`;
  }
}

/**
 * Writes the record of a run.
 *
 * @param folder - of the run
 * @param config - its options
 * @param line - a comment above them
 * @throws ERR_IO
 */
export async function writeRecord(folder: string, config: Settings, line: string | undefined): Promise<void> {
  const { stringify } = await import("yaml");
  const body = `${line === undefined ? "" : `# ${line}\n`}${stringify(config)}`;
  await writeFileAtomic(join(folder, recordFile), body + (await signatureLine(body, config)));
}

/**
 * Whether a command of this user wrote a record so, and nobody has changed it or its file of tools; anybody may have written
 * any other.
 *
 * @param text - the whole file
 * @param config - that it holds
 * @throws ERR_STATE, ERR_IO for a secret that cannot be used
 */
export async function isOwnRecord(text: string, config: Settings): Promise<boolean> {
  const at = text.lastIndexOf(mark);
  if (at < 0) return false;
  const content = await signedContent(text.slice(0, at), config).catch(() => undefined);
  return content !== undefined && isSigned(content, text.slice(at + mark.length).trimEnd());
}

/** What a training or a server that learns leaves in its folder. */
const runMarks = new Set([
  ...["metrics.jsonl", "trajectories.jsonl", "history.jsonl", "history.jsonl.lock", "checkpoints", "lock"],
]);

/**
 * Whether a file is a run's record, whatever its name is: it says that it was signed, it stands where a run was, or it is
 * written to go on in its own folder. A link counts by both of its ends, for either may be sent along.
 *
 * @param path - of the file
 * @param text - the whole file
 * @param config - that it holds
 */
export async function isRecord(path: string, text: string, config: Settings): Promise<boolean> {
  if ([mark, unsigned].some((each) => text.includes(each))) return true;
  const folders = await Promise.all([realpath(dirname(path)), realpath(path).then(dirname)]);
  const out = typeof config.out === "string" ? await realpath(config.out).catch(() => undefined) : undefined;
  if (folders.some((folder) => folder === out)) return true;
  const names = await Promise.all(folders.map((folder) => readdir(folder)));
  return names.flat().some((name) => runMarks.has(name));
}
