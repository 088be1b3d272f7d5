/** `seekrl push`: uploads a model, an adapter or a run's final model to the Hugging Face hub. */
import { z } from "zod";
import { bytesText } from "../../../../lib/base/disk/free-space.ts";
import { codeOf, messageOf } from "../../../../lib/base/errors.ts";
import type { PushedModel } from "../../../push/push-model.ts";
import { type CommandIo, command } from "../../command.ts";
import { Pace, rateText } from "../../report/pace.ts";
import { progressLine } from "../../report/progress.ts";
import { tableOf } from "../../report/table.ts";

/** The command. */
export const pushCommand = command({
  name: "push",
  summary: "uploads a model, an adapter or a run's final model to the Hugging Face hub, with a model card",
  places: ["folder"],
  goesOn: "with the files that the hub does not have yet",
  options: z.strictObject({
    folder: z.string().min(1).describe("folder of a model, an adapter, a checkpoint or a run"),
    to: z.string().describe("repository, OWNER/NAME; made where it is missing"),
    private: z.boolean().default(false).describe("makes it private; refuses one that is there and public"),
    revision: z.string().default("main").describe("branch, made where it is missing"),
    message: z.string().optional().describe("of the commit (names the version of SeekRL)"),
    license: z.string().optional().describe("for the card, as the hub calls it: apache-2.0"),
    evaluation: z
      .array(z.string())
      .optional()
      .describe("for the card: files of eval --out (the run's own last evaluation)"),
    dryRun: z.boolean().default(false).describe("prints card and files; uploads nothing"),
  }),
  run: async ({ folder, to, evaluation, ...options }, io) => {
    const { pushModel } = await import("../../../push/push-model.ts");
    const pace = new Pace();
    const progress = progressLine(io);
    const pushed = await pushModel(folder, to, {
      ...{ ...options, evaluations: evaluation, signal: io.signal },
      onBytes: (done, total) =>
        progress.show(`push ${to}: ${bytesText(done)} of ${bytesText(total)}${rateText(pace, done, total)}`),
    })
      .finally(() => progress.end())
      .catch((error) => {
        // The interruption is told by all commands alike; what became of the repository is this one's to say.
        if (io.signal.aborted && codeOf(error) === "ERR_ABORTED") io.log(messageOf(error));
        throw error;
      });
    report(pushed, options.dryRun, io);
    const { url, commit, files, leftOut } = pushed;
    io.result({ url, commit: commit ?? null, files, leftOut });
  },
});

function report({ url, commit, card, files, leftOut }: PushedModel, isDry: boolean, io: CommandIo): void {
  if (isDry) {
    io.write(`${card}\n`);
    io.write(tableOf(files.map(({ name, numBytes }) => [name, `${numBytes} bytes`])));
  }
  if (leftOut.length > 0) io.write(`stays here: ${leftOut.join(", ")}\n`);
  if (commit !== undefined) io.write(`${url}: commit ${commit}, ${files.length} files\n`);
}
