/** `seekrl quantize`: writes a model folder whose weights are quantised. */
import { existsSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import { bytesText } from "../../../../lib/base/disk/free-space.ts";
import { isGguf } from "../../../../lib/base/gguf/gguf.ts";
import { quantisedForms } from "../../../../lib/model/weights-form.ts";
import { copyTokenizer } from "../../../../lib/text/tokenizers/copy-tokenizer.ts";
import { command, UsageError } from "../../command.ts";
import { modelFolder } from "../../fields.ts";
import { loadPolicy, policyFolders } from "../../open/local-policy.ts";

const options = z.strictObject({
  model: modelFolder(z.string().describe("A model folder or GGUF file.")),
  out: z.string().describe("Folder to write, which loads like any other."),
  weights: z
    .enum(quantisedForms)
    .describe("int8: one scale an output; int4: one for 32 values; nf4: QLoRA's levels, an absmax for 64."),
  dtype: z
    .enum(["float32", "bfloat16"])
    .default("bfloat16")
    .describe("Form of what stays: embeddings, norms, biases."),
});

/** The command. */
export const quantizeCommand = command({
  name: "quantize",
  summary: "writes a model folder with its weights in 8 or 4 bits",
  options,
  run: async ({ model: from, out, weights, dtype }, io) => {
    if (resolve(from) === resolve(out))
      throw new UsageError("--out: expected another folder than the model's");
    if (existsSync(join(out, "config.json"))) throw new UsageError(`--out: ${out} holds a model already`);
    if ((await policyFolders({ model: from })).adapter !== undefined) {
      throw new UsageError(
        `--model: ${from} is an adapter. Remedy: seekrl merge, then quantize what it writes`,
      );
    }
    await using loaded = await loadPolicy({ model: from, dtype, weights }, io);
    const { model } = loaded;
    await model.save(out);
    await copyTokenizer(from, out);
    const [before, after] = [await weightBytes(from), await weightBytes(out)];
    io.write(`${out}: ${weights}, ${bytesText(after)} instead of ${bytesText(before)}\n`);
    io.result({ out, weights, bytes: after, bytesBefore: before });
  },
});

async function weightBytes(model: string): Promise<number> {
  const names = isGguf(model) ? [] : (await readdir(model)).filter((name) => name.endsWith(".safetensors"));
  const files = isGguf(model) ? [model] : names.map((name) => join(model, name));
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
