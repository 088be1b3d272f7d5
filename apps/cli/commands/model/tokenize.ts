/** `seekrl tokenize`: text to token ids. */
import { z } from "zod";
import { command } from "../../command.ts";
import { modelFolder } from "../../fields.ts";
import { loadTokenizer } from "../../open/local-policy.ts";

/** The command. */
export const tokenizeCommand = command({
  name: "tokenize",
  summary: "turns a text into token ids",
  options: z.strictObject({
    model: modelFolder(z.string().describe("model folder, or its tokenizer.json")),
    text: z.string().describe("the text"),
    specialTokens: z.boolean().default(false).describe("add the marks that begin and end a text"),
  }),
  run: async ({ model, text, specialTokens }, io) => {
    const tokenizer = await loadTokenizer(model);
    const ids = [...tokenizer.encode(text, { addSpecialTokens: specialTokens })];
    io.write(`${ids.join(" ")}\n`);
    io.result({ ids });
  },
});
