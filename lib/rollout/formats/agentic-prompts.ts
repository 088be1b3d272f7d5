/** Agentic-RAG-R1's prompts: the meaning of its actions, its tools, and the replies to its mistakes. */

/** The languages of our wording. */
export type AgenticLanguage = "en" | "zh";

/** A tool as the policy reads of it. */
export interface AgenticTool {
  /** What a query is labelled with. */
  readonly name: string;
  /** One sentence. */
  readonly description: string;
}

/** What the instructions depend on. */
interface AgenticInstructions {
  readonly language: AgenticLanguage;
  readonly tools: readonly AgenticTool[];
  /** Queries of one search. */
  readonly maxQueries: number;
  /** Whether the policy writes the observations by itself. */
  readonly selfSearch: boolean;
  /** Whether plan, backtrack and summary are actions that the environment answers. */
  readonly hasMemory: boolean;
}

/** The environment's own sentences. */
interface AgenticReplies {
  readonly invalid: string;
  readonly failure: string;
  readonly nothing: string;
  readonly lastTurn: string;
}

/** The replies in each language; tags are named without brackets where they would make a pair. */
export const agenticReplies: Readonly<Record<AgenticLanguage, AgenticReplies>> = {
  en: {
    invalid:
      "\nThat was no valid action. Write one action between its tags, and end with an answer. Go on.\n",
    failure: "The search failed, nothing was found. Search again or go on without it.",
    nothing: "Nothing was found.",
    lastTurn: "\nNo step is left. Give the answer now.\n",
  },
  zh: {
    invalid: "\n上一步没有有效的动作。请把一个动作写在它的标签里,最后给出答案。请继续。\n",
    failure: "检索失败,没有找到任何内容。请重新检索,或不再依赖它继续。",
    nothing: "没有找到任何内容。",
    lastTurn: "\n已经没有剩余步骤。现在请给出答案。\n",
  },
};

/**
 * The instructions before a question.
 *
 * @param options - language, tools, and what is possible
 * @returns our own wording of Agentic-RAG-R1's system prompt
 */
export function agenticInstructions(options: AgenticInstructions): string {
  return options.language === "zh" ? inChinese(options) : inEnglish(options);
}

function inEnglish({ tools, maxQueries, selfSearch, hasMemory }: AgenticInstructions): string {
  const [tool] = tools;
  const several =
    maxQueries > 1
      ? ` Up to ${maxQueries} queries may stand in one search, each on a line of its own behind the name of its tool; they are asked at once.`
      : "";
  const search = selfSearch
    ? "what you have to look up, in a few keywords"
    : `the name of a tool in brackets, then keywords, as in [${tool?.name}] keywords; ask for one fact at a time.${several}`;
  const observation = selfSearch
    ? "what you yourself remember about the search. There is no tool: write it right behind each search, and only what you are sure of"
    : "what the tools found. It is written for you after each search; never write one";
  const forgotten = hasMemory
    ? [
        " The search and what it found are then taken out of your sight.",
        " The steps it sums up are then taken out of your sight, so leave out nothing you still need.",
      ]
    : ["", ""];
  return [
    "You answer a question in steps. Each step is an action between its tags, and nothing stands outside of tags:",
    ...(hasMemory
      ? [
          "<plan> what has to be found out, and in which order. Write it first, and again when it has to change. </plan>",
        ]
      : []),
    "<reasoning> what you think about what is known and what to do next. </reasoning>",
    `<search> ${search} </search>`,
    `<observation> ${observation}. </observation>`,
    `<backtrack> when a step led nowhere: what was wrong with it, and what you will do instead.${forgotten[0]} </backtrack>`,
    `<summary> when there is much to read: all that you have found out, in few words.${forgotten[1]} </summary>`,
    "<answer> the answer alone, in as few words as it needs. It comes once, at the end. </answer>",
    "Actions other than the answer may come in any number and order. Write the tags exactly as they stand here, and never one inside of another.",
    ...(selfSearch ? [] : ["Tools:", ...tools.map(({ name, description }) => `- [${name}] ${description}`)]),
  ].join("\n");
}

function inChinese({ tools, maxQueries, selfSearch, hasMemory }: AgenticInstructions): string {
  const [tool] = tools;
  const several =
    maxQueries > 1
      ? `一次检索最多可写 ${maxQueries} 个查询,每个查询单独一行,行首写明工具,它们会同时执行。`
      : "";
  const search = selfSearch
    ? "需要查找的内容,用几个关键词写出"
    : `方括号中的工具名,然后是关键词,例如 [${tool?.name}] 关键词;每个查询只问一件事。${several}`;
  const observation = selfSearch
    ? "你自己记得的、与检索有关的内容。没有外部工具:每次检索之后由你自己写出,只写有把握的内容"
    : "工具找到的内容。它会在每次检索之后自动给出,你不要自己写";
  const forgotten = hasMemory
    ? [
        "随后这次检索和它的结果会从上下文中移除。",
        "随后被总结的步骤会从上下文中移除,因此不要漏掉仍然需要的内容。",
      ]
    : ["", ""];
  return [
    "请分步骤回答问题。每一步是一个写在标签里的动作,标签之外不写任何内容:",
    ...(hasMemory ? ["<plan> 需要查明什么、按什么顺序。首先写它,需要改变时再写一次。 </plan>"] : []),
    "<reasoning> 对已知内容和下一步的思考。 </reasoning>",
    `<search> ${search} </search>`,
    `<observation> ${observation}。 </observation>`,
    `<backtrack> 某一步没有帮助时:说明哪里不对,接下来改做什么。${forgotten[0]} </backtrack>`,
    `<summary> 内容太多时:用简短的话写出已经查明的一切。${forgotten[1]} </summary>`,
    "<answer> 只写答案本身,尽量简短。只出现一次,放在最后。 </answer>",
    "除答案外,各动作的次数和顺序不限。标签必须与上面完全一致,并且不能互相嵌套。",
    ...(selfSearch ? [] : ["工具:", ...tools.map(({ name, description }) => `- [${name}] ${description}`)]),
  ].join("\n");
}
