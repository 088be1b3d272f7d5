/** Jinja as Python runs it: the library's interpreter, with the places corrected where they differ. */
import { Environment, Interpreter } from "@huggingface/jinja";
import { equals, escapeHtml, type JinjaValue, str, strip } from "./python-values.ts";
import { checkJoin, checkNumbers, replaceText, sizeOf, stepsOfBlock, WorkCount } from "./template-work.ts";

/** A node of the syntax tree; only what is looked at here. */
export interface Node {
  readonly type: string;
  readonly value?: unknown;
  readonly [key: string]: unknown;
}

/** The interpreter's methods that are corrected; the library declares most of them private. */
interface Base {
  evaluate(node: Node | undefined, scope: Environment): JinjaValue;
  evaluateBlock(nodes: readonly Node[], scope: Environment): JinjaValue;
  evaluateFor(node: Node, scope: Environment): JinjaValue;
  evaluateBinaryExpression(node: Node, scope: Environment): JinjaValue;
  evaluateMemberExpression(node: Node, scope: Environment): JinjaValue;
  evaluateTestExpression(node: Node, scope: Environment): JinjaValue;
  evaluateCallExpression(node: Node, scope: Environment): JinjaValue;
  applyFilter(operand: JinjaValue, filter: Node, scope: Environment): JinjaValue;
}

const BaseInterpreter = Interpreter as unknown as new (scope: Environment) => Base;

/** A JavaScript value as a value of the runtime. */
function toValue(value: unknown): JinjaValue {
  return new Environment().set("value", value) as unknown as JinjaValue;
}

/** A node whose value is known, so that an operand is evaluated once only. */
function given(value: JinjaValue): Node {
  return { type: "Given", value };
}

function listOf(items: readonly JinjaValue[]): JinjaValue {
  const list = toValue([]);
  (list.value as JinjaValue[]).push(...items);
  return list;
}

const silentNodes = new Set(["Set", "Macro", "Comment"]);
const lazyFilters = new Set(["map", "select", "reject", "selectattr", "rejectattr", "unique", "items"]);
const stripSides = new Map<unknown, "both" | "left" | "right">([
  ["strip", "both"],
  ["lstrip", "left"],
  ["rstrip", "right"],
]);

/** What Jinja's filters make of an undefined value. */
const filtersOfUndefined = new Map<string, unknown>([
  ["length", 0],
  ["count", 0],
  ["list", []],
]);
const textFilters = new Set([
  "trim",
  "upper",
  "lower",
  "title",
  "capitalize",
  "string",
  "indent",
  "replace",
  "join",
]);

/** Nodes whose value is made anew, so that it costs by its size; others only name what is there. */
const makingNodes = new Set([
  "CallExpression",
  "FilterExpression",
  "BinaryExpression",
  "ArrayLiteral",
  "MemberExpression",
]);

/** Runs one rendering; what takes too much work ends with ERR_FORMAT. */
export class PythonInterpreter extends BaseInterpreter {
  readonly #work = new WorkCount();
  /** Text marked safe: joining it with other text escapes the other. */
  readonly #markup = new WeakSet<JinjaValue>();
  /** Results that are generators in Python: they have no length and are no JSON. */
  readonly #lazy = new WeakSet<JinjaValue>();

  override evaluate(node: Node | undefined, scope: Environment): JinjaValue {
    this.#work.add(1);
    if (node?.type === "Given") return node.value as JinjaValue;
    if (node?.type !== "TupleLiteral") return this.#charge(node, super.evaluate(node, scope));
    return listOf((node.value as Node[]).map((item) => this.evaluate(item, scope)));
  }

