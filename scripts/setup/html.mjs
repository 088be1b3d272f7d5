/** HTML as far as attributes of links need it. */

/** The text of an attribute. */
export function unescapeHtml(text) {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
