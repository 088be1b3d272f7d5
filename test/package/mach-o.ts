/** A library of macOS as far as its header and commands go (mach-o/loader.h): for tests of what reads them. */

/** What {@link machO} is made of, where it is not the usual. */
export interface MachO {
  /** 0x0100000c is arm64. */
  readonly machine?: number;
  /** Bytes in the one segment, after the commands. */
  readonly bytes?: number;
  /** The least macOS, for example `[14, 0]`. */
  readonly least?: readonly [major: number, minor: number];
  /** Names of libraries. */
  readonly needed?: readonly string[];
}

function command(kind: number, fill: (row: Buffer) => void, text = "", head = 24): Buffer {
  const row = Buffer.alloc(head + Math.ceil((text.length + 1) / 8) * 8);
  row.writeUInt32LE(kind, 0);
  row.writeUInt32LE(row.length, 4);
  fill(row);
  row.write(text, head);
  return row;
}

/** The bytes of one. */
export function machO({
  machine = 0x0100000c,
  bytes = 100,
  least = [14, 0],
  needed = [],
}: MachO = {}): Buffer {
  const version = command(0x32, (row) => {
    row.writeUInt32LE(1, 8);
    row.writeUInt32LE((least[0] << 16) | (least[1] << 8), 12);
  });
  const dylib = (kind: number, name: string) => command(kind, (row) => row.writeUInt32LE(24, 8), name);
  const libraries = needed.map((name) => dylib(0x0c, name));
  const segment = command(0x19, () => undefined, "", 64);
  const commands = Buffer.concat([segment, dylib(0x0d, "@rpath/libown.dylib"), version, ...libraries]);
  commands.writeBigUInt64LE(BigInt(32 + commands.length), 40);
  commands.writeBigUInt64LE(BigInt(bytes), 48);
  const header = Buffer.alloc(32);
  for (const [at, value] of [0xfeedfacf, machine, 0, 6, 3 + needed.length, commands.length].entries())
    header.writeUInt32LE(value, 4 * at);
  return Buffer.concat([header, commands, Buffer.alloc(bytes)]);
}
