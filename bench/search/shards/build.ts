/** Builds what `run.ts` searches: `--folder DIR [--passages 1000000] [--dim 128]` makes DIR/whole and DIR/parts/1 to 4. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { splitIndex } from "../../../lib/search/index-folder/change/split.ts";
import { writeCorpus } from "./corpus.ts";

const { values } = parseArgs({
  options: {
    folder: { type: "string", default: "" },
    passages: { type: "string", default: "1000000" },
    dim: { type: "string", default: "128" },
  },
});
const { folder } = values;
if (folder === "") throw new Error("--folder: required");
const corpus = join(folder, "corpus.jsonl");
await writeCorpus(corpus, Number(values.passages));
const dense = { kind: "exact", dim: Number(values.dim), dtype: "bf16" } as const;
await buildIndex({ corpus, out: join(folder, "whole"), dense, resume: true });
await splitIndex(join(folder, "whole"), join(folder, "parts"), { shards: 4 });
