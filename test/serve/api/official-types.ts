/** The fields of types in the declarations that official clients are shipped with. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { projectRoot } from "../../project.ts";

/** A field of a type. */
export interface OfficialField {
  readonly name: string;
  readonly isOptional: boolean;
}

function declared(file: string): Map<string, ts.InterfaceDeclaration> {
  const text = readFileSync(join(projectRoot, "node_modules", file), "utf8");
  const found = new Map<string, ts.InterfaceDeclaration>();
  const visit = (node: ts.Node, prefix: string): void => {
    if (ts.isInterfaceDeclaration(node)) found.set(prefix + node.name.text, node);
    else if (ts.isModuleDeclaration(node) && node.body && ts.isModuleBlock(node.body))
      for (const inner of node.body.statements) visit(inner, `${prefix}${node.name.text}.`);
  };
  for (const node of ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true).statements)
    visit(node, "");
  return found;
}

const files = new Map<string, Map<string, ts.InterfaceDeclaration>>();

/**
 * The fields of a type, those that it inherits within its file included.
 *
 * @param file - of `node_modules`
 * @param type - its name, within namespaces: `Outer.Inner`
 */
export function officialFields(file: string, type: string): OfficialField[] {
  const types = files.get(file) ?? declared(file);
  files.set(file, types);
  const node = types.get(type);
  if (node === undefined) throw new Error(`${file} has no ${type}`);
  const inherited = (node.heritageClauses ?? []).flatMap(({ types: bases }) =>
    bases.map(({ expression }) => expression.getText()).filter((name) => types.has(name)),
  );
  const own = node.members.flatMap((member) => {
    if (!member.name) return [];
    return [{ name: member.name.getText(), isOptional: member.questionToken !== undefined }];
  });
  return [...inherited.flatMap((name) => officialFields(file, name)), ...own];
}
