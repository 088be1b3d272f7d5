/** Files of the hub's data sets by their addresses, fetched once into the cache that Python shares. */
import { SeekError } from "../../../lib/base/errors.ts";
import { digestOfFile } from "../../../lib/base/files/digests.ts";
import { splitChecksum } from "../files/file-address.ts";
import { type FetchedModel, type FetchModelOptions, fetchPlace } from "./fetch-place.ts";
import { hubDataset } from "./hub-place.ts";

/**
 * Fetches one file of a data set.
 *
 * @param address - `hf://datasets/OWNER/NAME[@REVISION]/PATH`; `#sha256=HEX` behind it says what the content must hash to
 * @param options - as for a model
 * @returns where it is, and its commit
 * @throws ERR_ARGUMENT for another address; ERR_REMOTE, ERR_IO, ERR_ABORTED
 */
export async function fetchDataset(address: string, options: FetchModelOptions = {}): Promise<FetchedModel> {
  const { place, checksum } = splitChecksum(address);
  const fetched = await fetchPlace(hubDataset(place), options);
  if (checksum === undefined) return fetched;
  const actual = await digestOfFile(fetched.path);
  if (actual === checksum.hex) return fetched;
  throw new SeekError(
    "ERR_REMOTE",
    `${address}: expected content with sha256 ${checksum.hex}, got ${actual}`,
  );
}
