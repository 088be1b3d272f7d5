/** Addresses of files elsewhere: of the Hugging Face hub, or any other over HTTP. */
import { SeekError } from "../../../lib/base/errors.ts";
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

function parsed(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw new SeekError("ERR_ARGUMENT", `expected the address of a file, got ${address}`);
}

/** Whether it is an address and not a path. */
export function isAddress(text: string): boolean {
  return /^(hf|https?):\/\//.test(text);
}

/** An address as it is asked for, and what its content must hash to. */
interface CheckedAddress {
  readonly place: string;
  readonly checksum: Checksum | undefined;
}

/** Parts an address from the `#sha256=HEX` behind it. @throws ERR_ARGUMENT where something else stands there */
export function splitChecksum(address: string): CheckedAddress {
  const [place = "", fragment] = address.split("#");
  if (fragment === undefined) return { place, checksum: undefined };
  const [, sha256] = /^sha256=([0-9a-f]{64})$/i.exec(fragment) ?? [];
  if (sha256 !== undefined) return { place, checksum: { kind: "sha256", hex: sha256.toLowerCase() } };
  throw new SeekError("ERR_ARGUMENT", `expected #sha256= and 64 hexadecimal digits, got #${fragment}`);
}

/**
 * The file that an address names.
 *
 * @param address - one of the hub as the browser shows it, or any other of http or https; `#sha256=HEX` behind it says
 *   what the content must hash to
 * @param options - the hub, and its token
 * @throws ERR_ARGUMENT for something else
 */
export function remoteFile(address: string, options: HubOptions = {}): RemoteFile {
  const { endpoint, token } = hubOf(options);
  const { place, checksum } = splitChecksum(address);
  const url = parsed(place);
  const isHub = url.origin === new URL(endpoint).origin;
  if (isHub) url.pathname = url.pathname.replace(/^(\/datasets\/[^/]+\/[^/]+)\/blob\//, "$1/resolve/");
  return { url, checksum, token: isHub ? token : undefined, isOfHub: isHub };
}
