/** A program that holds a run's folder until it is told to stop: `node held-run.js FOLDER`. */
import { once } from "node:events";
import { lockFolder } from "../../../lib/base/files/folder-lock.ts";

const lock = await lockFolder(process.argv[2]!);
process.on("SIGINT", () => process.stdout.write("SIGINT\n"));
process.stdout.write("held\n");
const alive = setInterval(() => {}, 1000);
await once(process, "SIGINT");
clearInterval(alive);
// A step takes its time to end.
setTimeout(() => {
  process.stdout.write("ended\n");
  lock.close();
}, 300);
