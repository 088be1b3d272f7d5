/** What nvcc made of the kernels: the machine code has the instructions that it should, and fits on a multiprocessor. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "../../project.ts";
import { blocksHeld, isNotBuilt, type Kernel, kernels } from "./kernels.ts";
import { type Instructions, instructionsOf, type Widths } from "./sass.ts";

const skip = isNotBuilt;

/** Kernels that read single bytes of global memory, and why. */
const readsBytes: Readonly<Record<string, string>> = {
  adamw_blocks: "codes of moments in 8 bits, one a thread, 256 neighbours a block",
  nf4_to_numbers: "one code of a block's scale for 64 weights",
  multiply_codes: "one code of a block's scale for 64 weights of NF4",
};

/** What a kernel that promises it has at least of each, and how many of its blocks a multiprocessor holds at once. */
const promises: Readonly<Record<string, Partial<Kernel["given"]> & { sm_80?: number; sm_90?: number }>> = {
  attend_split: { asyncCopies: 8, matrixLoads: 6, products: 8, sm_80: 2, sm_90: 3 },
  attend_prompts: { asyncCopies: 6, matrixLoads: 20, products: 32, sm_80: 1, sm_90: 2 },
  attend_spans: { asyncCopies: 8, matrixLoads: 18, products: 32, sm_80: 2, sm_90: 2 },
  span_query_gradient: { asyncCopies: 8, matrixLoads: 28, products: 48, sm_80: 1, sm_90: 2 },
  span_key_gradient: { asyncCopies: 8, matrixLoads: 20, products: 32, sm_80: 1, sm_90: 2 },
  multiply_out: { loadsOf16: 2, sm_80: 8, sm_90: 8 },
  multiply_tiles: { asyncCopies: 8, matrixLoads: 8, products: 8, sm_80: 2, sm_90: 2 },
  multiply_adapters: { asyncCopies: 8, matrixLoads: 8, products: 8, sm_80: 2, sm_90: 3 },
  scan_rows: { asyncCopies: 8, matrixLoads: 24, products: 64, sm_80: 2, sm_90: 2 },
  rescore_rows: { loadsOf16: 2, sm_80: 8, sm_90: 8 },
  multiply_codes: { asyncCopies: 4, matrixLoads: 8, products: 8, sm_80: 2, sm_90: 3 },
  multiply_experts: { asyncCopies: 8, matrixLoads: 8, products: 8, sm_80: 2, sm_90: 3 },
  gather: { loadsOf16: 1, sm_80: 8, sm_90: 8 },
  add_rows: { loadsOf16: 1 },
  add_token_gradients: { loadsOf16: 9, sm_80: 4, sm_90: 4 },
  bytes_to_numbers: { loadsOf16: 1 },
  nibbles_to_numbers: { loadsOf16: 1 },
  nf4_to_numbers: { loadsOf16: 1 },
  add_norm_rows: { loadsOf16: 4 },
  norm_gradient_rows: { loadsOf16: 4 },
  norm_weight_gradient: { loadsOf16: 2 },
  gate_mul_eights: { loadsOf16: 2, sm_80: 8, sm_90: 8 },
  gate_mul_gradient_eights: { loadsOf16: 3, sm_80: 6, sm_90: 6 },
  layer_norm_rows: { loadsOf16: 4 },
  gelu_eights: { loadsOf16: 2, sm_80: 16, sm_90: 16 },
  pool_rows: { loadsOf16: 2 },
  score_rows: { loadsOf16: 2, sm_80: 2, sm_90: 2 },
  logit_gradient_rows: { loadsOf16: 2, sm_80: 3, sm_90: 3 },
};

/** As launch.h has it, so that it knows for which kernels more has to be asked. */
const mostStaticBytes = 8 << 10;
/** Of a block, static and dynamic, on every GPU from sm_80 on. */
const mostSharedBytes = 99 << 10;

const sum = (widths: Widths): number => Object.values(widths).reduce((a, b) => a + b);

/** What stands in the machine code of what a kernel promises. */
function found(code: Instructions): Kernel["given"] {
  return {
    loadsOf16: code.globalLoads[16],
    asyncCopies: code.asyncCopies[16],
    matrixLoads: code.matrixLoads,
    products: code.products,
  };
}

