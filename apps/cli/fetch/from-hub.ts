/** What options name on the Hugging Face hub, fetched with progress into the hub's cache. */

import type { FetchedModel, FetchModelOptions } from "../../../connectors/remote/hub/fetch-place.ts";
import { bytesText } from "../../../lib/base/disk/free-space.ts";
import type { CommandIo } from "../command.ts";
import { progressLine } from "../report/progress.ts";

/**
 * Fetches a model or a file, and says what came.
 *
 * @param text - its name or address
 * @param fetch - how it is fetched
 * @returns a path of this machine
 */
export async function fromHub(
  text: string,
  fetch: (text: string, options: FetchModelOptions) => Promise<FetchedModel>,
  io: CommandIo,
): Promise<string> {
  const progress = progressLine(io);
  const { path, commit, numBytes } = await fetch(text, {
    signal: io.signal,
    onBytes: (done, total) => progress.show(`fetch ${text}: ${bytesText(done)} of ${bytesText(total)}`),
    onWait: (why) => io.log(`fetch ${text}: waits, ${why}`),
  });
  progress.end();
  const what = numBytes === 0 ? "from the cache" : `${bytesText(numBytes)} fetched`;
  io.log(`${text}: commit ${commit}, ${what}: ${path}`);
  return path;
}
