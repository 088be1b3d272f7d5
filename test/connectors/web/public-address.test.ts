/** Which addresses belong to the public internet. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isPublicAddress, publicLookup } from "../../../connectors/web/public-address.ts";

// One of each range of IANA's registries of special-purpose addresses, IPv4 and IPv6, and multicast.
const reserved = [
  ...["0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "169.254.169.254", "172.16.0.1"],
  ...[
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
  ],
  ...["203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255"],
  ...[
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "100::1",
    "2001::1",
    "2001:db8::1",
  ],
  ...["2002:7f00:1::", "3fff::1", "5f00::1", "fc00::1", "fd12::1", "fe80::1", "ff02::1"],
];
const open = ["8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:2800:220:1::1", "2a00:1450::1"];

test("reserved ranges are private, the rest is public", () => {
  assert.deepEqual(reserved.filter(isPublicAddress), []);
  assert.deepEqual(
    open.filter((address) => !isPublicAddress(address)),
    [],
  );
  assert.equal(isPublicAddress("localhost"), false);
});

test("a name that leads to this machine is refused by the look-up itself", async () => {
  const error = await new Promise<Error | null>((resolve) =>
    publicLookup("localhost", {}, (cause) => resolve(cause)),
  );
  assert.match(
    error?.message ?? "",
    /expected a host of the public internet, got localhost at (127\.0\.0\.1|::1)/,
  );
});
