/**
 * How much faster are many queries searched together than one request each, as the original systems' clients do?
 *
 * `npm run bench -- search/batch`: 20,000 random vectors of width 256 (bf16), 256 queries, top 10; the peer is the same
 * index asked for one query at a time.
 */
import { Bench } from "tinybench";
import { Dice } from "../../lib/base/random.ts";
import { VectorIndex } from "../../lib/search/vector-index.ts";

const [numVectors, numQueries, dim, topK] = [20_000, 256, 256, 10];

function randomVectors(dice: Dice, count: number): Float32Array {
  return Float32Array.from({ length: count * dim }, () => dice.next() - 0.5);
}

const dice = new Dice(1, 0);
const vectors = randomVectors(dice, numVectors);
const queries = randomVectors(dice, numQueries);

for (const kind of ["exact", "hnsw"] as const) {
  const index = VectorIndex.create(kind, { dim, metric: "cos", dtype: "bf16", capacity: numVectors });
  await index.add(vectors);
  const bench = new Bench({ time: 2000, warmupTime: 200 });
  bench.add("together", () => index.search(queries, { topK }));
  bench.add("one at a time", async () => {
    for (let q = 0; q < numQueries; q += 1) {
      await index.search(queries.subarray(q * dim, (q + 1) * dim), { topK });
    }
  });
  await bench.run();
  const [together = 0, apart = 0] = bench.tasks.map(({ result }) =>
    result.state === "completed" ? result.latency.p50 : Number.NaN,
  );
  const rate = Math.round(numQueries / (together / 1000));
  process.stdout.write(
    `${kind}: ${rate} queries/s together, ${(apart / together).toFixed(1)} times one at a time\n`,
  );
  index.close();
}
