/** `seekrl/world`: the built-in fictional world and its recipes. */

export { withWorldPrompt, worldRecipe } from "./world/recipes/world.ts";
export type { SpokenTurns } from "./world/recipes/world-speech.ts";
export type { Cast, Facts, Relation } from "./world/story/facts.ts";
export type { Kind } from "./world/story/names.ts";
export type { Program, QuestionKind, WorldQuestion } from "./world/story/questions.ts";
export type { Speech } from "./world/teachers/speech.ts";
export { createWorld, type World, type WorldOptions, type WorldSplit } from "./world/world.ts";
