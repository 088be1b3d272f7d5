/** What SPDX calls a licence, as far as its text says it plainly. */

/** Each: a sentence that licences of a family have and no others, and SPDX's name of such a text. */
const families = [
  [
    /Apache License\s+Version 2\.0/,
    (text) => (/LLVM Exceptions/.test(text) ? "Apache-2.0 WITH LLVM-exception" : "Apache-2.0"),
  ],
  [
    /Redistribution and use in source and binary forms/,
    (text) => (/endorse\s+or\s+promote/.test(text) ? "BSD-3-Clause" : "BSD-2-Clause"),
  ],
  [/Boost Software License - Version 1\.0/, () => "BSL-1.0"],
  [/Permission is hereby granted, free of charge, to any person obtaining/, () => "MIT"],
];

/** SPDX's name; undefined for a text of several licences, or of one that is not known here. */
export function spdxOf(text) {
  const found = families.filter(([sentence]) => sentence.test(text));
  return found.length === 1 ? found[0][1](text) : undefined;
}
