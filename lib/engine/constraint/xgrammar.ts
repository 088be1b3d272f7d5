/** The library of grammars, xgrammar compiled to WebAssembly, loaded at the first constraint. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type * as XGrammar from "@mlc-ai/web-xgrammar";
import { SeekError } from "../../base/errors.ts";

/** One instance: its own memory, and what it said of errors. */
interface Instance {
  readonly library: typeof XGrammar;
  readonly said: string[];
}

/**
 * A fresh instance. The package is a CommonJS file whose package.json says that it is none, so that neither `import` nor
 * `require` can read it; and it writes its errors to the console it finds.
 */
export function openInstance(): Instance {
  const file = fileURLToPath(import.meta.resolve("@mlc-ai/web-xgrammar"));
  const said: string[] = [];
  const say = (...words: unknown[]): void => void said.push(words.join(" "));
  const module = { exports: {} };
  const run = new Function(
    "exports",
    "module",
    "require",
    "__filename",
    "console",
    readFileSync(file, "utf8"),
  );
  run(module.exports, module, createRequire(file), file, { log: say, warn: say, error: say });
  return { library: module.exports as typeof XGrammar, said };
}

let reader: Instance | undefined;

/** It gives no words for what it refuses in structural tags. */
const silentReason =
  "xgrammar cannot read the structural tag; free text without an end may only stand last, and in all ways of an `or`";

/**
 * Reads a grammar in an instance of its own: a grammar that the library refuses ends its instance, and with it every matcher
 * there.
 *
 * @param read - parses
 * @throws ERR_ARGUMENT with what the library says
 */
export async function checkReadable(
  read: (library: typeof XGrammar) => Promise<XGrammar.Grammar>,
): Promise<void> {
  reader ??= openInstance();
  const { library, said } = reader;
  try {
    (await read(library)).dispose();
  } catch {
    reader = undefined;
    const reason = said.find((line) => line.startsWith("[FATAL]")) ?? silentReason;
    throw new SeekError("ERR_ARGUMENT", `constraint: ${reason.replace(/^\[FATAL\] \S*: /, "")}`);
  }
}
