/** One rank of models that emulated GPUs share: `node shared-rank.js CASES`, as JSON, with torchrun's variables. */
import { ProcessGroup } from "../../../../lib/comm/process-group.ts";
import { answerOf, modelOf, type SharedCase } from "./shared.ts";

const { RANK = "0", WORLD_SIZE = "1", MASTER_PORT = "1" } = process.env;
const [cases = "[]", fault] = process.argv.slice(2);
if (RANK === "1" && fault !== undefined) process.env["SEEKRL_EMULATED_NCCL_FAULT"] = fault;
const tell = (line: unknown): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

async function run(group: ProcessGroup): Promise<void> {
  for (const wanted of JSON.parse(cases) as SharedCase[]) {
    await using model = await modelOf(wanted, group);
    if (group.rank > 0) await model.follow();
    else tell(await answerOf(model, wanted));
  }
}

const group = await ProcessGroup.open({
  ...{ rank: Number(RANK), size: Number(WORLD_SIZE), port: Number(MASTER_PORT), patienceMs: 4000 },
});
try {
  await run(group);
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  tell({ code, message });
  group.fail(error);
  process.exitCode = 1;
}
await group.close();
