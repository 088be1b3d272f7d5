/** The peer of the model server: the same replies sampled from the engine with nothing around it, in a process of its own. */
import { openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import { questionOf, seedOf, temperature } from "./asked.ts";

/** What the parent process asks for, as JSON on a line; one line of answer each. */
export interface EngineRound {
  readonly numClients: number;
  readonly numRounds: number;
  readonly maxTokens: number;
}

/** What a round gave. */
export interface EngineRate {
  readonly promptLookup: boolean;
  readonly numTokens: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

// As the server has it.
const promptLookup = true;
const [model = ""] = process.argv.slice(2);
await using policy = await openLocalPolicy({ model }, { promptLookup });
const { engine, tokenizer, chatTemplate } = policy;

async function reply(client: number, round: number, maxTokens: number): Promise<number> {
  const messages = [{ role: "user", content: questionOf(client, round) }];
  const prompt = chatTemplate?.render(messages, { addGenerationPrompt: true, now: new Date() }) ?? "";
  using sequence = engine.open(tokenizer.encode(prompt, { beginsText: true }), {
    seed: seedOf(client, round),
  });
  let numTokens = 0;
  for await (const { ids } of sequence.stream({ maxTokens, temperature })) numTokens += ids.length;
  return numTokens;
}

async function measure({ numClients, numRounds, maxTokens }: EngineRound): Promise<EngineRate> {
  const [cpu, started] = [process.cpuUsage(), performance.now()];
  let numTokens = 0;
  const client = async (_: unknown, i: number): Promise<void> => {
    for (let round = 0; round < numRounds; round += 1) {
      const length = await reply(i, round, maxTokens);
      numTokens += length;
    }
  };
  await Promise.all(Array.from({ length: numClients }, client));
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - started) / 1000;
  return { promptLookup, numTokens, seconds, cpuSeconds: (user + system) / 1e6 };
}

process.stdout.write("ready\n");
for await (const line of process.stdin.setEncoding("utf8")) {
  process.stdout.write(`${JSON.stringify(await measure(JSON.parse(line) as EngineRound))}\n`);
}