/** What is wrong with a kernel; its name says what it promises. */
function complaints(kernel: Kernel): string[] {
  const { code, name, registers, spilledBytes, staticSharedBytes, dynamicSharedBytes = 0 } = kernel;
  const wrong: string[] = [];
  if (!(registers <= 255) || spilledBytes !== 0)
    wrong.push(`${registers} registers, ${spilledBytes} bytes spilled`);
  if (staticSharedBytes > mostStaticBytes) wrong.push(`${staticSharedBytes} bytes of static shared memory`);
  const shared = Math.ceil(staticSharedBytes / 128) * 128 + dynamicSharedBytes;
  if (shared > mostSharedBytes) wrong.push(`${shared} bytes of shared memory`);
  if (sum(code.localLoads) + sum(code.localStores) > 0) wrong.push("loads and stores of local memory");
  if (code.globalLoads[1] > 0 && readsBytes[name] === undefined) wrong.push("loads of single bytes");
  const { sm_80 = 1, sm_90 = 1, ...least } = promises[name] ?? {};
  const has = found(code);
  for (const [what, number] of Object.entries(least)) {
    const actual = has[what as keyof typeof has];
    if (actual < number) wrong.push(`${what}: ${actual} of ${number}`);
  }
  for (const [processor, blocks] of Object.entries({ sm_80, sm_90 })) {
    const held = blocksHeld(kernel, processor as "sm_80" | "sm_90");
    if (held < blocks) wrong.push(`${processor} holds ${held} blocks of ${blocks}`);
  }
  return wrong;
}

const all = skip ? [] : kernels();

test("kernels for CUDA neither spill nor read bytes, and have the instructions and the blocks they promise", {
  skip,
}, () => {
  const wrong = all
    .map((kernel) => [kernel.symbol, ...complaints(kernel)])
    .filter(({ length }) => length > 1);
  assert.deepEqual(wrong, []);
  const names = new Set(all.map(({ name }) => name));
  const unknown = [...Object.keys(promises), ...Object.keys(readsBytes)].filter((name) => !names.has(name));
  assert.deepEqual(unknown, []);
});

test("machine code has as many wide loads, copies and products as the assembler was given", { skip }, () => {
  for (const { symbol, code, given } of all)
    assert.deepEqual({ symbol, ...found(code) }, { symbol, ...given });
  const together = all.reduce((number, { given }) => number + given.products, 0);
  assert.ok(together > 1000);
});

test("every instance of every kernel for CUDA runs in the emulator's tests", { skip }, () => {
  assert.deepEqual(
    all.filter(({ dynamicSharedBytes }) => dynamicSharedBytes === undefined).map(({ symbol }) => symbol),
    [],
  );
});

test("the library for all GPUs fits in 40 MB", { skip }, (context) => {
  const cache = readFileSync(join(projectRoot, "build", "cmake", "CMakeCache.txt"), "utf8");
  if (
    !cache.includes("SEEKRL_CUDA_ARCHITECTURES:UNINITIALIZED=all") &&
    !/SEEKRL_CUDA_ARCHITECTURES:\w+=all$/m.test(cache)
  )
    return context.skip("built for few: SEEKRL_CUDA_ARCHITECTURES=all builds for all");
  const library = join(projectRoot, "build", "cmake", "Release", "libseekrl_cuda.so");
  assert.ok(statSync(library).size <= 40e6);
});

/** Every kind of instruction so many times in a row; what is loaded is added up and stored, so that all of it stays. */
const useAll = "xor.b32 %x, %x, %r1; xor.b32 %x, %x, %r2; xor.b32 %x, %x, %r3; xor.b32 %x, %x, %r4;";
const bitProduct =
  "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%i1, %i2, %i3, %i4}, {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%i1, %i2, %i3, %i4};";
const known = {
  "ld.volatile.global.u8 %h1, [%a]; cvt.u32.u16 %r1, %h1; xor.b32 %x, %x, %r1;": 3,
  "ld.volatile.global.s16 %h1, [%a]; cvt.u32.u16 %r1, %h1; xor.b32 %x, %x, %r1;": 4,
  [`ld.volatile.global.v4.u32 {%r1, %r2, %r3, %r4}, [%a]; ${useAll}`]: 5,
  "st.volatile.global.v2.u32 [%a], {%r1, %r2};": 6,
  "st.volatile.shared.u8 [%s], %h1;": 2,
  [`ld.volatile.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%s]; ${useAll}`]: 7,
  "ld.volatile.u32 %r1, [%g]; xor.b32 %x, %x, %r1;": 8,
  "st.volatile.u32 [%g], %r1;": 9,
  "st.local.v4.u32 [%l], {%r1, %r2, %r3, %r4}; ld.local.u32 %r1, [%m]; st.volatile.global.u32 [%a], %r1;": 10,
  "cp.async.cg.shared.global [%s], [%a], 16;": 12,
  "cp.async.ca.shared.global [%s], [%a], 4;": 13,
  "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%s]; st.volatile.shared.v4.u32 [%s], {%r1, %r2, %r3, %r4};": 14,
  "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f1, %f2, %f3, %f4};": 15,
  "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%i1, %i2, %i3, %i4}, {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%i1, %i2, %i3, %i4};": 16,
};
const expected = {
  globalLoads: { 1: 3, 2: 4, 4: 0, 8: 0, 16: 5 },
  globalStores: { 1: 0, 2: 0, 4: 11, 8: 6, 16: 1 },
  sharedLoads: { 1: 0, 2: 0, 4: 0, 8: 0, 16: 7 },
  sharedStores: { 1: 2, 2: 0, 4: 0, 8: 0, 16: 14 },
  genericLoads: { 1: 0, 2: 0, 4: 8, 8: 0, 16: 0 },
  genericStores: { 1: 0, 2: 0, 4: 9, 8: 0, 16: 0 },
  localLoads: { 1: 0, 2: 0, 4: 10, 8: 0, 16: 0 },
  localStores: { 1: 0, 2: 0, 4: 0, 8: 0, 16: 10 },
  asyncCopies: { 1: 0, 2: 0, 4: 13, 8: 0, 16: 12 },
  matrixLoads: 14,
};
/** Later GPUs multiply no bits: the assembler calls a routine of its own. */
const hasBitProducts = (architecture: number): boolean => architecture < 100;

