/** Chat templates against Python's jinja2, set up as transformers sets it up. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { SeekError } from "../../lib/base/errors.ts";
import { ChatTemplate, type Message } from "../../lib/text/templates/chat-template.ts";
import { readGolden } from "./fixtures.ts";

interface Rendering {
  readonly template: string;
  readonly case: string;
  readonly tools: boolean;
  readonly addGenerationPrompt: boolean;
  readonly output?: string;
  readonly error?: string;
}

const golden = readGolden<{
  readonly templates: Readonly<Record<string, string>>;
  readonly conversations: Readonly<Record<string, readonly Message[]>>;
  readonly tool: object;
  readonly variables: Readonly<Record<string, string>>;
  readonly results: readonly Rendering[];
}>("chat.json");

function render(rendering: Rendering): string {
  const template = new ChatTemplate(golden.templates[rendering.template] as string, golden.variables);
  return template.render(golden.conversations[rendering.case] as Message[], {
    addGenerationPrompt: rendering.addGenerationPrompt,
    ...(rendering.tools ? { tools: [golden.tool] } : {}),
  });
}

const isRefused = (error: unknown): boolean => error instanceof SeekError && error.code === "ERR_ARGUMENT";

for (const name of Object.keys(golden.templates)) {
  test(`the template "${name}" renders, or refuses, as in Python`, () => {
    const renderings = golden.results.filter(({ template }) => template === name);
    assert.ok(renderings.length > 0);
    for (const rendering of renderings) {
      if (rendering.output === undefined)
        assert.throws(() => render(rendering), isRefused, JSON.stringify(rendering));
      else assert.equal(render(rendering), rendering.output, JSON.stringify(rendering));
    }
  });
}

test("a refusal carries the template's own words", () => {
  const template = new ChatTemplate("{{ raise_exception('no system role') }}");
  assert.throws(() => template.render([]), {
    code: "ERR_ARGUMENT",
    message: "chat template: no system role",
  });
});

test("a template that loops on and on is refused, as is a range that Python's sandbox refuses", () => {
  const endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
  for (const [source, message] of [
    [endless, /expected to end within 4,000,000 steps|took over/],
    ["{{ range(100001) }}", /range: expected at most 100000 numbers, got 100001/],
  ] as const) {
    const template = new ChatTemplate(source);
    assert.throws(() => template.render([]), { code: "ERR_FORMAT", message });
  }
});

test("what is not Jinja is refused when it is loaded", () => {
  assert.throws(() => new ChatTemplate("{% if %}"), { code: "ERR_FORMAT" });
});

test("the date is the template's own unless a time is given", () => {
  const template = new ChatTemplate(
    "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}{% else %}old{% endif %}",
  );
  assert.equal(template.render([]), "old");
  assert.equal(template.render([], { now: new Date("2031-02-03T04:05:06Z") }), "03 Feb 2031");
});

test("a folder's template is found in each place it may stand, the newer form first", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  const rendered = async (tools?: object[]): Promise<string | undefined> =>
    (await ChatTemplate.load(folder))?.render([], tools === undefined ? {} : { tools });
  try {
    assert.equal(await rendered(), undefined);
    const named = [
      { name: "default", template: "named {{ eos_token }}" },
      { name: "tool_use", template: "with {{ tools | length }} tool" },
    ];
    const config = { eos_token: { content: "</s>" }, chat_template: named };
    await writeFile(join(folder, "tokenizer_config.json"), JSON.stringify(config));
    assert.equal(await rendered(), "named </s>");
    assert.equal(await rendered([golden.tool]), "with 1 tool");
    await mkdir(join(folder, "chat_templates"));
    await writeFile(join(folder, "chat_templates", "default.jinja"), "folder {{ eos_token }}");
    assert.equal(await rendered(), "folder </s>");
    await writeFile(join(folder, "chat_template.jinja"), "file {{ eos_token }}");
    assert.equal(await rendered(), "file </s>");
  } finally {
    await rm(folder, { recursive: true });
  }
});
