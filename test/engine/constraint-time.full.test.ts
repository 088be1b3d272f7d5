/** Constraints that take long to compile, and what runs meanwhile. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Constraints } from "../../lib/engine/constraint/constraints.ts";
import { packBytes } from "../../lib/engine/vocabulary.ts";
import { letters } from "./models.ts";

const end = letters.eosIds[0]!;

/** The constraints of an engine over the letters, one of which takes far longer to compile than it may. */
function impatient(t: TestContext): Constraints {
  const vocabulary = { ...packBytes(letters), vocabSize: letters.vocabSize };
  const constraints = new Constraints(letters, vocabulary, { compileMs: { quick: 2000, slow: 4000 } });
  t.after(() => constraints.close());
  return constraints;
}

const endless = { regex: "(a|b|c)?".repeat(10_000) };
const tooSlow = { code: "ERR_ARGUMENT", message: /not compiled within 4000 ms/ };
const idsOf = (text: string): Int32Array => Int32Array.from(text, (char) => char.charCodeAt(0) - 32);

test("a constraint that does not compile in time is refused, and texts that are followed go on", async (t) => {
  const constraints = impatient(t);
  const follow = () => constraints.open({ regex: "(ab|cd)*x" }, [end]);
  const [disturbed, alone] = [await follow(), await follow()];
  const masks = [await alone.next(idsOf("a")), await alone.next(idsOf("bc")), await alone.next(idsOf("d"))];
  assert.deepEqual(await disturbed.next(idsOf("a")), masks[0]);
  const refused = assert.rejects(constraints.open(endless, [end]), tooSlow);
  assert.deepEqual(await disturbed.next(idsOf("bc")), masks[1]);
  await refused;
  assert.deepEqual(await disturbed.next(idsOf("d")), masks[2]);
  await assert.rejects(constraints.open(endless, [end]), tooSlow);
  const later = await constraints.open({ regex: "y" }, [end]);
  await later.next(new Int32Array());
});

test("a constraint that nobody waits for any more before it begins to compile is left out", async (t) => {
  const constraints = impatient(t);
  const compiling = assert.rejects(constraints.open(endless, [end]), tooSlow);
  const controller = new AbortController();
  const given = constraints.open({ regex: "(a|b|d)?".repeat(10_000) }, [end], controller.signal);
  controller.abort();
  await assert.rejects(given, { code: "ERR_ABORTED" });
  await compiling;
  await (await constraints.open({ regex: "y" }, [end])).next(new Int32Array());
});
