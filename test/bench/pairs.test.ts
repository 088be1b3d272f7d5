/** The table of comparisons names programs that exist and arguments that they take. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { projectRoot } from "../project.ts";
import { benchModule } from "./modules.ts";

const { pairs } = await benchModule("pairs");
const { needs } = await benchModule("needs");
const { argumentsOf } = await benchModule("measure");
const read = (path: string): string => readFileSync(join(projectRoot, path), "utf8");
const oursOf = (bench: string): string => `bench/${bench}.ts`;
const forms = ["full", "quick"] as const;

/** Flags of an argument list that the source of a program does not read. */
function unread(args: readonly string[], source: string): string[] {
  const flags = args.filter((arg) => arg.startsWith("--")).map((arg) => arg.slice(2));
  return flags.filter((flag) => !new RegExp(`"--${flag}"|[\\s{,"]${flag}"?: `).test(source));
}

test("every comparison names a bench and a peer that exist, and needs that are known", () => {
  for (const { name, needs: wanted, ours, peer, figures } of pairs) {
    assert.ok(existsSync(join(projectRoot, oursOf(ours.bench))), `${name}: ${ours.bench}`);
    if (peer.program) assert.ok(existsSync(join(projectRoot, peer.program)), `${name}: ${peer.program}`);
    for (const need of wanted) assert.ok(need in needs, `${name}: ${need}`);
    assert.ok(figures.length > 0, name);
  }
  assert.equal(new Set(pairs.map(({ name }) => name)).size, pairs.length);
});

test("both sides of every comparison take all arguments that they are given", () => {
  for (const pair of pairs)
    for (const form of forms.filter((each) => pair[each] !== undefined)) {
      const what = `${pair.name}, ${form}`;
      assert.deepEqual(unread(argumentsOf(pair, "ours", form), read(oursOf(pair.ours.bench))), [], what);
      if (pair.peer.program === undefined) continue;
      const variants = (pair.peer.variants ?? []).flatMap(({ args = [] }) => args);
      assert.deepEqual(
        unread([...variants, ...argumentsOf(pair, "peer", form)], read(pair.peer.program)),
        [],
        what,
      );
    }
});

test("no peer's program is left out of the table", () => {
  const programs = readdirSync(join(projectRoot, "bench"), { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => /(_peer\.py|peers_faiss\.py|\/peer\.(mjs|py)|_llama\.mjs)$/.test(file));
  assert.ok(programs.length >= 10, `${programs}`);
  const sources = pairs.map(({ ours }) => read(oursOf(ours.bench))).join("\n");
  const started = new Set(pairs.map(({ peer }) => peer.program));
  for (const program of programs)
    assert.ok(started.has(`bench/${program}`) || sources.includes(program.split("/").at(-1) ?? ""), program);
});

test("a name chooses comparisons, and one that fits none is answered with those that there are", async () => {
  const { readChoice, whyNot } = await benchModule("peers");
  const { chosen, rounds, form, command } = readChoice(["--peers", "--quick", "sft"]);
  assert.ok(chosen.length >= 2 && chosen.every(({ name }) => name.includes("sft")));
  assert.deepEqual([rounds, form, command], [1, "quick", "npm run bench -- --peers --quick sft"]);
  assert.throws(() => readChoice(["--peers", "nothing like it"]), /sft: small model/);
  assert.throws(() => readChoice(["--peers", "--rounds", "0"]), /--rounds: expected a whole number/);
  assert.throws(() => readChoice(["--peers", "--fast"]), /--fast/);
  assert.equal(readChoice(["--peers", "--isa", "avx2"]).hold?.env.SEEKRL_MAX_CPU_ISA, "avx2");
  assert.throws(() => readChoice(["--peers", "--isa", "sse4"]), /--isa: expected avx2, got sse4/);
  const long = pairs.find((pair) => pair.quick === undefined);
  assert.ok(long);
  assert.equal(whyNot(long, { form: "quick", missing: {} }), "left out by --quick");
  assert.equal(whyNot(long, { form: "full", missing: {} }), undefined);
});
