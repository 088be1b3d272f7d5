/** The public surface as the compiler sees it: what each entry exports, and the types that nobody can import. */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { projectRoot } from "../project.ts";

/** Where the declarations stand. */
export const dist = join(projectRoot, "dist");

/** The entries of package.json: the name a user imports, and its file without ending below `dist`. */
export function entries(): Record<string, string> {
  const { exports } = JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as {
    exports: Record<string, { default: string } | string>;
  };
  const files = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === "string" ? [] : [[path.replace(/^\./, "seekrl"), target.default.slice(7, -3)]],
  );
  return Object.fromEntries(files);
}

/** A type of a public signature that no entry exports. */
export interface Unexported {
  readonly name: string;
  /** Where it stands, below `dist`. */
  readonly file: string;
  /** The way to it: an entry, a name of it, and the types between. */
  readonly usedBy: string;
}

/** What users can import, and what they would need to. */
export interface Surface {
  /** Each entry's exports: values, and types. */
  readonly names: Readonly<Record<string, { readonly values: string[]; readonly types: string[] }>>;
  readonly unexported: readonly Unexported[];
}

/** Each entry's exports, as the compiler reads them from the declarations. */
export function declarations(): {
  readonly checker: ts.TypeChecker;
  readonly modules: readonly (readonly [entry: string, exports: readonly ts.Symbol[]])[];
} {
  const files = Object.entries(entries());
  const roots = files.map(([, file]) => join(dist, `${file}.d.ts`));
  const settings = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023, types: ["node"] };
  const program = ts.createProgram(roots, { ...settings, strict: true, skipLibCheck: true });
  const checker = program.getTypeChecker();
  const modules = files.map(([entry], i) => {
    const file = program.getSourceFile(roots[i] as string);
    const module = file && checker.getSymbolAtLocation(file);
    return [entry, module ? checker.getExportsOfModule(module) : []] as const;
  });
  return { checker, modules };
}

/** Walks every public signature of the declarations, and those of the types that stand in it. */
export function surface(): Surface {
  const { checker, modules } = declarations();
  const names: Record<string, { values: string[]; types: string[] }> = {};
  const exported = new Map<ts.Symbol, string>();
  for (const [entry, symbols] of modules) {
    const isValue = (symbol: ts.Symbol): boolean =>
      (resolved(symbol, checker).flags & ts.SymbolFlags.Value) !== 0 &&
      !symbol.declarations?.some(ts.isTypeOnlyExportDeclaration);
    const namesOf = (some: readonly ts.Symbol[]): string[] => some.map(({ name }) => name).sort();
    const types = symbols.filter((symbol) => !isValue(symbol));
    names[entry] = { values: namesOf(symbols.filter(isValue)), types: namesOf(types) };
    for (const symbol of symbols) exported.set(resolved(symbol, checker), `${entry} ${symbol.name}`);
  }
  return { names, unexported: unexportedOf(exported, checker) };
}

function unexportedOf(exported: ReadonlyMap<ts.Symbol, string>, checker: ts.TypeChecker): Unexported[] {
  const found = new Map<ts.Symbol, Unexported>();
  const waiting = [...exported];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [symbol, usedBy] = next;
    for (const used of usedIn(symbol, checker)) {
      if (exported.has(used) || found.has(used)) continue;
      const place = used.declarations?.[0]?.getSourceFile().fileName ?? "";
      found.set(used, { name: used.name, file: relative(dist, place), usedBy });
      waiting.push([used, `${usedBy} > ${used.name}`]);
    }
  }
  return [...found.values()];
}

/** What a name stands for, however often it was passed on. */
export function resolved(symbol: ts.Symbol, checker: ts.TypeChecker): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** The package's own symbols that stand in a symbol's declarations; constants behind a `typeof` need no name. */
function usedIn(symbol: ts.Symbol, checker: ts.TypeChecker): Set<ts.Symbol> {
  const found = new Set<ts.Symbol>();
  const add = (node: ts.Node | undefined): void => {
    const named = node && checker.getSymbolAtLocation(node);
    const used = named && resolved(named, checker);
    const place = used?.declarations?.[0];
    if (used && place && isOwnStatement(place)) found.add(used);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTypeReferenceNode(node)) add(node.typeName);
    if (ts.isExpressionWithTypeArguments(node)) add(node.expression);
    if (ts.isImportTypeNode(node) && !node.isTypeOf) add(node.qualifier);
    ts.forEachChild(node, visit);
  };
  for (const declaration of symbol.declarations ?? []) visit(declaration);
  return found;
}

/** Stands in a file of the package itself rather than in another declaration, as a type parameter does. */
function isOwnStatement(node: ts.Node): boolean {
  const { fileName } = node.getSourceFile();
  return fileName.startsWith(`${dist}/`) && ts.isSourceFile(node.parent);
}
