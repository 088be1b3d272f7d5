/** How a pushed model is asked: with SeekRL, and where they can with transformers or peft. */
import type { CardFacts } from "./card-facts.ts";

/** Recipes that `--recipe` takes by their names. */
function recipeFlag({ training }: CardFacts): string {
  const name = training?.recipe?.name;
  return name === undefined || name === "world" ? "" : ` --recipe ${name}`;
}

function python({ id, library }: CardFacts): string {
  const [module, model] =
    library === "peft" ? ["peft", "AutoPeftModelForCausalLM"] : ["transformers", "AutoModelForCausalLM"];
  const lines =
    module === "peft"
      ? [`from peft import ${model}`, "from transformers import AutoTokenizer"]
      : [`from transformers import ${model}, AutoTokenizer`];
  return [
    ...[...lines, ""],
    `model = ${model}.from_pretrained("${id}")`,
    `tokenizer = AutoTokenizer.from_pretrained("${id}")`,
  ].join("\n");
}

/** Commands and programs, as Markdown. */
export function usageText(facts: CardFacts): string {
  // Of its own world's films alone a model of a world knows how to find something.
  const film = facts.training?.recipe?.name === "world" ? "Nightwinter" : "Nosferatu";
  const ask = `npx seekrl ask "Who directed ${film}?" --model ${facts.id}${recipeFlag(facts)} --index INDEX`;
  const seekrl = `With an index of your documents (\`npx seekrl index build --corpus FILE --out INDEX\`):\n\n\`\`\`\n${ask}\n\`\`\``;
  if (facts.library === undefined) return seekrl;
  const other = `Its weights alone, without the loop of searches:\n\n\`\`\`python\n${python(facts)}\n\`\`\``;
  return `${seekrl}\n\n${other}`;
}
