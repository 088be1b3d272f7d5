/** What the documentation says of the command line is true: commands, flags, configuration files, links. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { commands } from "../lib/cli/commands.ts";
import { flagName } from "../lib/cli/flags.ts";
import { projectRoot } from "./project.ts";

const docs = readdirSync(join(projectRoot, "docs")).map((file) => join("docs", file));
const pages = ["README.md", "ARCHITECTURE.md", ...docs]
  .filter((file) => file.endsWith(".md"))
  .map((file) => ({ file, text: readFileSync(join(projectRoot, file), "utf8") }));

const calls = pages.flatMap(({ file, text }) =>
  [...text.matchAll(/^npx seekrl (\w+)(.*)$/gm)].map(([call, name = "", rest = ""]) => {
    return { call, command: commands.find((each) => each.name === name), rest, page: text, file };
  }),
);

test("every command has an example, and every example's flags exist", () => {
  for (const { call, command, rest, file } of calls) {
    assert.ok(command, `${file}: ${call}`);
    const known = [...Object.keys(command.options.shape).map(flagName), "--config", "--json"];
    for (const [flag] of rest.matchAll(/--[a-z-]+/g)) assert.ok(known.includes(flag), `${file}: ${flag}`);
  }
  const shown = new Set(calls.map(({ command }) => command?.name));
  assert.deepEqual(
    commands.map(({ name }) => name).filter((name) => !shown.has(name)),
    [],
  );
});

test("every configuration file that is shown is one its command accepts", () => {
  let count = 0;
  for (const { command, rest, page } of calls) {
    const [, name] = /--config (\S+)/.exec(rest) ?? [];
    if (name === undefined || command === undefined) continue;
    const [, yaml] = new RegExp(`\`\`\`yaml\\n# ${name}\\n([^\`]*)\`\`\``).exec(page) ?? [];
    assert.ok(yaml, `${name} is shown`);
    const { error } = command.options.safeParse(parse(yaml));
    assert.equal(error, undefined);
    count += 1;
  }
  assert.ok(count >= 2);
});

test("every link to a file of the project leads somewhere", () => {
  for (const { file, text } of pages) {
    for (const [, target = ""] of text.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
      assert.ok(existsSync(join(projectRoot, dirname(file), target)), `${file}: ${target}`);
    }
  }
});
