/** Which place rollouts are given, and who waits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Place, Places } from "../../../connectors/workers/places.ts";

const agent = { rollouts: async () => [] };
const place = (name: string, concurrency: number): Place => ({ name, concurrency, agent });

test("places are filled in proportion to their room", async () => {
  const [small, large] = [place("small", 4), place("large", 12)];
  const places = new Places([small, large]);
  const taken: string[] = [];
  for (let i = 0; i < 8; i += 1) taken.push((await places.enter(1, undefined)).name);
  assert.equal(taken.filter((name) => name === "small").length, 2);
});

test("who waits for room gets it in order, and more rollouts than a place holds go where nothing else runs", async () => {
  const only = place("only", 2);
  const places = new Places([only]);
  await places.enter(2, undefined);
  const order: string[] = [];
  const many = places.enter(5, undefined).then(() => order.push("many"));
  const one = places.enter(1, undefined).then(() => order.push("one"));
  places.leave(only, 1);
  await Promise.resolve();
  assert.deepEqual(order, []);
  places.leave(only, 1);
  await many;
  places.leave(only, 5);
  await one;
  assert.deepEqual(order, ["many", "one"]);
});

test("a place that is closed is passed over until it is opened, and those that wait are given others", async () => {
  const [first, second] = [place("first", 1), place("second", 1)];
  const places = new Places([first, second]);
  assert.equal(places.close(first, "broken"), true);
  assert.equal(places.close(first, "broken again"), false);
  assert.equal((await places.enter(1, undefined)).name, "second");
  const waiting = places.enter(1, undefined);
  assert.equal(places.open(first), true);
  assert.equal((await waiting).name, "first");
  const last = places.enter(1, undefined);
  places.close(first, "broken");
  places.close(second, "gone");
  await assert.rejects(last, { code: "ERR_REMOTE", message: /first: broken; second: gone/ });
});
