/** Whether a library of Linux is whole and for this processor: the loader kills the process when a library was cut short. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { SeekError } from "../errors.ts";

/** ELF's numbers of processors (System V ABI), by Node's names. */
const machines: Readonly<Record<string, number>> = { x64: 62, arm64: 183 };

const nameOf = (machine: number): string =>
  Object.keys(machines).find((name) => machines[name] === machine) ?? `processor ${machine}`;

/** Bytes of a file; fewer where it ends before. */
type Read = (offset: number, length: number) => Buffer;

const numberAt = (bytes: Buffer, offset: number): number => Number(bytes.readBigUInt64LE(offset));

/** The least size of a file with this header: its table of sections, which mostly stands last, and all that is loaded. */
function leastSize(header: Buffer, read: Read): number {
  const sections = numberAt(header, 40) + header.readUInt16LE(58) * header.readUInt16LE(60);
  const [start, rowBytes, count] = [numberAt(header, 32), header.readUInt16LE(54), header.readUInt16LE(56)];
  const rows = read(start, rowBytes * count);
  const ends = Array.from({ length: count }, (_, i) => {
    const at = i * rowBytes;
    return at + rowBytes <= rows.length
      ? numberAt(rows, at + 8) + numberAt(rows, at + 32)
      : start + at + rowBytes;
  });
  return Math.max(sections, ...ends);
}

/** What is wrong; undefined where nothing is. */
function faultOf(read: Read, size: number, arch: string): string | undefined {
  const header = read(0, 64);
  if (header.length < 64 || header.toString("latin1", 0, 6) !== "\x7fELF\x02\x01")
    return "expected a library of 64-bit Linux, got something else";
  const machine = header.readUInt16LE(18);
  if (machines[arch] !== undefined && machine !== machines[arch])
    return `expected a library for ${arch}, got one for ${nameOf(machine)}`;
  const least = leastSize(header, read);
  return size < least ? `expected at least ${least} bytes, got ${size}: it was cut short` : undefined;
}

function inFile(path: string, arch: string): string | undefined {
  const file = openSync(path, "r");
  try {
    const read: Read = (offset, length) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
    };
    return faultOf(read, fstatSync(file).size, arch);
  } finally {
    closeSync(file);
  }
}

/**
 * Refuses a library that was cut short or is for another processor, before the loader sees it. Elsewhere than on Linux it
 * refuses none.
 *
 * @param path - of the library
 * @param remedy - what brings a whole one
 * @throws ERR_FORMAT that names the file and what is wrong
 */
export function requireWhole(path: string, remedy: string): void {
  if (process.platform !== "linux") return;
  const fault = inFile(path, process.arch);
  if (fault !== undefined) throw new SeekError("ERR_FORMAT", `${path}: ${fault}. Remedy: ${remedy}.`);
}
