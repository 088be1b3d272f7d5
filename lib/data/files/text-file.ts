/** Files of text in pieces: gunzipped where they are gzip, cut where a line ends, checked to be UTF-8. */
import { isUtf8 } from "node:buffer";
import { createGunzip } from "node:zlib";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import { openRegular, streamOf } from "../../base/files/regular-file.ts";

/** How a file is read. */
export interface ReadFileOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called after each piece with the bytes of the file read so far, before decompression. */
  readonly onBytes?: ((numBytes: number) => void) | undefined;
}

/** Whole lines, without their line feeds. */
interface Lines {
  readonly texts: readonly string[];
  /** The number of the first, from 1. */
  readonly first: number;
}

const chunkBytes = 1 << 20;
const maxLineBytes = 1 << 28;
const lineFeed = 10;

function readError(path: string, cause: unknown): unknown {
  if (cause instanceof SeekError) return cause;
  const { syscall, code, message } = cause as NodeJS.ErrnoException;
  if (syscall !== undefined) return new SeekError("ERR_IO", `${path}: cannot be read: ${message}`, { cause });
  if (code?.startsWith("Z_") !== true) return cause;
  return new SeekError("ERR_FORMAT", `${path}: the gzip data is damaged: ${message}`, { cause });
}

async function isGzip(path: string): Promise<boolean> {
  const file = await openRegular(path);
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await file.close();
  }
}

/**
 * The bytes of a file, decompressed when they begin as gzip does.
 *
 * @throws ERR_IO, ERR_FORMAT for damaged gzip data, ERR_ABORTED
 */
export async function* readChunks(
  path: string,
  { signal, onBytes }: ReadFileOptions = {},
): AsyncGenerator<Buffer> {
  try {
    const isPacked = await isGzip(path);
    const file = await streamOf(path, { highWaterMark: chunkBytes });
    const bytes = isPacked ? file.pipe(createGunzip({ chunkSize: chunkBytes })) : file;
    if (isPacked) file.on("error", (error) => bytes.destroy(error));
    try {
      for await (const chunk of bytes as AsyncIterable<Buffer>) {
        throwIfAborted(signal, path);
        yield chunk;
        onBytes?.(file.bytesRead);
      }
    } finally {
      file.destroy();
    }
  } catch (cause) {
    throw readError(path, cause);
  }
}

/** Pieces that end with a line feed, the last one perhaps without. */
async function* wholeLines(path: string, options: ReadFileOptions): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let numBytes = 0;
  for await (const chunk of readChunks(path, options)) {
    const end = chunk.lastIndexOf(lineFeed) + 1;
    if (end > 0) {
      yield rest.length === 0 ? chunk.subarray(0, end) : Buffer.concat([...rest, chunk.subarray(0, end)]);
      rest = [];
      numBytes = 0;
    }
    if (end < chunk.length) rest.push(chunk.subarray(end));
    numBytes += chunk.length - end;
    if (numBytes > maxLineBytes)
      throw new SeekError("ERR_FORMAT", `${path}: expected lines of at most ${maxLineBytes} bytes, got more`);
  }
  if (rest.length > 0) yield Buffer.concat(rest);
}

/** The place of the first line that is not UTF-8. */
function badLine(bytes: Buffer, first: number): number {
  let line = first;
  for (let at = 0; at < bytes.length; line += 1) {
    const end = bytes.indexOf(lineFeed, at);
    if (end < 0 || !isUtf8(bytes.subarray(at, end))) break;
    at = end + 1;
  }
  return line;
}

/**
 * The lines of a text file, some at a time. They end at LF only (a JSON text may hold U+2028, which Node's readline
 * would split at); a CR before it stays. A byte order mark is dropped.
 *
 * @throws ERR_IO, ERR_FORMAT (with file:line) for bytes that are not UTF-8, ERR_ABORTED
 */
export async function* readLines(path: string, options: ReadFileOptions = {}): AsyncGenerator<Lines> {
  let first = 1;
  for await (const bytes of wholeLines(path, options)) {
    if (!isUtf8(bytes))
      throw new SeekError("ERR_FORMAT", `${path}:${badLine(bytes, first)}: expected UTF-8, got other bytes`);
    const text = bytes.toString("utf8");
    const texts = (first === 1 && text.startsWith("\uFEFF") ? text.slice(1) : text).split("\n");
    if (texts.at(-1) === "") texts.pop();
    yield { texts, first };
    first += texts.length;
  }
}
