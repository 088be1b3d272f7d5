/** Aliases of answers that a set keeps in a file of their own, as 2WikiMultiHopQA does. */
import { has, textsColumn } from "./files/columns.ts";
import { readJsonRows, rowError, textColumn } from "./files/jsonl.ts";

/** Other names by the id of what an answer names. */
export type Aliases = ReadonlyMap<string, readonly string[]>;

/**
 * Reads `id_aliases.json`: lines of `Q_id`, `aliases` and `demonyms`, all of which 2WikiMultiHopQA's own evaluation accepts.
 *
 * @throws ERR_IO, ERR_FORMAT naming file and line, also when an id stands twice
 */
export async function readAliases(path: string): Promise<Aliases> {
  const aliases = new Map<string, readonly string[]>();
  for await (const row of readJsonRows(path)) {
    const id = textColumn(row, "Q_id");
    if (aliases.has(id)) throw rowError(row, `a "Q_id" of its own`, `${id} again`);
    const demonyms = has(row, "demonyms") ? textsColumn(row, "demonyms") : [];
    aliases.set(id, [...textsColumn(row, "aliases"), ...demonyms]);
  }
  return aliases;
}
