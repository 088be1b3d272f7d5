/** The file that `--config` names. */
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { findText } from "../../../lib/base/files/regular-file.ts";
import { nearestWord } from "../../../lib/base/spelling.ts";
import { recordFile } from "../../../lib/train/run/run-record.ts";
import { UsageError } from "../command.ts";

/**
 * The text of a file of options.
 *
 * @param path - as it was given by `--config`
 * @throws UsageError that says what to do, with the file that was probably meant
 */
export async function readConfigText(path: string): Promise<string> {
  const text = await findText(path).catch(async (cause: Error) => {
    const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
    const [what, remedy] = isFolder
      ? [`${path}: a folder, expected a file`, `of a run it is ${join(path, recordFile)}`]
      : [cause.message, "a file that this user may read"];
    throw new UsageError(`--config ${what}. Remedy: ${remedy}`, { cause });
  });
  if (text !== undefined) return text;
  throw new UsageError(`--config ${path}: no such file. Remedy: ${await remedyFor(path)}`);
}

/** What to name in place of a file that is not there. */
async function remedyFor(path: string): Promise<string> {
  const folder = dirname(path);
  const names = await readdir(folder).catch((): string[] => []);
  const meant = nearestWord(
    basename(path),
    names.filter((name) => /\.(ya?ml|json)$/.test(name)),
  );
  if (meant !== undefined) return `did you mean ${join(folder, meant)}?`;
  return `a YAML or JSON file whose keys are the command's options, or the options as flags; paths begin at ${process.cwd()}`;
}
