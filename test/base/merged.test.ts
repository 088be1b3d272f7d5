/** Several generators as one: order, failures, leaving. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { merged } from "../../lib/base/streamed.ts";

/** Counts upwards, and tells when it is left. */
async function* counting(
  name: string,
  { length, pauses = 0, onLeft }: { length: number; pauses?: number; onLeft?: (name: string) => void },
): AsyncGenerator<string, void, undefined> {
  try {
    for (let i = 0; i < length; i++) {
      for (let pause = 0; pause < pauses; pause++) await turn();
      yield `${name}${i}`;
    }
  } finally {
    onLeft?.(name);
  }
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

test("each generator's items come in its order, and none is held up by a slower one", async () => {
  const items = await all(
    merged([
      counting("a", { length: 3, pauses: 9 }),
      counting("b", { length: 5 }),
      counting("c", { length: 0 }),
    ]),
  );
  assert.deepEqual([...items].sort(), ["a0", "a1", "a2", "b0", "b1", "b2", "b3", "b4"]);
  for (const name of ["a", "b"]) {
    const own = items.filter((item) => item.startsWith(name));
    assert.deepEqual(own, [...own].sort());
  }
  assert.ok(items.indexOf("b4") < items.indexOf("a0"));
});

test("leaving early, and the failure of one, leaves all", async () => {
  for (const fails of [false, true]) {
    const left: string[] = [];
    const onLeft = (name: string): void => void left.push(name);
    const failing = (async function* () {
      yield "c";
      throw new Error("one of them");
    })();
    const endless = ["a", "b"].map((name) => counting(name, { length: 1e9, pauses: 1, onLeft }));
    const reading = async (): Promise<void> => {
      let numRead = 0;
      for await (const _ of merged(fails ? [...endless, failing] : endless))
        if (++numRead === 7 && !fails) return;
    };
    if (fails) await assert.rejects(reading, /one of them/);
    else await reading();
    assert.deepEqual(left.sort(), ["a", "b"]);
  }
});

test("no generator is ahead of its reader by more than one item", async () => {
  let numMade = 0;
  const source = async function* (): AsyncGenerator<number, void, undefined> {
    for (;;) yield numMade++;
  };
  const items = merged([source(), source()]);
  for (let i = 0; i < 10; i++) await items.next();
  for (let i = 0; i < 10; i++) await turn();
  assert.ok(numMade <= 12, `${numMade} made for 10 read`);
  await items.return();
});
