/** A calculator as a tool. */
import { checkOptions, type OptionKinds } from "../../../base/check-options.ts";
import { zod } from "../../../base/on-first-use.ts";
import { type Tool, tool } from "../tool.ts";
import { evaluateExpression, expressionNames, formatValue } from "./expression.ts";

/** What a built-in tool may be called and say of itself. */
export interface ToolWording {
  readonly name?: string;
  readonly description?: string;
}

/** What every built-in tool takes. */
export const wordingKinds: OptionKinds<ToolWording> = { name: "string", description: "string" };

/**
 * A tool that calculates. It evaluates arithmetic only, never code.
 *
 * @param wording - `name`, `@default` "calculator", and `description`
 * @returns a tool with the input `{expression}`
 * @example
 * const { run } = toolBox([calculatorTool()]);
 * const [{ text }] = await run([{ name: "calculator", input: "(1889 - 1789) / 4", text: "" }]);
 * assert.equal(text, "25");
 */
export function calculatorTool(wording: ToolWording = {}): Tool {
  checkOptions("calculatorTool", wording, wordingKinds);
  const { name = "calculator", description = "Calculates the value of an arithmetic expression." } = wording;
  const known = `numbers, + - * / % (remainder) ^ !, parentheses, ${expressionNames.join(", ")}`;
  return tool({
    name,
    description,
    input: zod().object({
      expression: zod().string().min(1).describe(`may have ${known}; angles in radians`),
    }),
    run: ({ expression }) => formatValue(evaluateExpression(expression)),
  });
}
