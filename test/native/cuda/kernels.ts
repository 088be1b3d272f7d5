/** What is known of the kernels for CUDA without a GPU: what nvcc made of them, and how the emulator's tests launch them. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../../project.ts";
import { type Instructions, instructionsOf } from "./sass.ts";

/** One instance of a kernel. */
export interface Kernel {
  /** The folder and file it is in, without `.cu`. */
  readonly source: string;
  readonly name: string;
  readonly symbol: string;
  readonly registers: number;
  readonly spilledBytes: number;
  /** Of a block, known when compiled. */
  readonly staticSharedBytes: number;
  /** The most of a block that a launch of the emulator's tests asks for; undefined: they launch it never. */
  readonly dynamicSharedBytes: number | undefined;
  /** Of a block. */
  readonly threads: number;
  readonly code: Instructions;
  /** What the assembler was given: how often each instruction stands there. */
  readonly given: Readonly<Record<"loadsOf16" | "asyncCopies" | "matrixLoads" | "products", number>>;
}

const build = join(projectRoot, "build", "cmake");
const kept = join(build, "cuda");
/** Every GPU's code is looked at in that of the oldest; it is the one that is always built. */
const architecture = 80;

/** Why there is nothing to be known, or false. */
export const isNotBuilt =
  !existsSync(join(build, "Release", "libseekrl_cuda.so")) && "built without nvcc or without tests";

/** The last name of a mangled one: `rotate_heads` of `_ZN6seekrl4cuda12rotate_headsI...`. */
export function nameOf(symbol: string): string {
  let rest = symbol.replace(/^_ZN/, "");
  let name = symbol;
  for (let length = /^\d+/.exec(rest); length !== null; length = /^\d+/.exec(rest)) {
    const from = length[0].length;
    name = rest.slice(from, from + Number(length[0]));
    rest = rest.slice(from + Number(length[0]));
  }
  return name;
}

/** nvcc and g++ name what has no namespace's name in different ways. */
function withoutAnonymous(symbol: string): string {
  const anonymous = /(\d+)_GLOBAL__N_/.exec(symbol);
  if (anonymous === null) return symbol;
  const from = anonymous.index + (anonymous[1] ?? "").length;
  return symbol.slice(0, anonymous.index) + symbol.slice(from + Number(anonymous[1]));
}

/** How the emulator's tests launch each kernel, by symbol. */
function launches(): Map<string, { threads: number; sharedBytes: number }> {
  const program = join(build, "seekrl_cuda_test");
  const log = join(build, "cuda", "launches.txt");
  if (!existsSync(log) || statSync(log).mtimeMs < statSync(program).mtimeMs) {
    execFileSync(program, { env: { ...process.env, SEEKRL_LAUNCHES: log }, stdio: "ignore" });
  }
  const symbols = execFileSync("nm", [program], { encoding: "utf8", maxBuffer: 2 ** 26 }).split("\n");
  const symbolAt = new Map(
    symbols.map((line) => [Number.parseInt(line, 16), line.split(" ").at(-1) ?? ""] as const),
  );
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  return new Map(
    lines.map((line) => {
      const [at = "", threads, sharedBytes] = line.split(" ");
      const symbol = withoutAnonymous(symbolAt.get(Number.parseInt(at, 16)) ?? "");
      return [symbol, { threads: Number(threads), sharedBytes: Number(sharedBytes) }];
    }),
  );
}

/** What ptxas said of each kernel of one source. */
function reportsOf(text: string): Map<string, { registers: number; spilledBytes: number; shared: number }> {
  const parts = text.split("Compiling entry function").slice(1);
  return new Map(
    parts
      .filter((part) => part.includes(`for 'sm_${architecture}'`))
      .map((part) => [
        /'(.*?)'/.exec(part)?.[1] ?? "",
        {
          registers: Number(/Used (\d+) registers/.exec(part)?.[1]),
          spilledBytes: Number(/(\d+) bytes spill stores/.exec(part)?.[1]),
          shared: Number(/(\d+) bytes smem/.exec(part)?.[1] ?? 0),
        },
      ]),
  );
}

