/** Unpacks zip files, wheels among them. */
import { createWriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";

async function opened(path) {
  // Read when it is needed: the set-up explains itself even where no package is installed yet.
  const { default: yauzl } = await import("yauzl");
  return promisify(yauzl.open)(path, { lazyEntries: true, autoClose: false });
}

/** Calls `use(entry, readStream)` for each file of an archive, one after another; yauzl refuses names that lead out of it. */
async function eachFile(path, use) {
  const zip = await opened(path);
  const open = promisify(zip.openReadStream.bind(zip));
  try {
    await new Promise((done, fail) => {
      zip.on("error", fail);
      zip.on("end", done);
      zip.on("entry", async (entry) => {
        try {
          if (!entry.fileName.endsWith("/")) await use(entry, () => open(entry));
          zip.readEntry();
        } catch (error) {
          fail(error);
        }
      });
      zip.readEntry();
    });
  } finally {
    zip.close();
  }
}

/** Unpacks the files whose names `wanted` accepts into a folder. */
export async function unzip(path, folder, wanted = () => true) {
  await eachFile(path, async (entry, read) => {
    if (!wanted(entry.fileName)) return;
    const to = join(folder, entry.fileName);
    await mkdir(dirname(to), { recursive: true });
    await pipeline(await read(), createWriteStream(to));
  });
}

/** The text of the first file whose name matches; undefined when none does. */
export async function readFromZip(path, pattern) {
  let text;
  await eachFile(path, async (entry, read) => {
    if (text !== undefined || !pattern.test(entry.fileName)) return;
    const chunks = [];
    for await (const chunk of await read()) chunks.push(chunk);
    text = Buffer.concat(chunks).toString();
  });
  return text;
}
