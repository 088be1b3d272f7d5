/**
 * Counts the instructions of kernels in a cubin, where no disassembler is at hand.
 *
 * From sm_70 on an instruction has 128 bits: its operation in bits 0 to 8, the form of its operands in bits 9 to 11, and, of
 * those that move data, what is moved in bits 73 to 75 (as the open compiler NAK of Mesa writes them, sm70_encode.rs).
 * resources.test.ts holds this against PTX whose instructions are known.
 */

/** How many instructions move so many bytes at a time. */
export type Widths = Readonly<Record<1 | 2 | 4 | 8 | 16, number>>;

export interface Instructions {
  readonly total: number;
  readonly globalLoads: Widths;
  readonly globalStores: Widths;
  readonly sharedLoads: Widths;
  readonly sharedStores: Widths;
  /** cp.async */
  readonly asyncCopies: Widths;
  /** Local memory is where spilled registers and arrays with unknown indices are. */
  readonly localLoads: Widths;
  readonly localStores: Widths;
  /** Whose space is found out when they run. */
  readonly genericLoads: Widths;
  readonly genericStores: Widths;
  /** ldmatrix */
  readonly matrixLoads: number;
  /** mma of a warp, of 16-bit numbers, of whole ones and of bits */
  readonly products: number;
}

const moves = new Map([
  [0x180, "genericLoads"],
  [0x181, "globalLoads"],
  [0x183, "localLoads"],
  [0x184, "sharedLoads"],
  [0x185, "genericStores"],
  [0x186, "globalStores"],
  [0x187, "localStores"],
  [0x188, "sharedStores"],
  [0x1ae, "asyncCopies"],
] as const);
type Move = Exclude<keyof Instructions, "total" | "matrixLoads" | "products">;
const others = new Map([
  [0x03b, "matrixLoads"],
  [0x03c, "products"],
  [0x037, "products"],
  [0x03d, "products"],
] as const);

/** Bytes by the code of what is moved: u8, i8, u16, i16, 32, 64 and 128 bits. */
const bytesOf = [1, 1, 2, 2, 4, 8, 16] as const;

/** cp.async says how much it moves in bits 74 and 75 from sm_100 on. */
const asyncCopy = 0x1ae;
const copied = [4, 8, 16] as const;

/** The predicate, bits 12 to 15, of what is there for the timing of others and never done. */
const isNever = 0xf;

function noWidths(): Record<keyof Widths, number> {
  return { 1: 0, 2: 0, 4: 0, 8: 0, 16: 0 };
}

/** The instructions of one kernel's section. */
function count(code: Buffer, architecture: number): Instructions {
  const counts = Object.fromEntries([...moves.values()].map((what) => [what, noWidths()])) as Record<
    Move,
    Record<keyof Widths, number>
  >;
  const plain = { matrixLoads: 0, products: 0 };
  for (let at = 0; at < code.length; at += 16) {
    const low = code.readUInt16LE(at);
    if (low >> 12 === isNever) continue;
    const operation = low & 0x1ff;
    const move = moves.get(operation as never);
    const other = others.get(operation as never);
    const moved = code.readUInt16LE(at + 8);
    const bytes =
      operation === asyncCopy && architecture >= 100 ? copied[(moved >> 10) & 3] : bytesOf[(moved >> 9) & 7];
    if (move !== undefined && bytes !== undefined) counts[move][bytes] += 1;
    if (other !== undefined) plain[other] += 1;
  }
  return { total: code.length / 16, ...counts, ...plain };
}

/** The named sections of a 64-bit ELF file. */
function sectionsOf(file: Buffer): { name: string; content: Buffer }[] {
  const table = Number(file.readBigUInt64LE(0x28));
  const [size, number, namesAt] = [0x3a, 0x3c, 0x3e].map((at) => file.readUInt16LE(at)) as [
    number,
    number,
    number,
  ];
  const headers = Array.from({ length: number }, (_, i) =>
    file.subarray(table + i * size, table + (i + 1) * size),
  );
  const contentOf = (header: Buffer): Buffer => {
    const from = Number(header.readBigUInt64LE(0x18));
    return file.subarray(from, from + Number(header.readBigUInt64LE(0x20)));
  };
  const names = contentOf(headers[namesAt] as Buffer);
  return headers
    .map((header) => {
      const from = header.readUInt32LE(0);
      return { header, name: names.toString("latin1", from, names.indexOf(0, from)) };
    })
    .filter(({ name }) => name !== "" && !name.startsWith(".nv.shared"))
    .map(({ header, name }) => ({ name, content: contentOf(header) }));
}

/** The instructions of each kernel of a cubin for sm_<architecture>, by mangled name. */
export function instructionsOf(cubin: Buffer, architecture: number): Map<string, Instructions> {
  const text = ".text.";
  return new Map(
    sectionsOf(cubin)
      .filter(({ name }) => name.startsWith(text))
      .map(({ name, content }) => [name.slice(text.length), count(content, architecture)]),
  );
}
