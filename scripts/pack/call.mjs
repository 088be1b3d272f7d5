/** Reads what a script is called with: its options, or its usage for `--help`. */
import { parseArgs } from "node:util";
import { SetupError } from "../setup/report.mjs";

/**
 * Values and parts of this process' call; undefined where it was asked for its usage, which is printed then.
 *
 * @param usage - begins with the line of a call
 * @param options - as `parseArgs` takes them
 * @throws for an option that is none, in one sentence
 */
export function readCall(usage, options) {
  const known = { ...options, help: { type: "boolean", short: "h" } };
  try {
    const { values, positionals } = parseArgs({ options: known, allowPositionals: true });
    if (!values.help) return { values, positionals };
  } catch (error) {
    if (!error.code?.startsWith("ERR_PARSE_ARGS")) throw error;
    const [sentence] = error.message.split(/\.?\n|\. /);
    const [call] = usage.split("\n");
    throw new SetupError(`${sentence}. ${call}`);
  }
  process.stdout.write(usage);
  return undefined;
}
