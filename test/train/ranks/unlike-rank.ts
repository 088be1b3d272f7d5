/** One rank of trainings for which rank 1 was given something else each time: `node unlike-rank.js FOLDER`. */
import { ProcessGroup } from "../../../lib/comm/process-group.ts";
import { runSft } from "../run/sft-run.ts";

const { RANK, WORLD_SIZE, MASTER_PORT } = process.env;
const rank = Number(RANK);
const folder = process.argv[2]!;

/** By what differs. */
const others = {
  steps: { steps: 5 },
  order: { seed: 4 },
  rate: { peak: 1e-3 },
  level: { learner: { zero: 1 } },
  optimizer: { learner: { weightDecay: 0.5 } },
  policy: { form: "adapter with 8-bit moments" },
  model: { settings: { "--model": "content 1" } },
} as const;

await using processGroup = await ProcessGroup.open({
  ...{ rank, size: Number(WORLD_SIZE), port: Number(MASTER_PORT) },
});
for (const [name, other] of Object.entries(others)) {
  const given = { settings: { "--model": "content 0" }, ...(rank === 1 && other) };
  const line: { name: string; steps: number; code?: string; message?: string } = { name, steps: 0 };
  try {
    const onStep = ({ step }: { readonly step: number }): void => {
      line.steps = step;
    };
    await runSft(folder, onStep, { steps: 4, ...given, processGroup });
  } catch (error) {
    line.code = (error as { code: string }).code;
    line.message = (error as Error).message;
  }
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
