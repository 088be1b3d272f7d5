/** `seekrl score`: how likely a model finds each token of a text. */
import { z } from "zod";
import { command } from "../../command.ts";
import { loadPolicy } from "../../open/local-policy.ts";
import { idsOption, modelOptions } from "../../options/model-options.ts";

/** The command. */
export const scoreCommand = command({
  name: "score",
  summary: "gives the log-probability of each token after those before it",
  options: z.strictObject({ ...modelOptions, ids: idsOption.describe("token ids") }),
  run: async ({ ids, ...choice }, io) => {
    await using loaded = await loadPolicy(choice);
    const logprobs = await loaded.policy.scoreLogprobs(Int32Array.from(ids));
    io.write(logprobs.map((logprob, i) => `${ids[i]}\t${logprob ?? "-"}\n`).join(""));
    io.result({ logprobs });
  },
});
