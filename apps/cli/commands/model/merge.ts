/** `seekrl merge`: makes an adapter part of its model's weights. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { readModel, storedDtypeOf } from "../../../../lib/model/model-folder.ts";
import { command, UsageError } from "../../command.ts";
import { copyBeside, loadPolicy, policyFolders } from "../../open/local-policy.ts";
import { modelOptions } from "../../options/model-options.ts";

/** The command. */
export const mergeCommand = command({
  name: "merge",
  summary: "writes a plain model folder of a model and a LoRA adapter on it",
  options: z.strictObject({
    ...modelOptions,
    out: z.string().describe("folder to write"),
    storedDtype: z
      .enum(["float32", "bfloat16", "float16"])
      .optional()
      .describe(
        "form of the weights on the disk (as the model's are stored; of several forms or GGUF's blocks --dtype)",
      ),
  }),
  run: async ({ out, storedDtype, ...given }, io) => {
    const folders = await policyFolders(given);
    if (folders.adapter === undefined)
      throw new UsageError("--adapter: required, or an adapter's folder as --model");
    if (given.weights !== undefined && given.weights !== "plain")
      throw new UsageError(
        "--weights: a merge changes plain weights. Remedy: merge without it, then seekrl quantize",
      );
    if (existsSync(join(out, "config.json"))) throw new UsageError(`--out: ${out} holds a model already`);
    if (existsSync(join(out, "adapter_config.json"))) throw new UsageError(`--out: ${out} holds an adapter`);
    const { model: from, adapter } = folders;
    const plain = { dtype: given.dtype ?? "float32", weights: "plain" } as const;
    await using loaded = await loadPolicy({ ...given, model: from, adapter, ...plain }, io);
    const { model, policy } = loaded;
    if ("merge" in policy) await policy.merge();
    const dtype = storedDtype ?? storedDtypeOf((await readModel(folders.model)).stored) ?? model.dtype;
    await model.save(out, { dtype });
    await copyBeside(folders, out);
    io.write(`${out}: ${folders.model} with ${folders.adapter} merged into its weights\n`);
    io.result({ model: out, dtype });
  },
});
