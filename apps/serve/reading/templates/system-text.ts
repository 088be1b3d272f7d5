/** What tells a model of its functions where its chat template does not. */
import type { CallableFunction } from "../reply-format.ts";
import { writeCalls } from "../write-calls.ts";
import type { TemplateFacts } from "./template-facts.ts";

const example = { name: "name_of_function", arguments: '{"name_of_argument": "value"}' };

/** A system message that lists functions, and shows how the model writes calls and how results come. */
export function systemText(
  { format, maxCalls, arguments: form, showsResults }: TemplateFacts,
  tools: readonly CallableFunction[],
): string {
  const lines = tools.map(({ name, description, parameters = {} }) =>
    JSON.stringify({ name, description, parameters }),
  );
  const several =
    form !== undefined && maxCalls === 1
      ? []
      : ["Several calls in one reply:", writeCalls(format.calls, [example, example])];
  const results = showsResults
    ? []
    : ["The results come in <tool_response></tool_response>, in the order of the calls."];
  return [
    "You can call these functions. Each line has a name, what the function does, and the JSON schema of its arguments:",
    "<tools>",
    ...lines,
    "</tools>",
    "To call a function, end your reply with the call, in this form:",
    writeCalls(format.calls, [example]),
    ...several,
    ...results,
  ].join("\n");
}
