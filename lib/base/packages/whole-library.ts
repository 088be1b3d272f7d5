/** Whether a library is whole and for this processor: the loader kills the process when a library was cut short. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { SeekError } from "../errors.ts";
import { type Host, thisHost } from "./host.ts";

/** Bytes of a file; fewer where it ends before. */
type Read = (offset: number, length: number) => Buffer;

const numberAt = (bytes: Buffer, offset: number): number => Number(bytes.readBigUInt64LE(offset));

/** Of ELF: the end of its table of sections, which mostly stands last, and of all that is loaded. */
function leastElf(header: Buffer, read: Read): number {
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

/** Of Mach-O (mach-o/loader.h): the end of its commands and of all segments, the last of which has the signature. */
function leastMachO(header: Buffer, read: Read): number {
  const [count, bytes] = [header.readUInt32LE(16), header.readUInt32LE(20)];
  const commands = read(32, bytes);
  const ends = [32 + bytes];
  for (let [i, at] = [0, 0]; i < count && at + 56 <= commands.length; i++) {
    if (commands.readUInt32LE(at) === 0x19)
      ends.push(numberAt(commands, at + 40) + numberAt(commands, at + 48));
    at += commands.readUInt32LE(at + 4);
  }
  return Math.max(...ends);
}

/** What a platform's libraries begin with. */
interface Format {
  readonly system: string;
  readonly magic: string;
  readonly machineOf: (header: Buffer) => number;
  /** Numbers of processors by Node's names. */
  readonly machines: Readonly<Record<string, number>>;
  readonly leastSize: (header: Buffer, read: Read) => number;
}

const formats: Readonly<Record<string, Format>> = {
  linux: {
    system: "64-bit Linux",
    magic: "\x7fELF\x02\x01",
    machineOf: (header) => header.readUInt16LE(18),
    machines: { x64: 62, arm64: 183 }, // System V ABI
    leastSize: leastElf,
  },
  darwin: {
    system: "64-bit macOS",
    magic: "\xcf\xfa\xed\xfe",
    machineOf: (header) => header.readUInt32LE(4),
    machines: { x64: 0x01000007, arm64: 0x0100000c }, // mach/machine.h
    leastSize: leastMachO,
  },
};

/** What is wrong; undefined where nothing is. */
function faultOf(read: Read, size: number, format: Format, arch: string): string | undefined {
  const { system, magic, machineOf, machines, leastSize } = format;
  const header = read(0, 64);
  if (header.length < 64 || header.toString("latin1", 0, magic.length) !== magic)
    return `expected a library of ${system}, got something else`;
  const machine = machineOf(header);
  const found = Object.keys(machines).find((name) => machines[name] === machine);
  if (machines[arch] !== undefined && found !== arch)
    return `expected a library for ${arch}, got one for ${found ?? `processor ${machine}`}`;
  const least = leastSize(header, read);
  return size < least ? `expected at least ${least} bytes, got ${size}: it was cut short` : undefined;
}

function inFile(path: string, format: Format, arch: string): string | undefined {
  const file = openSync(path, "r");
  try {
    const read: Read = (offset, length) => {
      const bytes = Buffer.alloc(length);
      return bytes.subarray(0, readSync(file, bytes, 0, length, offset));
    };
    return faultOf(read, fstatSync(file).size, format, arch);
  } finally {
    closeSync(file);
  }
}

/**
 * Refuses a library that was cut short or is for another processor, before the loader sees it. Elsewhere than on Linux and
 * macOS it refuses none.
 *
 * @param path - of the library
 * @param remedy - what brings a whole one
 * @param host - what is run on
 * @throws ERR_FORMAT that names the file and what is wrong
 */
export function requireWhole(
  path: string,
  remedy: string,
  host: Pick<Host, "platform" | "arch"> = thisHost,
): void {
  const format = formats[host.platform];
  const fault = format && inFile(path, format, host.arch);
  if (fault !== undefined) throw new SeekError("ERR_FORMAT", `${path}: ${fault}. Remedy: ${remedy}.`);
}
