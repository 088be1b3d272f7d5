/**
 * What a first set-up has to do, in seconds of one core of the machine that bench/results/setup_epyc-zen5_20261128.md names:
 * by these the time left is told from the start, and corrected by how fast this machine turns out to be.
 */

/** One after the other. */
export const serialSeconds = { libtorch: 18, configuring: 4 };

/** Side by side, on as many cores as there are, begun in this order: units of C++ by their folder, sources by their name. */
export const parallelSeconds = {
  typescript: 16,
  page: 6,
  node: 37,
  ops: 40,
  model: 21,
  train: 20,
  engine: 19,
  base: 4,
  comm: 21,
  kernels: 2,
  avx2: 7,
  avx512: 8,
  avx512_bf16: 5,
  avx512_vnni: 2,
  search: 12,
  dots_avx512: 2,
  row_block_avx512: 3,
  pair_products: 1,
  preload: 2,
  "seekrl.node": 1,
};

/** The name above of what a line of ninja or make is about. */
export function partOf(line) {
  const [, unit, source, linked] =
    /unity_(\w+?)_cxx|\/(\w+)\.(?:c|cpp)\.o|Linking .*?([\w.]+\.node)/.exec(line) ?? [];
  return unit ?? source ?? linked;
}
