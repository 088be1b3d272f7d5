/** Addresses of files elsewhere: of the Hugging Face hub, or any other over HTTP. */
import { SeekError } from "../../base/errors.ts";
import { revisionOf, revisionPattern } from "./address-parts.ts";
import type { Checksum } from "./checksum.ts";
import { type HubOptions, hubOf } from "./hub.ts";

/** A file to fetch. */
export interface RemoteFile {
  readonly url: URL;
  /** What its content must hash to. @default what the server says, where it says it */
  readonly checksum?: Checksum | undefined;
  /** Of the whole file, where the caller knows it besides the checksum. */
  readonly numBytes?: number | undefined;
  /** Goes to the address itself, and to no other host that it leads to. */
  readonly token?: string | undefined;
  /** Whether the address is the hub's, so that its token may help. */
  readonly isOfHub?: boolean | undefined;
}

const hubPattern = new RegExp(`^hf://datasets/([^/@]+)/([^/@]+)(?:@${revisionPattern})?/(.+)$`);

/** `hf://datasets/OWNER/NAME@REVISION/PATH` as the hub's own address; without a revision it is the main branch. */
function hubUrl(address: string, endpoint: string): URL {
  const [, owner, name, revision = "main", path] = hubPattern.exec(address) ?? [];
  if (path === undefined)
    throw new SeekError("ERR_ARGUMENT", `expected hf://datasets/OWNER/NAME[@REVISION]/PATH, got ${address}`);
  const place = path.split("/").map(encodeURIComponent).join("/");
  const at = encodeURIComponent(revisionOf(revision, address));
  return new URL(`${endpoint}/datasets/${owner}/${name}/resolve/${at}/${place}`);
}

function parsed(address: string): URL {
  if (URL.canParse(address)) return new URL(address);
  throw new SeekError("ERR_ARGUMENT", `expected the address of a file, got ${address}`);
}

/** Whether it is an address and not a path. */
export function isAddress(text: string): boolean {
  return /^(hf|https?):\/\//.test(text);
}

/**
 * The file that an address names.
 *
 * @param address - `hf://datasets/OWNER/NAME[@REVISION]/PATH`, an address of the hub as the browser shows it, or any
 *   other of http or https; `#sha256=HEX` behind it says what the content must hash to
 * @param options - the hub, and its token
 * @throws ERR_ARGUMENT for something else
 */
export function remoteFile(address: string, options: HubOptions = {}): RemoteFile {
  const { endpoint, token } = hubOf(options);
  const [place = "", fragment] = address.split("#");
  const [, sha256] = /^sha256=([0-9a-f]{64})$/i.exec(fragment ?? "") ?? [];
  if (fragment !== undefined && sha256 === undefined)
    throw new SeekError("ERR_ARGUMENT", `expected #sha256= and 64 hexadecimal digits, got #${fragment}`);
  const url = place.startsWith("hf://") ? hubUrl(place, endpoint) : parsed(place);
  const isHub = url.origin === new URL(endpoint).origin;
  if (isHub) url.pathname = url.pathname.replace(/^(\/datasets\/[^/]+\/[^/]+)\/blob\//, "$1/resolve/");
  return {
    url,
    checksum: sha256 === undefined ? undefined : { kind: "sha256", hex: sha256.toLowerCase() },
    token: isHub ? token : undefined,
    isOfHub: isHub,
  };
}
