/** `seekrl score`: how likely a model finds each token of a text. */
import { z } from "zod";
import { command, UsageError } from "../../command.ts";
import { findTokenizer, idsOf, loadPolicy, policyFolders } from "../../open/local-policy.ts";
import { idsOption, modelOptions } from "../../options/model-options.ts";

/** The command. */
export const scoreCommand = command({
  name: "score",
  summary: "gives the log-probability of each token after those before it",
  options: z.strictObject({
    ...modelOptions,
    text: z.string().optional().describe("the text"),
    ids: idsOption.optional().describe("token ids, instead of a text"),
  }),
  run: async (given, io) => {
    if ((given.text === undefined) === (given.ids === undefined)) {
      throw new UsageError("expected either --text or --ids");
    }
    const folders = await policyFolders(given);
    const tokenizer = await findTokenizer(folders.model);
    const ids = idsOf(given, tokenizer, "--text");
    await using loaded = await loadPolicy({ ...given, ...folders }, io);
    const logprobs = await loaded.policy.scoreLogprobs(ids);
    const isText = given.text !== undefined;
    const shown = (id: number): string => (isText ? `\t${JSON.stringify(tokenizer?.decode([id]))}` : "");
    io.write(logprobs.map((logprob, i) => `${ids[i]}\t${logprob ?? "-"}${shown(ids[i]!)}\n`).join(""));
    io.result({ ids: [...ids], logprobs });
  },
});
