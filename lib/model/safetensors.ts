/** The header of safetensors files: where each tensor's bytes lie. Format: github.com/huggingface/safetensors. */
import type { NativeStoredTensor } from "../base/addon/models.ts";
import { formatError, SeekError } from "../base/errors.ts";
import { openRegular } from "../base/files/regular-file.ts";
import { lazySchema } from "../base/on-first-use.ts";
import { parsed } from "../base/parsed.ts";

const bitsOf: Readonly<Record<string, number>> = {
  ...{ F4: 4, F6_E2M3: 6, F6_E3M2: 6 },
  ...{ BOOL: 8, U8: 8, I8: 8, F8_E5M2: 8, F8_E4M3: 8, F8_E8M0: 8, F8_E5M2FNUZ: 8, F8_E4M3FNUZ: 8 },
  ...{ I16: 16, U16: 16, F16: 16, BF16: 16, I32: 32, U32: 32, F32: 32 },
  ...{ I64: 64, U64: 64, F64: 64, C64: 64 },
};

/** The format's own bound on a header. */
const maxHeaderBytes = 100_000_000;

const natural = lazySchema((z) => z.number().int().nonnegative());
const tensorEntry = lazySchema((z) =>
  z.strictObject({
    dtype: z.string(),
    shape: z.array(natural()),
    data_offsets: z.tuple([natural(), natural()]),
  }),
);
const header = lazySchema((z) => z.record(z.string(), z.unknown()));
const metadata = lazySchema((z) => z.record(z.string(), z.string()));

interface RawHeader {
  readonly bytes: Buffer;
  /** Where the tensors' bytes begin. */
  readonly dataStart: number;
  readonly fileBytes: number;
}

async function readHeaderBytes(path: string): Promise<RawHeader> {
  const file = await openRegular(path);
  try {
    const { size: fileBytes } = await file.stat();
    if (fileBytes < 8)
      throw formatError(path, `expected a header length of 8 bytes, the file has ${fileBytes}`);
    const length = Buffer.alloc(8);
    await file.read(length, 0, 8, 0);
    const headerBytes = length.readBigUInt64LE();
    if (headerBytes > maxHeaderBytes) {
      throw formatError(path, `header: expected at most ${maxHeaderBytes} bytes, got ${headerBytes}`);
    }
    const dataStart = 8 + Number(headerBytes);
    if (dataStart > fileBytes) {
      throw formatError(path, `header: ${headerBytes} bytes do not fit the file's ${fileBytes}`);
    }
    const bytes = Buffer.alloc(Number(headerBytes));
    await file.read(bytes, 0, bytes.length, 8);
    return { bytes, dataStart, fileBytes };
  } finally {
    await file.close();
  }
}

/** The place of the quote that ends the string which begins at `start`. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === "\\" ? 2 : 1;
  return at;
}

/** A key that stands twice in one object of valid JSON, which JSON.parse passes over: readers differ in which they take. */
function repeatedKey(json: string): string | undefined {
  const open: Set<string>[] = [];
  for (let at = 0; at < json.length; at++) {
    if (json[at] === "{") open.push(new Set());
    if (json[at] === "}") open.pop();
    if (json[at] !== '"') continue;
    const end = endOfString(json, at);
    let next = end + 1;
    while (" \t\n\r".includes(json[next] ?? "-")) next++;
    if (json[next] === ":") {
      const key = JSON.parse(json.slice(at, end + 1)) as string;
      if (open.at(-1)?.has(key)) return key;
      open.at(-1)?.add(key);
    }
    at = end;
  }
  return undefined;
}

function parseHeader(bytes: Uint8Array, path: string): Record<string, unknown> {
  let text: string;
  let json: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    json = JSON.parse(text);
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `${path}: header: not JSON in UTF-8`, { cause });
  }
  const repeated = repeatedKey(text);
  if (repeated !== undefined) throw formatError(path, `header: ${repeated} stands twice`);
  const result = header().safeParse(json);
  if (!result.success || Array.isArray(json)) throw formatError(path, "header: expected a JSON object");
  return result.data;
}

/** Bytes of a tensor; NaN when they are more than can be counted. */
function tensorBytes(shape: readonly number[], bits: number): number {
  let count = 1n;
  for (const size of shape) count *= BigInt(size);
  const total = (count * BigInt(bits)) / 8n;
  if ((count * BigInt(bits)) % 8n !== 0n || total > BigInt(Number.MAX_SAFE_INTEGER)) return Number.NaN;
  return Number(total);
}

interface Placed {
  readonly tensor: NativeStoredTensor;
  readonly begin: number;
  readonly end: number;
}

