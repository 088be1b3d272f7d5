/** Files that commands read from an address: fetched into a cache, checked, and read from there. */
import { cacheFolder } from "../base/cache-folder.ts";
import type { CommandIo } from "./command.ts";
import { progressLine } from "./progress.ts";

/**
 * A path of this machine; a file of the hub or of another server becomes one of the cache.
 *
 * @param path - file, folder or address
 * @param io - says what was fetched and how it was checked
 * @param cache - folder for files that are fetched, `@default` the user's cache
 */
export async function fetchedFile(path: string, io: CommandIo, cache?: string): Promise<string> {
  const { isAddress, remoteFile } = await import("../remote/file-address.ts");
  if (!isAddress(path)) return path;
  const { downloadFile } = await import("../remote/download-file.ts");
  const progress = progressLine(io);
  const file = await downloadFile(remoteFile(path), {
    folder: cache ?? cacheFolder("data"),
    signal: io.signal,
    onBytes: (numBytes, total) => progress.show(`fetch: ${numBytes} of ${total ?? "?"} bytes`),
  });
  progress.end();
  const { sha256, checkedBy, isFromCache } = file;
  const how =
    checkedBy === "size" ? `checked by size only; #sha256=${sha256} pins it` : `${checkedBy} checked`;
  io.log(isFromCache ? `from the cache: ${file.path}` : `fetched: ${file.path} (${how})`);
  return file.path;
}
