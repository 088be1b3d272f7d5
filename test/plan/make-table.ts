/** The table of docs/scaling.md, made by the command: `node dist/test/plan/make-table.js` prints it. */
import { runCli } from "../cli/run-cli.ts";

const models = ["qwen2.5-0.5b", "qwen2.5-1.5b", "qwen2.5-7b", "qwen2.5-32b"];

/** Of each call. */
export const callOptions = ["--gpus", "8,64,512", "--recipe", "search-r1,algorithm=grpo"];

/** Rows of the table, the head first; what the command prints under the model's name. */
export async function scalingRows(): Promise<string[][]> {
  const rows: string[][] = [];
  for (const model of models) {
    const { stdout } = await runCli("plan", "--model", model, ...callOptions);
    const lines = stdout.split("\n");
    const from = lines.findIndex((line) => line.startsWith("GPUs"));
    const cells = lines.slice(from, from + 4).map((line) => line.trim().split(/ {2,}/));
    if (rows.length === 0) rows.push(["model", ...cells[0]!]);
    rows.push(...cells.slice(1).map((row) => [model, ...row]));
  }
  return rows;
}

/** As Markdown. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const [head = [], ...body] = rows;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...body.map(line)];
}

if (process.argv[1]?.endsWith("make-table.js")) {
  process.stdout.write(`${tableLines(await scalingRows()).join("\n")}\n`);
}
