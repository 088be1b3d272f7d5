/** Says of a path that cannot be read which option it was given by, and what to do. */
import { existsSync, readdirSync } from "node:fs";
import { join, normalize } from "node:path";
import { codeOf, SeekError } from "../../../lib/base/errors.ts";
import { isValues } from "../assignments.ts";
import { flagName } from "../flags.ts";

/** Between a path that is none and what the hub says of the name. */
export const notHere = ": no such file or folder here; on the hub: ";

/** Options whose text is no path to read: what is written, and an address. */
const noPaths = ["--out", "--host"];

/** An option that was given as text, under its flag: `--index folder` of `--index folder=x,mode=bm25`. */
interface Given {
  readonly flag: string;
  readonly text: string;
}

/** `bare` are keys that no flag gives: those of an option's own keys, and places. */
function textsOf(options: object, bare: readonly string[]): Given[] {
  return Object.entries(options).flatMap(([key, value]): Given[] => {
    const flag = bare.includes(key) ? key : flagName(key);
    if (isValues(value)) {
      return textsOf(value, Object.keys(value)).map((each) => ({ ...each, flag: `${flag} ${each.flag}` }));
    }
    return [value]
      .flat()
      .flatMap((text) => (typeof text === "string" && text !== "" ? [{ flag, text }] : []));
  });
}

/** Whether a message begins with the path, or with one inside of it. */
function isAbout(message: string, text: string): boolean {
  const starts = [text, normalize(text)].filter((path) => message.startsWith(path));
  return starts.some((path) => /^[:/]/.test(message.slice(path.replace(/\/$/, "").length)));
}

/** What one does about a path that is not there. */
const remedies: Readonly<Record<string, (path: string) => string>> = {
  "--model": () => "a model folder, a GGUF file or a model of the hub, OWNER/NAME (docs/models.md)",
  "--index": (path) => `seekrl index build --corpus FILE --out ${path}`,
};

/** The model that a training run ended with, or its last checkpoint; undefined for another folder, and a run without either. */
function modelOfRun(folder: string): string | undefined {
  const root = join(folder, "checkpoints");
  if (!existsSync(root) || existsSync(join(folder, "config.json"))) return undefined;
  const model = join(folder, "model");
  if (existsSync(model)) return model;
  const last = readdirSync(root)
    .filter((name) => /^step-\d+$/.test(name))
    .sort()
    .at(-1);
  return last === undefined ? undefined : join(root, last);
}

/** Refuses the folder of a training run where one model is expected. @throws ERR_IO */
export function refuseRun(flag: string, folder: string): void {
  const model = modelOfRun(folder);
  if (model === undefined) return;
  throw new SeekError("ERR_IO", `${flag}: ${folder} is a training run. Remedy: ${flag} ${model}`);
}

/**
 * An error about a file, with the option that named it and a remedy.
 *
 * @param error - of a command
 * @param options - that it was given
 * @param places - those of them that stand without a flag
 * @returns a better error of the same code; the same one where no option names the path
 */
export function withOption(error: unknown, options: object, places: readonly string[]): unknown {
  if (codeOf(error) !== "ERR_IO") return error;
  const { message } = error as Error;
  // What the hub was asked for, too, says so and what to do.
  if (message.includes(notHere)) return error;
  const given = textsOf(options, places).find(
    ({ flag, text }) => !noPaths.includes(flag) && isAbout(message, text),
  );
  if (given === undefined) return error;
  const { flag, text } = given;
  const better = (what: string, remedy: string): SeekError =>
    new SeekError("ERR_IO", `${flag}: ${what}. Remedy: ${remedy}`, { cause: error });
  if (!existsSync(text)) {
    const remedy = remedies[flag.split(" ")[0] ?? ""]?.(text) ?? "one that is there";
    return better(`${text}: no such file or folder`, `${remedy}; paths begin at ${process.cwd()}`);
  }
  if (!["--model", "--adapter"].includes(flag)) return error;
  const model = modelOfRun(text);
  if (model !== undefined) return better(`${text} is a training run`, `${flag} ${model}`);
  const config = flag === "--model" ? "config.json" : "adapter_config.json";
  if (message.startsWith(join(text, config)) && !existsSync(join(text, config))) {
    const remedy = flag === "--model" ? remedies[flag]!(text) : "an adapter's folder (docs/lora.md)";
    return better(`${text} holds no ${config}`, remedy);
  }
  return error;
}
