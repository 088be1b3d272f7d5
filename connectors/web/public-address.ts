/** Which addresses of the network a fetched page may stand at: those of the public internet. */
import { type LookupAddress, lookup as resolve } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { SeekError } from "../../lib/base/errors.ts";

/** The ranges that IANA's special-purpose registries keep from the public internet, and multicast. */
const reserved4 = new BlockList();
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const) {
  reserved4.addSubnet(net, bits, "ipv4");
}
/** All that is not global unicast, and the parts of that which embed or reserve other addresses. */
const reserved6 = new BlockList();
for (const [net, bits] of [
  ["::", 3],
  ["4000::", 2],
  ["8000::", 1],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const) {
  reserved6.addSubnet(net, bits, "ipv6");
}

/**
 * Whether an IP address belongs to the public internet.
 *
 * @example
 * assert.deepEqual(["93.184.216.34", "169.254.169.254", "::1"].map(isPublicAddress), [true, false, false]);
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  // Two lists: one alone would take IPv4 addresses for the IPv6 addresses that embed them.
  if (family === 4) return !reserved4.check(address, "ipv4");
  return family === 6 && !reserved6.check(address, "ipv6");
}

/** Names are checked by `publicLookup`. @throws ERR_ARGUMENT for an address in numbers that is not public */
export function checkHost({ hostname }: URL): void {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) !== 0 && !isPublicAddress(host)) throw refusal(host, host);
}

function refusal(host: string, address: string): SeekError {
  const got = host === address ? address : `${host} at ${address}`;
  return new SeekError("ERR_ARGUMENT", `expected a host of the public internet, got ${got}`);
}

/**
 * A look-up for `http.request` that refuses names which lead to other than public addresses. The connection is made to
 * the very addresses that were checked, so a name cannot change its mind in between.
 */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    if (error) return callback(error, "", 4);
    const wrong = addresses.find(({ address }) => !isPublicAddress(address));
    const [first] = addresses;
    if (wrong) return callback(refusal(hostname, wrong.address) as NodeJS.ErrnoException, "", 4);
    if (options.all) return callback(null, addresses);
    callback(null, first?.address ?? "", first?.family);
  });
};
