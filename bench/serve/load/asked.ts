/** What is asked of server and engine alike: prompts, seeds, lengths. */

/** The question that a client asks. */
export function questionOf(client: number, round: number): string {
  const people = ["Nightwinter", "the river town", "Arden Holm", "the third harbour", "Maris Velt"];
  return `who directed ${people[client % people.length]} ${client} and where was ${round} born`;
}

/** Of its draws: the same on both sides, so that both sample the same tokens. */
export function seedOf(client: number, round: number): number {
  return 1000 * client + round;
}

/** Highest of the distribution, so that replies go on long. */
export const temperature = 1.5;
