/** Parts of addresses: revisions of the hub, and what percent escapes stand for. */
import { SeekError } from "../../../lib/base/errors.ts";

/**
 * A revision behind the `@` of an address, as the source of a pattern with one group. A pull request's and a conversion's
 * have slashes of their own; those of any other are written as `%2F`.
 */
export const revisionPattern = String.raw`(refs\/(?:pr|convert)\/[^/@\s]+|[^/@\s]+)`;

/** What escapes stand for; undefined where one is none, as in `100%`. */
export function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * The revision that a part of an address names.
 *
 * @param text - as it stands there
 * @param address - the whole, for the message
 * @throws ERR_ARGUMENT for escapes that are none, and for parts that lead out of a folder of revisions
 */
export function revisionOf(text: string, address: string): string {
  const revision = unescaped(text);
  if (revision !== undefined && !revision.split("/").some((part) => part === "" || /^\.\.?$/.test(part)))
    return revision;
  throw new SeekError("ERR_ARGUMENT", `${address}: expected a branch, tag or commit behind @, got ${text}`);
}
