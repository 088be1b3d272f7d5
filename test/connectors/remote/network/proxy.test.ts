/** Which requests go through which proxy, as curl, Go and Python have it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { proxyFor } from "../../../../connectors/remote/network/proxy.ts";

const proxy = "http://proxy.example:3128";

/** The proxy of a request, as text; undefined where it goes straight. */
function through(url: string, environment: Readonly<Record<string, string>>): string | undefined {
  return proxyFor(new URL(url), environment)?.address.origin;
}

test("the scheme chooses the variable, small letters come first, and what is empty is not set", () => {
  const one = (name: string) => ({ [name]: "http://one.example:1" });
  const all = { ALL_PROXY: "http://all.example:1" };
  for (const name of ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])
    assert.equal(through("https://hub.example", one(name)), "http://one.example:1", name);
  for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
    assert.equal(through("http://hub.example", one(name)), "http://one.example:1", name);
  assert.equal(through("https://hub.example", one("HTTP_PROXY")), undefined);
  assert.equal(through("http://hub.example", { ...one("HTTPS_PROXY"), ...all }), "http://all.example:1");
  assert.equal(through("https://hub.example", { ...one("HTTPS_PROXY"), ...all }), "http://one.example:1");
  assert.equal(
    through("https://hub.example", { ...one("HTTPS_PROXY"), https_proxy: "http://two.example:2" }),
    "http://two.example:2",
  );
  assert.equal(
    through("https://hub.example", { ...one("HTTPS_PROXY"), https_proxy: "" }),
    "http://one.example:1",
  );
  assert.equal(through("https://hub.example", {}), undefined);
});

test("this machine is asked straight under all its names", () => {
  const hosts = [
    "localhost",
    "LocalHost.",
    "a.localhost",
    "127.0.0.1",
    "127.9.8.7",
    "127.1",
    "0x7f000001",
    "[::1]",
    "0.0.0.0",
  ];
  for (const host of [...hosts, "[::]", "[::ffff:127.0.0.1]"])
    assert.equal(through(`http://${host}:8000/`, { ALL_PROXY: proxy }), undefined, host);
  for (const host of ["localhost.example", "128.0.0.1", "notlocalhost", "[::2]", "10.0.0.1"])
    assert.equal(through(`http://${host}:8000/`, { ALL_PROXY: proxy }), proxy, host);
});

/** What `NO_PROXY` says, who is asked straight for it, and who is not. */
const lists: readonly [list: string, straight: readonly string[], proxied: readonly string[]][] = [
  ["*", ["http://a.example", "https://10.1.1.1"], []],
  [
    "a.example",
    ["http://a.example", "https://b.a.example:9", "http://A.EXAMPLE."],
    ["http://ba.example", "http://example"],
  ],
  [".a.example", ["http://a.example", "http://b.a.example"], ["http://xa.example"]],
  ["*.a.example", ["http://b.a.example"], ["http://xa.example"]],
  [
    "a.example:8080",
    ["http://a.example:8080", "http://b.a.example:8080"],
    ["http://a.example", "http://a.example:80"],
  ],
  ["a.example:443", ["https://a.example"], ["http://a.example"]],
  ["a.example:80", ["http://a.example"], ["https://a.example"]],
  [" x.example , A.Example.  b.example,,", ["http://a.example", "http://b.example"], ["http://c.example"]],
  ["10.1.2.3", ["http://10.1.2.3", "http://0xa010203"], ["http://10.1.2.4", "http://110.1.2.3"]],
  [
    "10.0.0.0/8,192.168.7.0/24",
    ["http://10.9.9.9:1", "https://192.168.7.1"],
    ["http://11.0.0.1", "http://192.168.8.1"],
  ],
  ["10.0.0.0/99,10.0.0.0/8/8,10.0.0.0/x", [], ["http://10.0.0.0"]],
  [
    "fd00::/8,[2001:db8::1]:8000",
    ["http://[fd12::1]", "http://[2001:db8:0::1]:8000"],
    ["http://[2001:db8::1]", "http://[fe80::1]"],
  ],
  ["2001:db8::1", ["http://[2001:db8:0:0::1]:5"], ["http://[2001:db8::2]"]],
  [", ,", [], ["http://a.example"]],
];

test("hosts of NO_PROXY are asked straight: names with what is below them, ports, addresses, ranges", () => {
  for (const [list, straight, proxied] of lists)
    for (const name of ["NO_PROXY", "no_proxy"]) {
      const environment = { ALL_PROXY: proxy, [name]: list };
      for (const url of straight) assert.equal(through(url, environment), undefined, `${list}: ${url}`);
      for (const url of proxied) assert.equal(through(url, environment), proxy, `${list}: ${url}`);
    }
});

test("credentials are apart from the address, and what cannot be read is refused without a word of it", () => {
  const found = (text: string) => proxyFor(new URL("http://hub.example"), { HTTP_PROXY: text });
  const { address, authorization } = found("http://me:p%40ss%3A@proxy.example:3128") ?? assert.fail();
  assert.equal(address.href, "http://proxy.example:3128/");
  assert.equal(authorization, `Basic ${Buffer.from("me:p@ss:").toString("base64")}`);
  assert.equal(found("me:pw@proxy.example:3128")?.address.href, "http://proxy.example:3128/");
  assert.equal(found("https://proxy.example")?.address.href, "https://proxy.example/");
  assert.equal(found("proxy.example:3128")?.authorization, undefined);
  for (const wrong of [
    "socks5://me:hidden@proxy.example",
    "http://me:hidden@",
    "http://me:%hidden@p:1",
    "http://a:hidden:b@c:x",
  ]) {
    const refused = { code: "ERR_ARGUMENT", message: /^HTTP_PROXY: expected http.*Remedy/ };
    assert.throws(() => found(wrong), refused);
    assert.throws(
      () => found(wrong),
      ({ message }: Error) => !message.includes("hidden"),
    );
    assert.equal(proxyFor(new URL("http://127.0.0.1"), { HTTP_PROXY: wrong }), undefined);
  }
});
