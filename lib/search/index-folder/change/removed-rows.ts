/** Which passages of a segment are removed: a small file with a checksum, a new one at each change. */
import { createHash } from "node:crypto";
import { SeekError } from "../../../base/errors.ts";
import { writeFileAtomic } from "../../../base/files/files.ts";
import { readBytes } from "../../../base/files/regular-file.ts";

const magic = Buffer.from("SEEKGONE");
const hashBytes = 32;

const hashOf = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();

/** Writes ascending numbers, little-endian, between a mark and a SHA-256. @throws ERR_IO */
export async function writeRemovedRows(path: string, rows: Int32Array): Promise<void> {
  const bytes = Buffer.alloc(magic.length + 4 * rows.length);
  magic.copy(bytes);
  rows.forEach((row, i) => {
    bytes.writeInt32LE(row, magic.length + 4 * i);
  });
  await writeFileAtomic(path, Buffer.concat([bytes, hashOf(bytes)]));
}

/**
 * Reads what {@link writeRemovedRows} wrote; every byte is checked.
 *
 * @throws ERR_IO when the file cannot be read, ERR_FORMAT when it is damaged or something else
 */
export async function readRemovedRows(path: string): Promise<Int32Array> {
  const file = await readBytes(path);
  const bytes = file.subarray(0, Math.max(0, file.length - hashBytes));
  const isWhole = bytes.subarray(0, magic.length).equals(magic) && bytes.length % 4 === 0;
  if (!isWhole || !hashOf(bytes).equals(file.subarray(bytes.length)))
    throw new SeekError("ERR_FORMAT", `${path}: the checksum does not match, the file is damaged`);
  const count = (bytes.length - magic.length) / 4;
  return Int32Array.from({ length: count }, (_, i) => bytes.readInt32LE(magic.length + 4 * i));
}
