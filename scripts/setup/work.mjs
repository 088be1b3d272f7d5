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
  ops: 36,
  node: 30,
  comm: 20,
  train: 17,
  engine: 16,
  model: 16,
  search: 11,
  avx2: 9,
  avx512: 9,
  avx512_bf16: 4,
  base: 4,
  pair_products: 4,
  kernels: 3,
  row_block_avx512: 2,
  dots_avx512: 2,
  avx512_vnni: 2,
  preload: 1,
  "seekrl.node": 2,
};

/** The name above of what a line of ninja or make is about. */
export function partOf(line) {
  const [, unit, source, linked] =
    /unity_(\w+?)_cxx|\/(\w+)\.(?:c|cpp)\.o|Linking .*?([\w.]+\.node)/.exec(line) ?? [];
  return unit ?? source ?? linked;
}
