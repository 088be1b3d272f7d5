/** A fact of three parts, and files of them. */
import { SeekError } from "../../../base/errors.ts";
import { parseRow } from "../../../data/files/jsonl.ts";
import { readLines } from "../../../data/files/text-file.ts";

/** A fact. */
export interface Triple {
  readonly head: string;
  readonly relation: string;
  readonly tail: string;
}

/** The facts of a file, as `TripleStore.open` reads it. @throws ERR_IO, ERR_FORMAT with file:line */
export async function* readTriples(path: string): AsyncGenerator<Triple> {
  for await (const { texts, first } of readLines(path, {})) {
    for (const [i, line] of texts.entries()) {
      const text = line.endsWith("\r") ? line.slice(0, -1) : line;
      if (text.trim() === "") continue;
      yield tripleOf(text, `${path}:${first + i}`);
    }
  }
}

function tripleOf(line: string, where: string): Triple {
  const isJson = line.trimStart().startsWith("{");
  const { head, relation, tail } = isJson
    ? parseRow(line, 0, where).value
    : Object.fromEntries(
        line.split("\t").map((field, i) => [["head", "relation", "tail"][i] ?? "more", field]),
      );
  const columns = isJson ? 3 : line.split("\t").length;
  const isTriple = [head, relation, tail].every((name) => typeof name === "string" && name.trim() !== "");
  if (columns === 3 && isTriple) {
    return { head: String(head).trim(), relation: String(relation).trim(), tail: String(tail).trim() };
  }
  const expected = isJson
    ? "head, relation and tail as texts"
    : "three columns between tabs: head, relation, tail";
  throw new SeekError("ERR_FORMAT", `${where}: expected ${expected}, got ${line.slice(0, 100)}`);
}
