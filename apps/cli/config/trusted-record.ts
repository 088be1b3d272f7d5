/** Options that a run's folder brings along: acted upon where this user's own command wrote them, or when told so. */
import { parseConfigText } from "../../../lib/data/files/config-text.ts";
import { isOwnRecord, isRecord } from "../../../lib/train/run/run-record.ts";
import { foreignRecordMessage } from "../../runs/named-in-record.ts";
import { isValues } from "../assignments.ts";
import { type CommandIo, UsageError } from "../command.ts";
import { readConfigText } from "./config-file.ts";

/**
 * Refuses the record of a run that came from elsewhere. Another file that the user names is the user's own word.
 *
 * @param path - as it was given by `--config`
 * @throws UsageError with all that it names
 */
export async function requireOwnRecord(path: string, { trust }: Pick<CommandIo, "trust">): Promise<void> {
  if (trust) return;
  const text = await readConfigText(path);
  const config = optionsIn(text, path);
  if (config === undefined || !(await isRecord(path, text, config)) || (await isOwnRecord(text, config)))
    return;
  throw new UsageError(
    `--config ${await foreignRecordMessage(path, config, "--trust, where all of that may be used")}`,
  );
}

/** Undefined for what is refused anyway when it is read. */
function optionsIn(text: string, path: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseConfigText(text, path);
    return isValues(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