function placeTensor(name: string, entry: unknown, path: string, dataStart: number): Placed {
  const { dtype, shape, data_offsets } = parsed(tensorEntry(), entry, `${path}: tensor ${name}`);
  const bits = bitsOf[dtype];
  if (bits === undefined || !Object.hasOwn(bitsOf, dtype)) {
    throw formatError(path, `tensor ${name}: unknown dtype ${dtype}`);
  }
  const [begin, end] = data_offsets;
  const bytes = tensorBytes(shape, bits);
  if (end - begin !== bytes) {
    throw formatError(
      path,
      `tensor ${name}: ${dtype} [${shape}] needs ${bytes} bytes, its offsets give ${end - begin}`,
    );
  }
  return { tensor: { name, dtype, shape, path, offset: dataStart + begin }, begin, end };
}

/** The format allows neither gaps nor overlaps, and the tensors must reach the file's end. */
function checkCoverage(placed: readonly Placed[], path: string, dataBytes: number): void {
  let reached = 0;
  for (const { tensor, begin, end } of [...placed].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== reached) {
      throw formatError(
        path,
        `tensor ${tensor.name}: expected to begin at byte ${reached}, begins at ${begin}`,
      );
    }
    reached = end;
  }
  if (reached !== dataBytes) {
    throw formatError(path, `tensors cover ${reached} bytes of data, the file has ${dataBytes}`);
  }
}

/**
 * Reads and checks the header of one safetensors file; the tensors' bytes are not read.
 *
 * @param path the file
 * @returns its tensors, in the header's order
 * @throws ERR_IO when it cannot be read; ERR_FORMAT when the header is not one, or does not match the file
 * @example
 * for (const { name, dtype, shape } of await readSafetensorsHeader("models/qwen2.5-0.5b/model.safetensors")) console.log(name, dtype, shape);
 */
export async function readSafetensorsHeader(path: string): Promise<NativeStoredTensor[]> {
  const { bytes, dataStart, fileBytes } = await readHeaderBytes(path);
  const { __metadata__, ...entries } = parseHeader(bytes, path);
  checkMetadata(__metadata__, path);
  const placed = Object.entries(entries).map(([name, entry]) => placeTensor(name, entry, path, dataStart));
  checkCoverage(placed, path, fileBytes - dataStart);
  return placed.map(({ tensor }) => tensor);
}

function checkMetadata(found: unknown, path: string): Record<string, string> {
  const result = metadata().safeParse(found ?? {});
  if (result.success) return result.data;
  throw formatError(path, "__metadata__: expected strings only");
}

/**
 * Reads what a safetensors file says of itself beside its tensors.
 *
 * @param path the file
 * @returns texts by name
 * @throws as {@link readSafetensorsHeader}
 * @example
 * const { format } = await readSafetensorsMetadata("models/qwen2.5-0.5b/model.safetensors"); // "pt"
 */
export async function readSafetensorsMetadata(path: string): Promise<Record<string, string>> {
  const { bytes } = await readHeaderBytes(path);
  return checkMetadata(parseHeader(bytes, path).__metadata__, path);
}

/** A tensor to be written: its name and shape, and its dtype where it is another one than its file's. */
export interface NamedShape {
  readonly name: string;
  readonly shape: readonly number[];
  readonly dtype?: StoredSpelling | undefined;
}

/** The format's spelling of the dtypes that are written. */
type StoredSpelling = "F32" | "BF16" | "F16" | "U8" | "I16";

/** Bytes of a tensor as it is stored. */
export function storedBytes({ shape, dtype }: NamedShape, fileDtype: StoredSpelling): number {
  return tensorBytes(shape, bitsOf[dtype ?? fileDtype] ?? 0);
}

/**
 * The first bytes of a safetensors file that holds `tensors` one after another: length and header, padded so that the
 * data begins at a multiple of 8.
 *
 * @param tensors in the order in which their bytes will follow
 * @param dtype of those that name none: `F32`, `BF16` or `F16`
 * @param said of the file itself, texts by name
 * @returns length and header
 * @example
 * const start = safetensorsHeader([{ name: "a", shape: [2, 3] }], "F32"); // 24 bytes of data follow
 */
export function safetensorsHeader(
  tensors: readonly NamedShape[],
  dtype: "F32" | "BF16" | "F16" = "F32",
  said: Readonly<Record<string, string>> = {},
): Buffer {
  const entries: Record<string, unknown> = { __metadata__: { format: "pt", ...said } };
  let offset = 0;
  for (const tensor of tensors) {
    const end = offset + storedBytes(tensor, dtype);
    const { name, shape } = tensor;
    entries[name] = { dtype: tensor.dtype ?? dtype, shape, data_offsets: [offset, end] };
    offset = end;
  }
  const json = Buffer.from(JSON.stringify(entries));
  const text = Buffer.concat([json, Buffer.alloc((8 - (json.length % 8)) % 8, " ")]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text]);
}
