// Elements without templates: every text is a text node, so nothing a file or a link says can become markup.
// @ts-check

/** @typedef {string | number | boolean | null | undefined} Value of an attribute: true is a word alone; false and null leave it out */
/** @typedef {"accept" | "alt" | "checked" | "class" | "disabled" | "download" | "for" | "height" | "hidden" | "href" | "id" | "inputmode" | "label" | "max" | "min" | "placeholder" | "role" | "rows" | "scope" | "spellcheck" | "step" | "tabindex" | "title" | "type" | "value" | "width"} Name */
/** @typedef {{[E in keyof HTMLElementEventMap as `on${E}`]?: (event: HTMLElementEventMap[E]) => void}} Handlers */
/** @typedef {Handlers & {[N in Name]?: Value} & {[name: `aria-${string}` | `data-${string}`]: Value}} Attributes */
/** @typedef {Node | string | null | undefined} Child */

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Attributes} attributes @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children.flat().flatMap((child) => child ?? []));
  return node;
}

/**
 * Set a property where it is another: what is written again is laid out and painted again, though nobody sees it.
 * @template {object} T @template {keyof T} K
 * @param {T} node @param {K} name @param {T[K]} value
 */
export function put(node, name, value) { if (node[name] !== value) node[name] = value; }

/** Words of an element, written where they are others. @param {Node} node @param {string} words */
export function write(node, words) { put(node, "textContent", words); }

/** A number for people: up to `digits` significant digits, 1e-12 rather than zeros. @param {number | null | undefined} value */
export function shown(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-3 ? value.toExponential(Math.max(0, digits - 1)) : String(Number(value.toPrecision(digits)));
  return text.replace(/\.?0+e/, "e").replace("e+", "e").replace("-", "−").replace("e−", "e-");
}

/** A time that may lie beyond the range of a double. @param {number | null} time @param {number | null} logTime */
export function shownTime(time, logTime) {
  if (time !== null && Number.isFinite(time)) return shown(time);
  return logTime === null ? "–" : `10^${shown(logTime / Math.LN10, 5)}`;
}

/** @param {ArrayLike<number>} values */
export function vectorText(values, digits = 4) {
  const items = Array.from(values).map((value) => shown(value, digits));
  return `(${(items.length > 6 ? [...items.slice(0, 5), `… ${items.length}`] : items).join(", ")})`;
}

/**
 * A table whose first row is its head; one that is wide is shown as cards where there is little room.
 * @param {string[]} head @param {Child[][]} rows @param {string} [caption]
 */
export function table(head, rows, caption, isWide = head.length > 3) {
  return element("table", { class: isWide ? "wide" : null },
    caption ? element("caption", {}, caption) : null,
    element("thead", {}, element("tr", {}, head.map((word) => element("th", { scope: "col" }, word)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map((cell, k) => element("td", { "data-head": head[k] }, cell))))));
}

/** @param {string} name @param {Blob | BlobPart} content @param {string} type */
export function download(name, content, type) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  const link = element("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
