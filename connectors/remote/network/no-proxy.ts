/** Which hosts are asked straight: this machine, and what `NO_PROXY` lists. */
import { BlockList, isIP } from "node:net";

/** This machine's addresses, and those that lead to it. */
const own = new BlockList();
own.addSubnet("127.0.0.0", 8, "ipv4");
own.addAddress("0.0.0.0", "ipv4");
own.addAddress("::1", "ipv6");
own.addAddress("::", "ipv6");

const familyOf = (address: string) => (isIP(address) === 6 ? "ipv6" : "ipv4");

/** As it stands in a list: in small letters, without brackets and the dot at its end. */
const plain = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");

function isOwn(host: string): boolean {
  if (isIP(host) !== 0) return own.check(host, familyOf(host));
  return host === "localhost" || host.endsWith(".localhost");
}

/** An address, or a range of them as in `10.0.0.0/8`; undefined for what is none. */
function rangeOf(text: string): BlockList | undefined {
  const [address = "", bits, ...more] = text.split("/");
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  const length = bits === undefined ? most : /^\d+$/.test(bits) ? Number(bits) : Number.POSITIVE_INFINITY;
  if (most < 0 || length > most || more.length > 0) return undefined;
  const range = new BlockList();
  range.addSubnet(address, length, familyOf(address));
  return range;
}

/** `host`, `.host`, `*.host`, each with what is below it; an address or a range; each with a port or not. */
function matches(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  // A bare address of IPv6 ends like a host with a port.
  const [, name = "", only] =
    isIP(entry) === 6 ? ["", entry] : (/^(\[.*\]|.*?)(?::(\d+))?$/.exec(entry) ?? []);
  if (only !== undefined && only !== port) return false;
  const wanted = plain(name);
  if (isIP(host) !== 0) return rangeOf(wanted)?.check(host, familyOf(host)) ?? false;
  const domain = wanted.replace(/^\*?\./, "");
  return domain !== "" && (host === domain || host.endsWith(`.${domain}`));
}

/**
 * Whether a request goes to its host itself, whatever proxies there are.
 *
 * @param url - of the request
 * @param exempt - what `NO_PROXY` says: hosts between commas or spaces, `*` for all
 */
export function isStraight(url: URL, exempt: string): boolean {
  const host = plain(url.hostname);
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return isOwn(host) || exempt.split(/[\s,]+/).some((entry) => entry !== "" && matches(entry, host, port));
}
