/**
 * Whether this is a lifecycle script that npx runs before the command it was asked for.
 *
 * In a clone `npx seekrl` runs `prepare` and `install` there, hides what they print, and keeps a broken cache for good
 * when one fails. Both do nothing then: the command sets up what is missing, in sight (bin/seekrl.mjs).
 */
export function isNpx() {
  const { npm_command: command, npm_lifecycle_event: event } = process.env;
  return command === "exec" && (event === "install" || event === "prepare");
}