  #charge(node: Node | undefined, value: JinjaValue): JinjaValue {
    const isSlice = node?.type !== "MemberExpression" || (node.property as Node).type === "SliceExpression";
    if (node !== undefined && isSlice && makingNodes.has(node.type)) this.#work.add(sizeOf(value));
    return value;
  }

  override evaluateBlock(nodes: readonly Node[], scope: Environment): JinjaValue {
    this.#work.add(stepsOfBlock);
    let text = "";
    for (const node of nodes) {
      const value = this.evaluate(node, scope);
      if (!silentNodes.has(node.type)) text += str(value);
    }
    return toValue(text);
  }

  override evaluateFor(node: Node, scope: Environment): JinjaValue {
    const iterable = node.iterable as Node;
    const isFiltered = iterable.type === "SelectExpression";
    const source = (isFiltered ? iterable.lhs : iterable) as Node;
    let value = this.evaluate(source, scope);
    if (value.type === "UndefinedValue") value = toValue([]);
    if (value.type === "StringValue") value = toValue([...(value.value as string)]);
    return super.evaluateFor(
      { ...node, iterable: isFiltered ? { ...iterable, lhs: given(value) } : given(value) },
      scope,
    );
  }

  override evaluateBinaryExpression(node: Node, scope: Environment): JinjaValue {
    const operator = (node.operator as { value: string }).value;
    if (operator === "and" || operator === "or") return super.evaluateBinaryExpression(node, scope);
    const left = this.evaluate(node.left as Node, scope);
    const right = this.evaluate(node.right as Node, scope);
    switch (operator) {
      case "==":
      case "!=":
        return toValue(equals(left, right) === (operator === "=="));
      case "in":
      case "not in":
        return toValue(isMember(left, right) === (operator === "in"));
      case "~":
        return this.#join(left, right);
      case "+":
        if (left.type === "StringValue" || right.type === "StringValue")
          return this.#concatenate(left, right);
    }
    return super.evaluateBinaryExpression({ ...node, left: given(left), right: given(right) }, scope);
  }

  #concatenate(left: JinjaValue, right: JinjaValue): JinjaValue {
    if (left.type === "StringValue" && right.type === "StringValue") return this.#join(left, right);
    throw new Error(`text can only be joined with text: got ${left.type} + ${right.type}`);
  }

  #join(left: JinjaValue, right: JinjaValue): JinjaValue {
    if (!this.#markup.has(left) && !this.#markup.has(right)) return toValue(str(left) + str(right));
    return this.#mark(
      [left, right].map((part) => (this.#markup.has(part) ? str(part) : escapeHtml(str(part)))).join(""),
    );
  }

  #mark(text: string): JinjaValue {
    const value = toValue(text);
    this.#markup.add(value);
    return value;
  }

  override evaluateMemberExpression(node: Node, scope: Environment): JinjaValue {
    const object = this.evaluate(node.object as Node, scope);
    const property = node.property as Node;
    if (object.type === "UndefinedValue") throw new Error(`${describe(node.object as Node)} is undefined`);
    const side = object.type === "StringValue" && !node.computed ? stripSides.get(property.value) : undefined;
    if (side !== undefined) return toValue((chars?: string) => strip(object.value as string, chars, side));
    if (object.type === "StringValue" && !node.computed && property.value === "replace")
      return toValue((old: string, fresh: string, count?: number) =>
        replaceText(object.value as string, old, fresh, count ?? undefined),
      );
    return super.evaluateMemberExpression({ ...node, object: given(object) }, scope);
  }

  override evaluateTestExpression(node: Node, scope: Environment): JinjaValue {
    const operand = this.evaluate(node.operand as Node, scope);
    if ((node.test as Node).value === "iterable") {
      const isIterable = ["ArrayValue", "ObjectValue", "StringValue", "UndefinedValue"].includes(
        operand.type,
      );
      return toValue(isIterable !== node.negate);
    }
    return super.evaluateTestExpression({ ...node, operand: given(operand) }, scope);
  }

  override applyFilter(operand: JinjaValue, filter: Node, scope: Environment): JinjaValue {
    const name = (filter.type === "CallExpression" ? (filter.callee as Node).value : filter.value) as string;
    if (name === "safe") return this.#mark(str(operand));
    if (name === "e" || name === "escape") {
      return this.#mark(this.#markup.has(operand) ? str(operand) : escapeHtml(str(operand)));
    }
    if (name === "string") return toValue(str(operand));
    if (name === "trim" && filter.type === "Identifier")
      return toValue(strip(str(operand), undefined, "both"));
    if (lazyFilters.has(name)) return this.#applyLazy(operand, filter, scope);
    if (this.#lazy.has(operand)) return this.#applyToLazy(operand, name, filter, scope);
    if (operand.type === "UndefinedValue") return this.#applyToUndefined(operand, name, filter, scope);
    if (filter.type === "CallExpression" || name === "sort")
      this.#checkArguments(operand, name, filter, scope);
    return super.applyFilter(operand, filter, scope);
  }

  /** Refuses what would make a very long text, before it is made. */
  #checkArguments(operand: JinjaValue, name: string, filter: Node, scope: Environment): void {
    this.#work.add(sizeOf(operand));
    const args = ((filter.args as Node[] | undefined) ?? []).map((arg) =>
      this.evaluate(arg.type === "KeywordArgumentExpression" ? (arg.value as Node) : arg, scope),
    );
    checkNumbers(name, args);
    if (name === "replace" && operand.type === "StringValue" && args.length >= 2)
      replaceText(operand.value as string, str(args[0] as JinjaValue), str(args[1] as JinjaValue));
    else if (name === "join") checkJoin(operand, args);
  }

  #applyLazy(operand: JinjaValue, filter: Node, scope: Environment): JinjaValue {
    const isNothing = operand.type === "UndefinedValue" || operand.type === "NullValue";
    const source = isNothing ? toValue([]) : operand;
    const isEmpty = source.type === "ArrayValue" && (source.value as JinjaValue[]).length === 0;
    const result = isEmpty ? listOf([]) : super.applyFilter(source, filter, scope);
    this.#lazy.add(result);
    return result;
  }

  #applyToLazy(operand: JinjaValue, name: string, filter: Node, scope: Environment): JinjaValue {
    if (name === "tojson") throw new Error("a generator is not JSON serializable: add | list");
    if (name === "length" || name === "count") throw new Error("a generator has no length: add | list");
    const list = listOf(operand.value as JinjaValue[]);
    return name === "list" ? list : super.applyFilter(list, filter, scope);
  }

  #applyToUndefined(operand: JinjaValue, name: string, filter: Node, scope: Environment): JinjaValue {
    if (filtersOfUndefined.has(name)) return toValue(filtersOfUndefined.get(name));
    if (textFilters.has(name)) return toValue("");
    if (name === "first" || name === "last") return toValue(undefined);
    if (name === "tojson") throw new Error("an undefined value is not JSON serializable");
    return super.applyFilter(operand, filter, scope);
  }
}

function isMember(item: JinjaValue, container: JinjaValue): boolean {
  switch (container.type) {
    case "UndefinedValue":
      return false;
    case "ArrayValue":
      return (container.value as JinjaValue[]).some((other) => equals(item, other));
    case "ObjectValue":
      return (
        item.type === "StringValue" && (container.value as Map<string, unknown>).has(item.value as string)
      );
    case "StringValue":
      if (item.type === "StringValue") return (container.value as string).includes(item.value as string);
  }
  throw new Error(`cannot look for ${item.type} in ${container.type}`);
}

/** A short name for an expression in an error. */
function describe(node: Node): string {
  if (node.type === "Identifier") return `'${node.value}'`;
  if (node.type === "MemberExpression") return `'${(node.property as Node).value}'`;
  return "a value";
}
