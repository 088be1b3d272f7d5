/** The places where users hand in objects of options, as the compiler sees them. */
import ts from "typescript";
import { declarations, dist, resolved } from "./surface.ts";

/** An object of options that somebody hands in. */
export interface OptionDoor {
  /** The call and the way into it: `rl(options)`, `rl(options).run.best`, `Encoder#embedQueries(options)`. */
  readonly name: string;
  /** The name of its type, if it has one. */
  readonly type: string;
}

/** Options within options within options; deeper there are none. */
const maxDepth = 3;

/** Every parameter of options of every public function, constructor and method, and the options within them. */
export function optionDoors(): OptionDoor[] {
  const { checker, modules } = declarations();
  const walk = new Walk(checker);
  for (const symbol of new Set(modules.flatMap(([, symbols]) => symbols)))
    walk.addExport(resolved(symbol, checker));
  return [...walk.doors.values()];
}

class Walk {
  readonly doors = new Map<string, OptionDoor>();
  readonly #checker: ts.TypeChecker;

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker;
  }

  addExport(symbol: ts.Symbol): void {
    if (!(symbol.flags & ts.SymbolFlags.Value)) return;
    const type = this.#checker.getTypeOfSymbol(symbol);
    this.#addCalls(symbol.name, type.getCallSignatures());
    if (!(symbol.flags & ts.SymbolFlags.Class)) return;
    this.#addCalls(`new ${symbol.name}`, type.getConstructSignatures());
    this.#addMembers(`${symbol.name}.`, type);
    this.#addMembers(`${symbol.name}#`, this.#checker.getDeclaredTypeOfSymbol(symbol));
  }

  #addMembers(prefix: string, type: ts.Type): void {
    for (const member of type.getProperties())
      this.#addCalls(`${prefix}${member.name}`, this.#checker.getTypeOfSymbol(member).getCallSignatures());
  }

  #addCalls(name: string, signatures: readonly ts.Signature[]): void {
    for (const parameter of signatures.flatMap((signature) => signature.getParameters())) {
      const shown = parameter.name.replace(/^__\d+$/, "options");
      for (const type of this.#alternatives(parameter))
        if (shown === "options" || this.#isOptions(type)) this.#add(`${name}(${shown})`, type, 1);
    }
  }

  #add(name: string, type: ts.Type, depth: number): void {
    if (!this.#isObject(type)) return;
    this.doors.set(name, { name, type: nameOf(type) });
    if (depth === maxDepth) return;
    for (const property of type.getProperties())
      for (const inner of this.#alternatives(property))
        if (this.#isOptions(inner)) this.#add(`${name}.${property.name}`, inner, depth + 1);
  }

  #alternatives(symbol: ts.Symbol): readonly ts.Type[] {
    const type = this.#checker.getNonNullableType(this.#checker.getTypeOfSymbol(symbol));
    return type.isUnion() ? type.types : [type];
  }

  /** Something may be left out of it, or its name says what it is. */
  #isOptions(type: ts.Type): boolean {
    if (!this.#isObject(type)) return false;
    const isOptional = ({ flags }: ts.Symbol): boolean => (flags & ts.SymbolFlags.Optional) !== 0;
    return /(Options|Limits)$/.test(nameOf(type)) || type.getProperties().some(isOptional);
  }

  /** A plain object of the package's own types: no list, no function, no instance of a class, nothing of Node's. */
  #isObject(type: ts.Type): boolean {
    if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return false;
    if (this.#checker.isArrayLikeType(type) || type.getCallSignatures().length > 0) return false;
    const [declaration] = type.symbol?.declarations ?? [];
    if (declaration === undefined) return type.isIntersection();
    if (ts.isClassDeclaration(declaration)) return false;
    return type.aliasSymbol !== undefined || declaration.getSourceFile().fileName.startsWith(dist);
  }
}

function nameOf(type: ts.Type): string {
  return (type.aliasSymbol ?? type.symbol)?.name ?? "";
}
