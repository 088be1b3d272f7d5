/** How models write what is no plain text: their reasoning and their calls of functions. */
import { SeekError } from "../../../lib/base/errors.ts";

/** The marks around a part of a reply. */
export interface Marks {
  readonly begin: string;
  readonly end: string;
}

/** A function that a model may call. */
export interface CallableFunction {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON schema of its arguments, an object. */
  readonly parameters?: object | undefined;
}

/** How a call is written. */
export interface CallForm {
  /**
   * `object`: a JSON object of the name and the arguments, or a list of them. `named`: the name, a mark and the arguments as
   * JSON. `parameters`: an element of XML for each argument.
   */
  readonly kind: "object" | "named" | "parameters";
  /** What begins each call, or the list of all. */
  readonly begin: string;
  /** What ends each call, or the list of all; nothing where the text ends with it. */
  readonly end: string;
  /** Around all calls, where that is a mark of its own. */
  readonly all?: Marks;
  /** `object`: the key of the arguments, as models write it. @default "arguments" */
  readonly argumentsKey?: string;
  /** `object`: the key of the name. @default "name" */
  readonly nameKey?: string;
  /** `object`: the key of a number that models write before the name. */
  readonly idKey?: string;
  /** `object`: all calls are one list. */
  readonly isList?: boolean;
  /** `object`: a text that begins with an object is a call without the mark, if it names a function that there is. */
  readonly isBare?: boolean;
  /** `named`: what stands before the name, before an id, before the arguments and behind them. */
  readonly words?: {
    readonly before?: string;
    readonly idMark?: string;
    readonly between: string;
    readonly behind?: string;
  };
  /** What stands between two calls, as models write it. */
  readonly separator: string;
}

/** How a model writes its replies. */
export interface ReplyFormat {
  readonly name: string;
  /** The marks around reasoning, which may begin a reply. */
  readonly reasoning: Marks;
  readonly calls: CallForm;
  /** Marks around the answer, which are left out. */
  readonly silent?: readonly string[];
}

const think: Marks = { begin: "<think>", end: "</think>" };
const mistralThink: Marks = { begin: "[THINK]", end: "[/THINK]" };
const mistralCall = { begin: "[TOOL_CALLS]", end: "" };
const deepseekCall = {
  kind: "named",
  all: { begin: "<｜tool▁calls▁begin｜>", end: "<｜tool▁calls▁end｜>" },
  begin: "<｜tool▁call▁begin｜>",
  end: "<｜tool▁call▁end｜>",
} as const;

const hermes: CallForm = {
  kind: "object",
  begin: "<tool_call>",
  end: "</tool_call>",
  separator: "\n",
};

