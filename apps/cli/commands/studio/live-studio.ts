/** The studio of a command that trains: a page that shows its run for as long as it goes on. */
import { codeOf } from "../../../../lib/base/errors.ts";
import type { CommandIo } from "../../command.ts";
import { servedAt } from "../../options/serve-options.ts";

const noStudio: AsyncDisposable = { [Symbol.asyncDispose]: async () => {} };

/**
 * Serves the folder of a training on this machine, at the studio's own port, or at a free one where that is taken.
 *
 * @param isWanted - without it nothing is served
 * @param out - where the training's runs will stand
 * @param io - is told the address
 * @throws ERR_ARGUMENT for an empty key
 */
export async function openLiveStudio(
  isWanted: boolean,
  out: string,
  io: Pick<CommandIo, "env" | "log">,
): Promise<AsyncDisposable> {
  if (!isWanted) return noStudio;
  const { serveStudio, studioPort } = await import("../../../studio/studio.ts");
  const at = (port: number) =>
    serveStudio({ roots: [out] }, servedAt({ host: "127.0.0.1", port, open: false }, io));
  const server = await at(studioPort).catch((error: unknown) => {
    if (codeOf(error) !== "ERR_IO") throw error;
    return at(0);
  });
  io.log(`studio at ${server.url}`);
  return server;
}
