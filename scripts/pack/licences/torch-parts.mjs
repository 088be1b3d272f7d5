/** What a package of libtorch is made of: PyTorch, and what its licences name. */
import { namesIn, textsIn } from "../tarball.mjs";
import { spdxOf } from "./spdx.mjs";
import { ownTerms } from "./third-party.mjs";

/** Of each part the file that stands for its licence, the one that lies highest: `fmt`, `licenses/third_party/fmt/LICENSE`. */
function licenceFiles(names) {
  const found = new Map();
  const depth = (name) => name.split("/").length;
  for (const name of names) {
    const [, part] = /^licenses\/(?:third_party\/)?([^/]+)\/.*[^/]$/.exec(name) ?? [];
    if (part === undefined) continue;
    const before = found.get(part);
    if (before === undefined || depth(name) < depth(before)) found.set(part, name);
  }
  return found;
}

/** The parts of a tarball; PyTorch by the name under which scanners know its faults. */
export async function torchParts(path, version) {
  const files = licenceFiles(await namesIn(path));
  const texts = await textsIn(path, [...files.values()]);
  const others = [...files].map(([name, file]) => {
    const license = ownTerms[name] ?? spdxOf(texts.get(file)) ?? `LicenseRef-${name}`;
    return { name, license, file };
  });
  const [name, license, file] = ["torch", "BSD-3-Clause", "LICENSE"];
  return [{ name, version, license, file, purl: `pkg:pypi/torch@${version}` }, ...others];
}