/** Each kernel's part of a file of PTX. */
function entriesOf(ptx: string): Map<string, string> {
  const parts = ptx.split(/^\s*(?:\.visible |\.weak )?\.entry /m).slice(1);
  return new Map(parts.map((part) => [/^\w+/.exec(part)?.[0] ?? "", part]));
}

const times = (text: string, what: RegExp): number => text.match(what)?.length ?? 0;

function givenIn(ptx: string): Kernel["given"] {
  return {
    loadsOf16: times(ptx, /\bld\.(volatile\.)?global[.\w:]*\.v(4\.[busf]32|2\.[busf]64)/g),
    asyncCopies: times(ptx, /\bcp\.async\.c[ag]\./g),
    matrixLoads: times(ptx, /\bldmatrix\./g),
    products: times(ptx, /\bmma\.sync\./g),
  };
}

/** Every kernel of the library, in the order of sources. */
export function kernels(): Kernel[] {
  const launched = launches();
  const folders = readdirSync(kept, { withFileTypes: true }).filter((each) => each.isDirectory());
  return folders.flatMap(({ name: folder }) => {
    const files = readdirSync(join(kept, folder));
    const read = (end: string): Buffer =>
      readFileSync(join(kept, folder, files.find((file) => file.endsWith(end)) ?? end));
    const reports = reportsOf(read("ptxas.txt").toString());
    const entries = entriesOf(read(".ptx").toString());
    return [...instructionsOf(read(`.sm_${architecture}.cubin`), architecture)].map(
      ([symbol, code]): Kernel => {
        const report = reports.get(symbol);
        const ptx = entries.get(symbol) ?? "";
        const launch = launched.get(withoutAnonymous(symbol));
        return {
          source: folder.replace(/\.cu$/, ""),
          name: nameOf(symbol),
          symbol,
          registers: report?.registers ?? Number.NaN,
          spilledBytes: report?.spilledBytes ?? Number.NaN,
          staticSharedBytes: report?.shared ?? Number.NaN,
          dynamicSharedBytes: launch?.sharedBytes,
          threads: launch?.threads ?? Number(/\.maxntid (\d+)/.exec(ptx)?.[1]),
          code,
          given: givenIn(ptx),
        };
      },
    );
  });
}

/** What a multiprocessor has, from the table of compute capabilities in NVIDIA's programming guide. */
export const processors = {
  sm_80: { warps: 64, blocks: 32, sharedBytes: 164 << 10 },
  sm_86: { warps: 48, blocks: 16, sharedBytes: 100 << 10 },
  sm_89: { warps: 48, blocks: 24, sharedBytes: 100 << 10 },
  sm_90: { warps: 64, blocks: 32, sharedBytes: 228 << 10 },
  sm_100: { warps: 64, blocks: 32, sharedBytes: 228 << 10 },
  sm_120: { warps: 48, blocks: 24, sharedBytes: 100 << 10 },
} as const;

/** Blocks of a kernel that a multiprocessor holds at once. */
export function blocksHeld(kernel: Kernel, processor: keyof typeof processors): number {
  const { warps, blocks, sharedBytes } = processors[processor];
  const warpsOfBlock = Math.ceil(kernel.threads / 32);
  // Registers are given in 256 to a warp, to four warps at a time; of shared memory each block costs 1 KB more.
  const registersOfWarp = Math.ceil((kernel.registers * 32) / 256) * 256;
  const warpsByRegisters = Math.floor(65536 / registersOfWarp / 4) * 4;
  const shared = kernel.staticSharedBytes + (kernel.dynamicSharedBytes ?? 0) + 1024;
  return Math.min(
    blocks,
    Math.floor(Math.min(warps, warpsByRegisters) / warpsOfBlock),
    Math.floor(sharedBytes / (Math.ceil(shared / 128) * 128)),
  );
}
