/** Reads what a library of macOS says of itself (mach-o/loader.h): what it needs, the oldest macOS that it runs on. */
import { closeSync, openSync, readSync } from "node:fs";

const MAGIC = 0xfeedfacf;

/** Commands that name a library to load: needed, weak, passed on. */
const LOADS = [0x0c, 0x80000018, 0x8000001f];
const BUILD_VERSION = 0x32;

/** Header and commands; undefined where the file is no 64-bit Mach-O. */
function commandsOf(path) {
  const file = openSync(path, "r");
  try {
    const header = Buffer.alloc(32);
    if (readSync(file, header) < 32 || header.readUInt32LE(0) !== MAGIC) return undefined;
    const rows = Buffer.alloc(header.readUInt32LE(20));
    readSync(file, rows, 0, rows.length, 32);
    const commands = [];
    for (let at = 0; commands.length < header.readUInt32LE(16); at += rows.readUInt32LE(at + 4))
      commands.push(rows.subarray(at, at + rows.readUInt32LE(at + 4)));
    return commands;
  } finally {
    closeSync(file);
  }
}

function nameIn(command) {
  const start = command.readUInt32LE(8);
  return command.toString("utf8", start, command.indexOf(0, start));
}

/**
 * What a file says of itself; undefined where it is no 64-bit Mach-O.
 *
 * @returns `needed`, names of libraries as they are looked for: `@rpath/libc10.dylib`; `least`, a version of macOS
 */
export function machOOf(path) {
  const commands = commandsOf(path);
  if (commands === undefined) return undefined;
  const build = commands.find((each) => each.readUInt32LE(0) === BUILD_VERSION);
  const version = build?.readUInt32LE(12) ?? 0;
  return {
    needed: commands.filter((each) => LOADS.includes(each.readUInt32LE(0))).map(nameIn),
    least: `${version >> 16}.${(version >> 8) & 255}`,
  };
}