/** The formats by name, each with what its chat templates contain; the first that is found is taken. */
const formats: readonly (ReplyFormat & { readonly signs: readonly string[] })[] = [
  {
    name: "deepseek-r1",
    signs: ["<｜tool▁calls▁begin｜>", "```json"],
    reasoning: think,
    calls: {
      ...deepseekCall,
      words: { before: "function<｜tool▁sep｜>", between: "\n```json\n", behind: "\n```" },
      separator: "\n",
    },
  },
  {
    name: "deepseek-v3.1",
    signs: ["<｜tool▁calls▁begin｜>"],
    reasoning: think,
    calls: { ...deepseekCall, words: { between: "<｜tool▁sep｜>" }, separator: "" },
  },
  {
    name: "mistral-call-id",
    signs: ["[TOOL_CALLS]", "[CALL_ID]"],
    reasoning: mistralThink,
    calls: {
      ...mistralCall,
      kind: "named",
      words: { idMark: "[CALL_ID]", between: "[ARGS]" },
      separator: "",
    },
  },
  {
    name: "mistral-args",
    signs: ["[TOOL_CALLS]", "[ARGS]"],
    reasoning: mistralThink,
    calls: { ...mistralCall, kind: "named", words: { between: "[ARGS]" }, separator: "" },
  },
  {
    name: "mistral",
    signs: ["[TOOL_CALLS]"],
    reasoning: mistralThink,
    calls: { ...mistralCall, kind: "object", isList: true, separator: ", " },
  },
  {
    name: "command-r7b",
    signs: ["<|START_ACTION|>"],
    reasoning: { begin: "<|START_THINKING|>", end: "<|END_THINKING|>" },
    calls: {
      kind: "object",
      isList: true,
      begin: "<|START_ACTION|>",
      end: "<|END_ACTION|>",
      idKey: "tool_call_id",
      nameKey: "tool_name",
      argumentsKey: "parameters",
      separator: ",\n",
    },
    silent: ["<|START_RESPONSE|>", "<|END_RESPONSE|>"],
  },
  {
    name: "qwen3-coder",
    signs: ["<tool_call>", "<function=", "<parameter="],
    reasoning: think,
    calls: { ...hermes, kind: "parameters" },
  },
  {
    name: "functionary",
    signs: ["<function=", "</function>"],
    reasoning: think,
    calls: {
      kind: "named",
      begin: "<function=",
      end: "</function>",
      words: { between: ">" },
      separator: "",
    },
  },
  {
    name: "phi4",
    signs: ["<|tool_call|>", "<|/tool_call|>"],
    reasoning: think,
    calls: { ...hermes, begin: "<|tool_call|>", end: "<|/tool_call|>", separator: "" },
  },
  {
    name: "granite",
    signs: ["<|tool_call|>"],
    reasoning: think,
    calls: { kind: "object", isList: true, begin: "<|tool_call|>", end: "", separator: ", " },
  },
  { name: "hermes", signs: ["<tool_call>"], reasoning: think, calls: hermes },
  {
    name: "llama3",
    signs: ["<|start_header_id|>ipython<|end_header_id|>", '"parameters": '],
    reasoning: think,
    calls: {
      kind: "object",
      begin: "<|python_tag|>",
      end: "",
      argumentsKey: "parameters",
      isBare: true,
      separator: "; ",
    },
  },
];

/** What is read where a template says nothing of functions. */
const generic: ReplyFormat = { name: "generic", reasoning: think, calls: hermes };

/** The names that {@link replyFormatNamed} knows. */
export const replyFormatNames: readonly string[] = [...formats.map(({ name }) => name), generic.name];

/**
 * The format in which a model writes its replies, as its chat template tells.
 *
 * @param source - the template for conversations with functions; nothing where the model has none
 * @returns the format; `generic`, which is Hermes', where the template has none that is known (Gemma's `tool_code` is none)
 * @example
 * replyFormatOf("{{ '<tool_call>' }}").name; // "hermes"
 */
export function replyFormatOf(source = ""): ReplyFormat {
  return formats.find(({ signs }) => signs.every((sign) => source.includes(sign))) ?? generic;
}

/**
 * @param name - of a format
 * @throws ERR_ARGUMENT for an unknown one
 */
export function replyFormatNamed(name: string): ReplyFormat {
  const format = [...formats, generic].find((each) => each.name === name);
  if (format !== undefined) return format;
  throw new SeekError(
    "ERR_ARGUMENT",
    `reply format: expected one of ${replyFormatNames.join(", ")}, got "${name}"`,
  );
}

/** All marks of a format: tokens with these texts have to be kept when ids become text. */
export function marksOf({ reasoning, calls, silent = [] }: ReplyFormat): string[] {
  const { begin, end, all, words } = calls;
  const between = [words?.before, words?.idMark, words?.between].flatMap(
    (word) => word?.match(/<.*>|\[.*\]/) ?? [],
  );
  const marks = [
    reasoning.begin,
    reasoning.end,
    begin,
    end,
    all?.begin ?? "",
    all?.end ?? "",
    ...between,
    ...silent,
  ];
  return [...new Set(marks.filter((mark) => mark !== ""))];
}