function knownKernel(architecture: number): Instructions {
  const folder = mkdtempSync(join(tmpdir(), "seekrl-sass-"));
  const used = hasBitProducts(architecture) ? { ...known, [bitProduct]: 17 } : known;
  const body = Object.entries(used).flatMap(([instruction, times]) => Array<string>(times).fill(instruction));
  const ptx = `.version 8.7
.target sm_${architecture}
.address_size 64
.visible .entry known(.param .u64 p) {
  .reg .b64 %a, %g, %l, %m; .reg .b32 %r<5>, %i<5>, %s, %x; .reg .b16 %h<2>; .reg .f32 %f<5>;
  .shared .align 16 .b8 tile[4096]; .local .align 16 .b8 depot[512];
  ld.param.u64 %g, [p]; cvta.to.global.u64 %a, %g; mov.u32 %s, tile; mov.u64 %l, depot;
  and.b64 %m, %a, 240; add.u64 %m, %l, %m; shr.u64 %a, %a, 8; and.b64 %a, %a, 240; add.u64 %l, %l, %a; cvta.to.global.u64 %a, %g;
  mov.b32 %x, 0; mov.b32 %f1, 0; mov.b32 %f2, 0; mov.b32 %f3, 0; mov.b32 %f4, 0;
  mov.b32 %i1, 0; mov.b32 %i2, 0; mov.b32 %i3, 0; mov.b32 %i4, 0;
  ${body.join("\n  ")}
  st.volatile.global.v4.f32 [%a], {%f1, %f2, %f3, %f4};
  add.u32 %i1, %i1, %i2; add.u32 %i3, %i3, %i4; add.u32 %i1, %i1, %i3; xor.b32 %i1, %i1, %x; st.volatile.global.u32 [%a], %i1;
  exit;
}
`;
  try {
    writeFileSync(join(folder, "known.ptx"), ptx);
    const nvcc = ["-cubin", `-arch=sm_${architecture}`, "known.ptx", "-o", "known.cubin"];
    execFileSync(
      process.env.CUDA_HOME === undefined ? "nvcc" : join(process.env.CUDA_HOME, "bin", "nvcc"),
      nvcc,
      {
        cwd: folder,
      },
    );
    const code = instructionsOf(readFileSync(join(folder, "known.cubin")), architecture).get("known");
    assert.ok(code !== undefined);
    return code;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

for (const architecture of [80, 90, 100, 120]) {
  test(`known instructions are counted in the code of sm_${architecture}`, { skip }, () => {
    const { total, ...counts } = knownKernel(architecture);
    assert.ok(total > 100);
    assert.deepEqual(counts, { ...expected, products: hasBitProducts(architecture) ? 48 : 31 });
  });
}

test("a kernel that reads bytes, spills or lacks what it promises is complained of", { skip }, () => {
  const planted: Kernel = {
    source: "planted",
    name: "attend_split",
    symbol: "planted",
    registers: 256,
    spilledBytes: 8,
    staticSharedBytes: (8 << 10) + 4,
    dynamicSharedBytes: 100 << 10,
    threads: 128,
    code: { ...knownKernel(80), products: 7 },
    given: { loadsOf16: 0, asyncCopies: 0, matrixLoads: 0, products: 0 },
  };
  assert.deepEqual(complaints(planted), [
    "256 registers, 8 bytes spilled",
    "8196 bytes of static shared memory",
    "110720 bytes of shared memory",
    "loads and stores of local memory",
    "loads of single bytes",
    "products: 7 of 8",
    "sm_80 holds 1 blocks of 2",
    "sm_90 holds 2 blocks of 3",
  ]);
});
