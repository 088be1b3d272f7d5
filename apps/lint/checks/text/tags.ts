/** The recipe's tags and turns are the same text after encoding and decoding. */
import { type Finding, quote, verdict } from "../../finding.ts";
import type { LintSubject } from "../../subject.ts";
import { turnsFor } from "../../written.ts";

const subject = { check: "tags become ids and the same tags again" };

/** Encodes and decodes every tag, alone and in its turn. */
export function checkTags({ parts, turns, tokenizer }: LintSubject): Finding {
  const { format, tokenizer: codec } = parts;
  const spoken = turns ?? turnsFor(format);
  const written = spoken ? [spoken.search(" Why?", ["A query"]), spoken.answer(" So.", "An answer")] : [];
  const problems = [...new Set([...format.turnEnds, ...written])].flatMap((text) => {
    const again = codec.decode(codec.encode(text));
    return again === text ? [] : [`${quote(text)} came back as ${quote(again)}`];
  });
  const seen = format.turnEnds.map((tag) => `${tag} ${[...tokenizer.encode(tag)].join(" ")}`);
  return verdict(subject, problems, seen.join("; "));
}
