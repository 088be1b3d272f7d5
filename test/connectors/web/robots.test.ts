/** The examples and rules of RFC 9309. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRobots } from "../../../connectors/web/robots.ts";

function allowed(text: string, agent: string, ...paths: string[]): boolean[] {
  return paths.map((path) => parseRobots(text, agent).allows(path));
}

// RFC 9309, 5.1.
const simple = `User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
`;

test("the example of the standard is read as the standard says", () => {
  const paths = [
    "/example/page.html",
    "/example/allowed.gif",
    "/a.gif",
    "/a.gif?x",
    "/publications/1",
  ] as const;
  assert.deepEqual(allowed(simple, "other", ...paths), [false, false, false, true, true]);
  assert.deepEqual(allowed(simple, "FooBot", ...paths), [true, true, false, false, false]);
  for (const agent of ["barbot", "BazBot"]) {
    assert.deepEqual(allowed(simple, agent, ...paths), [false, true, true, true, true]);
  }
  assert.deepEqual(allowed(simple, "quxbot", ...paths), [true, true, true, true, true]);
});

test("the longest path wins, and allow wins among equals", () => {
  // RFC 9309, 5.2.
  const longest = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
  assert.deepEqual(allowed(longest, "foobot", "/example/page/disallowed.gif", "/example/page/a"), [
    false,
    true,
  ]);
  assert.deepEqual(allowed("User-agent: *\nDisallow: /a\nAllow: /a", "x", "/a"), [true]);
});

test("stars and ends match as they should", () => {
  const text =
    "User-agent: *\nDisallow: /*/secret*.html$\nDisallow: /x*y*z\nDisallow: /caf%C3%A9\nDisallow: /end$\n";
  const paths = [
    "/a/secret1.html",
    "/a/secret1.html?q",
    "/secret.html",
    "/x--y--z--",
    "/x--z--y",
    "/café",
    "/end",
    "/ending",
  ];
  assert.deepEqual(allowed(text, "x", ...paths), [false, true, true, false, true, false, false, true]);
});

test("names with versions, groups that repeat, line ends of any kind and broken lines are read", () => {
  const text =
    "user-agent: seekrl/2.0\r\ndisallow: /a\rnonsense\n: :\nUSER-AGENT: SeekRL\nDISALLOW: /b # why\nDisallow:\n";
  assert.deepEqual(allowed(text, "SeekRL", "/a", "/b", "/c"), [false, false, true]);
  assert.deepEqual(allowed("", "SeekRL", "/"), [true]);
  assert.deepEqual(allowed("Disallow: /", "SeekRL", "/"), [true]);
  assert.deepEqual(allowed("User-agent: *\nDisallow: /", "SeekRL", "/robots.txt", "/"), [true, false]);
});
