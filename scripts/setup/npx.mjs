/**
 * Whether this is a lifecycle script that npx runs before the command it was asked for.
 *
 * In a clone `npx seekrl` runs `install` there, hides what it prints, and keeps a broken cache for good when it fails. It
 * does nothing then: the command sets up what is missing, in sight (bin/seekrl.mjs).
 */
export function isNpx() {
  const { npm_command: command, npm_lifecycle_event: event } = process.env;
  return command === "exec" && event === "install";
}
