/** The TypeScript of the pages holds in a project as strict as the one that `seekrl init` writes. */
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import ts from "typescript";
import { entries } from "../package/surface.ts";
import { projectRoot } from "../project.ts";
import { type CodeBlock, codeBlocks } from "./code-blocks.ts";

/** What pieces of pages go on from, as the README says: a program's own parts, servers of its machine, test doubles. */
const scope = `
declare const model: import("seekrl").Model;
declare const tokenizer: import("seekrl").Tokenizer;
declare const engine: import("seekrl").Engine;
declare const sequence: import("seekrl").EngineSequence;
declare const chatTemplate: import("seekrl").ChatTemplate;
declare const search: import("seekrl/search").Search;
declare const recipe: import("seekrl").Recipe;
declare const format: typeof recipe.format;
declare const limits: typeof recipe.limits;
declare const sampling: NonNullable<typeof recipe.sampling>;
declare const reward: typeof recipe.reward;
declare const agent: ReturnType<typeof import("seekrl").searchAgent>;
declare const myAgent: (...asked: Parameters<import("seekrl/lint").LintRollout>) => Promise<import("seekrl").Trajectory>;
declare const question: import("seekrl").Question;
declare const questions: readonly import("seekrl").Question[];
declare const embedder: import("seekrl/search").HashedEmbedder;
declare const mcpPlace: Parameters<typeof import("seekrl/tools").McpServer.open>[0];
declare const apiKey: string, workerUrl: string, databaseUrl: string, elasticsearchUrl: string, qdrantUrl: string;
declare const assert: typeof import("node:assert/strict");
declare const z: typeof import("zod").z;
`;

/** Pages whose programs are whole: they import all that they use. */
const whole = ["README.md"];

/** Entry of each value that the package exports. */
const exported = new Map<string, string>();
for (const entry of Object.keys(entries()).reverse())
  for (const name of Object.keys((await import(entry)) as object)) exported.set(name, entry);

/** The block as a module: with imports of what it uses of the package and neither imports nor declares. */
function moduleOf({ file, text }: CodeBlock): string {
  const source = ts.createSourceFile("block.ts", text, ts.ScriptTarget.ES2023, true);
  const [used, declared] = [new Set<string>(), new Set<string>()];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) used.add(node.text);
    const name =
      (ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isImportSpecifier(node)) && node.name;
    if (name && ts.isIdentifier(name)) declared.add(name.text);
    ts.forEachChild(node, visit);
  };
  visit(source);
  const missing = whole.includes(file) ? [] : [...used].filter((name) => !declared.has(name));
  const imports = missing.flatMap((name) => {
    const entry = exported.get(name);
    return entry === undefined ? [] : `import { ${name} } from "${entry}"; `;
  });
  return `${imports.join("")}${text}export {};\n`;
}

test("every TypeScript block of the pages compiles under the options of the starter's tsconfig", () => {
  const folder = join(projectRoot, "dist", "blocks");
  const blocks = codeBlocks().filter(({ language }) => language === "ts");
  const files = new Map(blocks.map((block, i) => [join(folder, `${i}.ts`), moduleOf(block)]));
  files.set(join(folder, "scope.d.ts"), scope);
  const config = join(projectRoot, "starter", "tsconfig.json");
  const { compilerOptions } = ts.readConfigFile(config, ts.sys.readFile).config as {
    compilerOptions: object;
  };
  const { options } = ts.parseJsonConfigFileContent({ compilerOptions, files: [] }, ts.sys, dirname(config));
  const checked = { ...options, noEmit: true, skipLibCheck: true, rootDir: projectRoot };
  const host = ts.createCompilerHost(checked);
  const [read, exists] = [host.getSourceFile, host.fileExists];
  host.fileExists = (name) => files.has(name) || exists(name);
  host.getSourceFile = (name, target) => {
    const text = files.get(name);
    return text === undefined ? read(name, target) : ts.createSourceFile(name, text, target);
  };
  const program = ts.createProgram([...files.keys()], checked, host);
  const wrong = ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const page = blocks[[...files.keys()].indexOf(file?.fileName ?? "")]?.file ?? file?.fileName;
    const line = file?.text.slice(file.text.lastIndexOf("\n", start) + 1, file.text.indexOf("\n", start));
    return `${page}: ${line}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  });
  assert.deepEqual(wrong, []);
  assert.ok(blocks.length > 40);
});
