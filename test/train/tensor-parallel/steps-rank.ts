/** One rank of the tests of training under tensor parallelism: `node steps-rank.js CASES`, as JSON. */
import { ProcessGroup } from "../../../lib/comm/process-group.ts";
import { Model } from "../../../lib/model/model.ts";
import { type StepsCase, stepsOf, valuesOf } from "./steps.ts";

const { RANK = "0", WORLD_SIZE = "1", MASTER_PORT = "1" } = process.env;
const rank = Number(RANK);
const tell = (line: unknown): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

async function run(group: ProcessGroup): Promise<void> {
  for (const wanted of JSON.parse(process.argv[2] ?? "[]") as StepsCase[]) {
    const { shape, dtype = "float32", weights } = wanted;
    const model = await Model.create(shape, { seed: 1, std: 0.2, dtype, weights, tensorParallel: group });
    if (rank > 0) await model.follow();
    else
      tell({
        steps: await stepsOf(model, wanted),
        values: weights === undefined ? await valuesOf(model) : {},
      });
    model.close();
  }
}

const group = await ProcessGroup.open({
  ...{ rank, size: Number(WORLD_SIZE), port: Number(MASTER_PORT), patienceMs: 4000 },
});
try {
  await run(group);
  await group.close();
} catch (error) {
  tell({ code: (error as { code?: string }).code, message: (error as Error).message });
  group.fail(error);
  await group.close();
  process.exitCode = 1;
}
