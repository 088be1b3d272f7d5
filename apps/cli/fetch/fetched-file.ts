/** Files that commands read from an address or an archive: fetched into a cache, unpacked, checked, and read from there. */
import { join } from "node:path";
import { cacheFolder } from "../../../lib/base/disk/cache-folder.ts";
import { bytesText } from "../../../lib/base/disk/free-space.ts";
import type { CommandIo } from "../command.ts";
import { progressLine } from "../report/progress.ts";
import { fromHub } from "./from-hub.ts";

/**
 * A path of this machine; a file of the hub or of another server becomes one of the cache, and so does one inside of a
 * zip archive, `data.zip/questions.jsonl`.
 *
 * @param path - file, folder or address
 * @param io - says what was fetched and how it was checked
 * @param cache - folder for files that are fetched or unpacked, `@default` the user's cache
 */
export async function fetchedFile(
  path: string,
  io: CommandIo,
  cache = cacheFolder("data", io.env),
): Promise<string> {
  const { archivePath, unpack } = await import("../../../lib/data/files/zip.ts");
  const inside = archivePath(path);
  if (inside === undefined) return downloaded(path, io, cache);
  const archive = await downloaded(inside.archive, io, cache);
  const options = { folder: join(cache, "unpacked"), signal: io.signal };
  const unpacked = await unpack({ ...inside, archive }, options);
  io.log(`unpacked: ${unpacked}`);
  return unpacked;
}

async function downloaded(path: string, io: CommandIo, folder: string): Promise<string> {
  const { isAddress, remoteFile } = await import("../../../connectors/remote/files/file-address.ts");
  if (!isAddress(path)) return path;
  if (path.startsWith("hf://")) {
    const { fetchDataset } = await import("../../../connectors/remote/hub/fetch-dataset.ts");
    return fromHub(path, fetchDataset, io);
  }
  const { downloadFile } = await import("../../../connectors/remote/files/download-file.ts");
  const progress = progressLine(io);
  const file = await downloadFile(remoteFile(path), {
    folder,
    signal: io.signal,
    onBytes: (numBytes, total) => progress.show(progressText(numBytes, total)),
  });
  progress.end();
  const { sha256, checkedBy, isFromCache } = file;
  const how =
    checkedBy === "size" ? `checked by size only; #sha256=${sha256} pins it` : `${checkedBy} checked`;
  io.log(isFromCache ? `from the cache: ${file.path}` : `fetched: ${file.path} (${how})`);
  return file.path;
}

function progressText(numBytes: number, total: number | undefined): string {
  return `fetch: ${bytesText(numBytes)}${total === undefined ? "" : ` of ${bytesText(total)}`}`;
}
