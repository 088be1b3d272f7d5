/** The header of GGUF files: metadata and the places of tensors. Format: github.com/ggml-org/ggml, docs/gguf.md, version 3. */
import { formatError } from "../errors.ts";
import { openRegular } from "../files/regular-file.ts";
import { GgufCursor, type GgufValue, Truncated } from "./gguf-cursor.ts";

/** A tensor of the file. */
export interface GgufTensor {
  readonly name: string;
  /** ggml's name, for example `Q4_K`; of a type that is not read with its number, `IQ1_S (19)`. */
  readonly type: string;
  /** Row-major: the last counts neighbours in memory. */
  readonly shape: readonly number[];
  /** Of the first byte, from the file's beginning. */
  readonly offset: number;
}

/** What stands before the tensors' bytes. */
export interface GgufFile {
  readonly path: string;
  readonly metadata: ReadonlyMap<string, GgufValue>;
  readonly tensors: readonly GgufTensor[];
}

/** ggml's names of the types whose numbers are read (native/model/gguf/ggml_blocks.cpp), by their own numbers. */
const readTypes: Readonly<Record<number, string>> = {
  ...{ 0: "F32", 1: "F16", 30: "BF16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0" },
  ...{ 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 20: "IQ4_NL", 23: "IQ4_XS", 39: "MXFP4" },
};
/** The others of ggml.h, with those that it has given up. */
const otherTypes: Readonly<Record<number, string>> = {
  ...{ 4: "Q4_2", 5: "Q4_3", 9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S" },
  ...{ 21: "IQ3_S", 22: "IQ2_S", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 29: "IQ1_M" },
  ...{ 31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8", 34: "TQ1_0", 35: "TQ2_0", 36: "IQ4_NL_4_4" },
  ...{ 37: "IQ4_NL_4_8", 38: "IQ4_NL_8_8", 40: "NVFP4", 41: "Q1_0", 42: "Q2_0" },
};

/** The types whose numbers are read. */
export const ggufTypes: readonly string[] = Object.values(readTypes);

const magic = 0x46554747;
/** Real headers hold a vocabulary of some megabytes. */
const maxHeaderBytes = 2 ** 29;
const maxTensors = 2 ** 20;

/** Whether a path names a GGUF file. */
export function isGguf(path: string): boolean {
  return path.toLowerCase().endsWith(".gguf");
}

function readTensor(cursor: GgufCursor, path: string): GgufTensor {
  const name = cursor.string();
  const numSizes = cursor.u32();
  if (numSizes > 4) throw formatError(path, `tensor ${name}: expected up to 4 sizes, got ${numSizes}`);
  const shape = Array.from({ length: numSizes }, () => cursor.count()).reverse();
  const number = cursor.u32();
  const type = readTypes[number] ?? `${otherTypes[number] ?? "unknown"} (${number})`;
  return { name, type, shape, offset: cursor.count() };
}

/** Places of tensors count from the end of the header; here from the beginning of the file, and inside it. */
function place(tensor: GgufTensor, start: number, path: string, fileBytes: number): GgufTensor {
  const offset = start + tensor.offset;
  if (offset <= fileBytes) return { ...tensor, offset };
  throw formatError(path, `tensor ${tensor.name} begins beyond the file's ${fileBytes} bytes`);
}

function parse(cursor: GgufCursor, path: string, fileBytes: number): GgufFile {
  if (cursor.u32() !== magic)
    throw formatError(path, "expected a GGUF file, which begins with the letters GGUF");
  const version = cursor.u32();
  if (version !== 2 && version !== 3)
    throw formatError(path, `expected GGUF of version 2 or 3, got ${version}`);
  const numTensors = cursor.count();
  const numValues = cursor.count();
  if (numTensors > maxTensors || numValues > maxTensors)
    throw formatError(
      path,
      `expected up to ${maxTensors} tensors and values, got ${numTensors} and ${numValues}`,
    );
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < numValues; i++) {
    const key = cursor.string();
    if (metadata.has(key)) throw formatError(path, `${key} stands twice`);
    metadata.set(key, cursor.value(cursor.u32(), `${path}: ${key}`));
  }
  const tensors = Array.from({ length: numTensors }, () => readTensor(cursor, path));
  const names = new Set(tensors.map(({ name }) => name));
  if (names.size !== tensors.length) throw formatError(path, "a tensor's name stands twice");
  const alignment = metadata.get("general.alignment") ?? 32;
  if (typeof alignment !== "number" || !(alignment > 0) || alignment % 8 !== 0)
    throw formatError(path, `general.alignment: expected a multiple of 8, got ${alignment}`);
  const start = Math.ceil(cursor.position / alignment) * alignment;
  return { path, metadata, tensors: tensors.map((tensor) => place(tensor, start, path, fileBytes)) };
}

/**
 * Reads the header of a GGUF file; the tensors' bytes are not read.
 *
 * @param path the file
 * @returns metadata and tensors
 * @throws ERR_IO when it cannot be read; ERR_FORMAT when it is no GGUF file, or its header ends too early
 */
export async function readGguf(path: string): Promise<GgufFile> {
  const file = await openRegular(path);
  try {
    const found = await file.stat();
    for (let bytes = 2 ** 20; ; bytes *= 8) {
      const isWhole = bytes >= Math.min(found.size, maxHeaderBytes);
      const head = Buffer.alloc(Math.min(bytes, found.size));
      await file.read(head, 0, head.length, 0);
      try {
        return parse(new GgufCursor(head), path, found.size);
      } catch (error) {
        if (!(error instanceof Truncated)) throw error;
        if (isWhole) throw formatError(path, `its header ends beyond the file's ${found.size} bytes`);
      }
    }
  } finally {
    await file.close();
  }
}
