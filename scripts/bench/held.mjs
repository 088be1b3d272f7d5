/** What holds both sides of a comparison to an older instruction set than the processor's. */

/** Of each: the environment of all programs, and files of npm's packages that go beyond it. */
export const held = {
  avx2: {
    env: {
      SEEKRL_MAX_CPU_ISA: "avx2",
      ATEN_CPU_CAPABILITY: "avx2",
      ONEDNN_MAX_CPU_ISA: "AVX2",
      MKL_ENABLE_INSTRUCTIONS: "AVX2",
      OPENBLAS_CORETYPE: "Haswell",
    },
    // llama.cpp takes the best of these libraries that the processor can run.
    beyond:
      /libggml-cpu-(alderlake|skylakex|cannonlake|cascadelake|cooperlake|icelake|sapphirerapids|zen4)\.(so|dll)$/,
  },
};

/** What is held for a name of the command line, or an error that lists the names; nothing without one. */
export function heldTo(isa) {
  if (isa === undefined) return undefined;
  if (!Object.hasOwn(held, isa))
    throw new Error(`--isa: expected ${Object.keys(held).join(" or ")}, got ${isa}`);
  return { isa, ...held[isa] };
}
