/**
 * What nvcc made of the kernels, as a table: `node dist/bench/gpu/resources.js`, after a build with nvcc and tests. No GPU is needed.
 *
 * Registers, shared memory and instructions of sm_80's code; blocks are those that a multiprocessor holds at once, computed.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { blocksHeld, isNotBuilt, type Kernel, kernels, processors } from "../../test/native/cuda/kernels.ts";
import type { Widths } from "../../test/native/cuda/sass.ts";
import { projectRoot } from "../../test/project.ts";

if (isNotBuilt) throw new Error(`${isNotBuilt}: npm run build, with nvcc in PATH`);

const all = kernels();
const groups = new Map<string, Kernel[]>();
for (const each of all) {
  const group = `${each.source} ${each.name}`;
  groups.set(group, [...(groups.get(group) ?? []), each]);
}

/** The least and the most of a number. */
function range(of: readonly Kernel[], number: (kernel: Kernel) => number): string {
  const numbers = of.map(number);
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  return least === most ? `${least}` : `${least}-${most}`;
}

const sum = (widths: Widths): number => Object.values(widths).reduce((a, b) => a + b);

function row([name, of]: [string, readonly Kernel[]]): string {
  const cells = [
    name.split(" ")[1] ?? name,
    `${of.length}`,
    range(of, ({ registers }) => registers),
    range(of, ({ threads }) => threads),
    range(of, (each) => each.staticSharedBytes + (each.dynamicSharedBytes ?? 0)),
    range(of, ({ code }) => code.globalLoads[16]),
    range(of, ({ code }) => code.globalLoads[8] + code.globalLoads[4]),
    range(of, ({ code }) => code.globalLoads[2] + code.globalLoads[1]),
    range(of, ({ code }) => code.asyncCopies[16]),
    range(of, ({ code }) => code.matrixLoads),
    range(of, ({ code }) => code.products),
    range(of, (each) => blocksHeld(each, "sm_80")),
    range(of, (each) => blocksHeld(each, "sm_90")),
    range(of, (each) =>
      Math.round((100 * blocksHeld(each, "sm_80") * each.threads) / 32 / processors.sm_80.warps),
    ),
  ];
  return `| ${cells.join(" | ")} |`;
}

const spilled = all.reduce((bytes, each) => bytes + each.spilledBytes, 0);
const local = all.reduce((number, { code }) => number + sum(code.localLoads) + sum(code.localStores), 0);
const megabytes = statSync(join(projectRoot, "build", "cmake", "Release", "libseekrl_cuda.so")).size / 1e6;
const head = [
  "| kernel | instances | registers | threads | shared bytes | loads of 16 bytes | of 8, 4 | of 2, 1 | cp.async | ldmatrix | mma | blocks sm_80 | sm_90 | % of warps sm_80 |",
  "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
];
const end = [
  "",
  `${all.length} instances, ${spilled} bytes spilled, ${local} loads and stores of local memory; the library of this build: ${megabytes.toFixed(1)} MB.`,
];
process.stdout.write(`${[...head, ...[...groups].map(row), ...end].join("\n")}\n`);
