/** Finds out what form a file of documents has. */
import { SeekError } from "../../base/errors.ts";
import { readChunks } from "../../data/files/text-file.ts";
import { headerOf, isKiltLine } from "./tsv.ts";

/** `json` is one list or object, `text` a document by itself. */
type CorpusFormat = "jsonl" | "json" | "table" | "parquet" | "store" | "text";

const headBytes = 1 << 16;
/** A page of KILT, the first line of its file, can be longer than the usual head. */
const maxLineBytes = 1 << 26;

/** The beginning of a file, decompressed: for an object its whole first line. */
async function headOf(path: string): Promise<{ head: Buffer; isAll: boolean }> {
  const chunks: Buffer[] = [];
  let numBytes = 0;
  let hasLine = false;
  for await (const chunk of readChunks(path)) {
    chunks.push(chunk);
    numBytes += chunk.length;
    hasLine ||= chunk.includes(10);
    const isObject = /^(\xef\xbb\xbf)?\s*\{/.test(chunks[0]?.toString("latin1", 0, 64) ?? "");
    if (numBytes >= (isObject && !hasLine ? maxLineBytes : headBytes))
      return { head: Buffer.concat(chunks), isAll: false };
  }
  return { head: Buffer.concat(chunks), isAll: true };
}

function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** A first line that is a whole object begins JSON Lines, unless that one object is a map from titles to texts. */
function objectFormat(name: string, line: string, isWhole: boolean): CorpusFormat {
  const isJson = name.endsWith(".json");
  if (!isWhole) return isJson ? "json" : "jsonl";
  const row = parsed(line);
  if (row === undefined) return isJson ? "json" : "jsonl";
  return isJson && row.text === undefined && row.contents === undefined ? "json" : "jsonl";
}

/**
 * What form a file has, by its bytes, and where these allow two, by its name (`.gz` aside).
 *
 * @throws ERR_IO, ERR_FORMAT naming what was seen when it is none of the known forms
 */
export async function formatOf(path: string): Promise<CorpusFormat> {
  const name = path.toLowerCase().replace(/\.gz$/, "");
  const { head, isAll } = await headOf(path);
  if (head.subarray(0, 4).toString("latin1") === "PAR1") return "parquet";
  if (head.subarray(0, 8).toString("latin1") === "SEEKBLOB") return "store";
  if (/\.(txt|md)$/.test(name)) return "text";
  const text = head.toString("utf8").replace(/^\uFEFF/, "");
  const begin = text.trimStart();
  if (begin === "" && isAll) return "jsonl";
  if (begin.startsWith("[")) return "json";
  const end = begin.indexOf("\n");
  const isWhole = end >= 0 || isAll;
  const line = (end < 0 ? begin : begin.slice(0, end)).replace(/\r$/, "");
  if (begin.startsWith("{")) return objectFormat(name, line, isWhole);
  if (headerOf(line) !== undefined || isKiltLine(line)) return "table";
  throw new SeekError(
    "ERR_FORMAT",
    `${path}: expected JSON Lines, one JSON list or object, parquet, TSV with a header of id, text and title or with ` +
      `"number, tab, title, three spaces, text", .txt or .md; got a file that begins with ${JSON.stringify(line.slice(0, 60))}. Remedy: leave it out, or convert it to one of these`,
  );
}
