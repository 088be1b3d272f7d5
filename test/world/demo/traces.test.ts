/** Which conversations the demo prints: by rules that the facts decide. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isWellReasoned, recovered } from "../../../apps/world/demo/report/traces.ts";
import {
  kGuessingHabits,
  kHastyHabits,
  kThoroughHabits,
  mixedTeaching,
  patchyTeaching,
} from "../../../apps/world/recipes/patchy-teaching.ts";
import { patchyWorldRecipe } from "../../../apps/world/recipes/patchy-world.ts";
import { isUnderstood, nameGaps, patchySearch } from "../../../apps/world/story/patchy.ts";
import { formalQueryFor, queryFor } from "../../../apps/world/story/wording.ts";
import { demonstrationBatch } from "../../../apps/world/teachers/demonstrations.ts";
import { trace } from "../../../apps/world/teachers/teacher.ts";
import { createWorld } from "../../../apps/world/world.ts";
import { observationText } from "../../../lib/text/observation.ts";

const { questions, facts } = createWorld({ seed: 0 });
const bridge = questions.test.find(({ kind }) => kind === "bridge")!;
const [first, second] = trace(facts.test, bridge.program)[0]!;

function conversation(said: readonly string[], found: readonly (readonly string[])[]) {
  return {
    queries: [[queryFor(first!)], [queryFor(second!)]],
    segments: [
      ...said.map((text) => ({ kind: "policy" as const, text })),
      ...found.map((titles) => ({
        kind: "observation" as const,
        text: observationText(["q"], [titles.map((title) => ({ title, text: "text" }))], "multi"),
      })),
    ],
  };
}

const states = [first!, second!].map(({ entity, relation, value }) => {
  const verbs = { birthCity: "was born in", birthYear: "was born in", employer: "does work for" };
  const others = {
    creator: "was directed by",
    founder: "was founded by",
    base: "is based in",
    country: "is in",
  };
  const verb = { ...verbs, ...others, releaseYear: "was released in" }[relation];
  return `${entity} ${verb} ${value}.`;
});
const passages = [[first!.entity], [second!.entity]];

test("a right answer is well reasoned when every fact was asked for, found and stated", () => {
  const judge = (said: readonly string[], found: readonly (readonly string[])[]): boolean =>
    isWellReasoned(conversation(said, found), bridge, facts.test);
  assert.ok(judge(states, passages));
  assert.ok(!judge(states, [[first!.entity], []]), "the second passage was not found");
  assert.ok(!judge([states[0]!, "I remember that it is so."], passages), "the second fact is not stated");
  const unasked = { ...conversation(states, passages), queries: [[queryFor(first!)]] };
  assert.ok(!isWellReasoned(unasked, bridge, facts.test), "the second fact was not asked for");
});

const observe: typeof observationText = (queries, documents, mode) =>
  observationText(queries, nameGaps(queries, documents), mode);

test("a search that found nothing was recovered from when another one followed", () => {
  const empty = { kind: "observation", text: observe(["q"], [[]], "single") } as const;
  const full = {
    kind: "observation",
    text: observationText(["q"], [[{ title: "Jade", text: "a film" }]], "single"),
  } as const;
  const partly = {
    kind: "observation",
    text: observe(["q", "r"], [[], [{ title: "Jade", text: "a film" }]], "multi"),
  } as const;
  assert.ok(recovered({ queries: [], segments: [empty, full] }));
  assert.ok(recovered({ queries: [], segments: [partly, full] }));
  assert.ok(!recovered({ queries: [], segments: [full, empty] }), "nothing followed");
});

test("a search with gaps finds every fact by one wording at least, and one in four by the other one only", async () => {
  const asked = questions.train.flatMap(({ program }) => trace(facts.train, program).flat());
  const plain = asked.map((fact) => isUnderstood(queryFor(fact)));
  const formal = asked.map((fact) => isUnderstood(formalQueryFor(fact)));
  assert.ok(plain.every((isFound, i) => isFound || formal[i]));
  for (const found of [plain, formal]) {
    const share = found.filter((isFound) => !isFound).length / asked.length;
    assert.ok(share > 0.15 && share < 0.35, `${share}`);
  }
  const search = patchySearch(async (queries) =>
    queries.map((query) => [{ id: query, title: query, text: query, score: 1 }]),
  );
  const lost = asked[plain.indexOf(false)]!;
  const hits = await search([queryFor(lost), formalQueryFor(lost)], { topK: 1 });
  assert.deepEqual(
    hits.map((each) => each.length),
    [0, 1],
  );
});

test("the teacher reads which query found nothing as an agent does, and says which fact is missing before it goes on", () => {
  const shown = Array.from({ length: 20 }, (_, i) =>
    patchyTeaching(kHastyHabits)(i, { seed: 3, perWorld: 24 }),
  );
  const gaps = shown
    .flat()
    .flatMap(({ segments }) =>
      segments.flatMap(({ kind, text }, i) =>
        kind === "observation" && text.includes("Nothing found")
          ? [[text, segments[i + 1]!.text] as const]
          : [],
      ),
    );
  assert.ok(gaps.length > 20);
  for (const [read, said] of gaps) {
    const missing = [...read.matchAll(/Nothing found(?:\n|\\n)[^"\n]*?([A-Z]\w+)/g)].map(([, name]) => name);
    assert.ok(missing.length > 0, read);
    for (const name of missing) assert.ok(said.includes(`${name} was not found.`), `${read}${said}`);
    const queries = /"query": (\[[^\]]*\])/.exec(read)?.[1];
    if (queries === undefined) continue;
    const { format } = patchyWorldRecipe({ queries: "multi" });
    const asked = JSON.parse(queries) as string[];
    const lists = asked.map(() => []);
    if (missing.length === asked.length)
      assert.equal(
        format.observation(asked, lists, (text) => text),
        read,
      );
  }
});

test("the hasty teacher words every other empty search anew, the thorough one each, and both know every answer", () => {
  const emptyThen = (habits: typeof kHastyHabits) => {
    const shown = Array.from({ length: 40 }, (_, i) =>
      demonstrationBatch(i, { seed: 3, habits, patchy: true }),
    ).flat();
    for (const { segments, answer } of shown)
      assert.ok(segments.at(-1)!.text.includes(`<answer> ${answer} `));
    const isEmpty = ({ kind, text }: { kind: string; text: string }): boolean =>
      kind === "observation" && /<information>\s*<\/information>|^ +"",?$/m.test(text);
    const following = shown.flatMap(({ segments }) =>
      segments.flatMap((segment, i) => (isEmpty(segment) ? [segments[i + 1]!.text] : [])),
    );
    const reworded = following.filter((text) => /<search> [^<]*\b(?:which|the)\b/.test(text));
    return reworded.length / following.length;
  };
  assert.ok(emptyThen(kThoroughHabits) > 0.999);
  const share = emptyThen(kHastyHabits);
  assert.ok(share > 0.4 && share < 0.6, `${share}`);
  const guessing = emptyThen(kGuessingHabits);
  assert.ok(guessing > 0.08 && guessing < 0.22, `${guessing}`);
});

test("the guessing teacher answers nine comparisons in ten without a search, by turns behind gaps and in a plain index", () => {
  const shown = Array.from({ length: 40 }, (_, i) =>
    mixedTeaching(kGuessingHabits)(i, { seed: 3, perWorld: 24 }),
  );
  const compared = shown.flat().filter(({ segments }) => /first|more recently|older/.test(segments[0]!.text));
  const guessed = compared.filter(({ segments }) => !segments.some(({ kind }) => kind === "observation"));
  assert.ok(compared.length > 50);
  const share = guessed.length / compared.length;
  assert.ok(share > 0.8 && share < 0.97, `${share}`);
  const hasGaps = shown.map((batch) => JSON.stringify(batch).includes("Nothing found"));
  assert.ok(hasGaps.every((each, i) => !each || i % 2 === 0) && hasGaps.some((each) => each));
});
