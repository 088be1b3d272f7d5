/** SEEKRL_MAX_CPU_ISA, which this process sets before it loads the native core. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { native } from "../../lib/base/addon/native.ts";

test("SEEKRL_MAX_CPU_ISA holds the kernels to an instruction set, and anything else is refused", () => {
  process.env.SEEKRL_MAX_CPU_ISA = "sse4";
  assert.throws(() => native(), {
    code: "ERR_ARGUMENT",
    message:
      'SEEKRL_MAX_CPU_ISA: expected avx2, avx512 or amx, got "sse4". Remedy: unset it to use all that the processor has.',
  });
  process.env.SEEKRL_MAX_CPU_ISA = "avx2";
  assert.match(native().instructionSet(), /^(avx2|plain)$/);
});
