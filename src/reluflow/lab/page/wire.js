// Frames from the server: the letters RLF1, a header in JSON, then the arrays (see wire.py).
// @ts-check
/** @import { Answer, Shaped } from "./answers.d.ts" */

const TYPES = { f8: Float64Array, f4: Float32Array, i4: Int32Array, i1: Int8Array };

/** @typedef {{name: string, type: keyof typeof TYPES, shape: number[], offset: number}} Entry of an array in the header */

/**
 * @param {ArrayBuffer} buffer
 * @returns {Answer} the header's fields, and under `arrays` each array with its shape
 */
export function decodeFrame(buffer) {
  const bytes = new Uint8Array(buffer, 0, 8);
  if (String.fromCharCode(...bytes.slice(0, 4)) !== "RLF1") throw new Error("not a frame of the laboratory");
  const length = new DataView(buffer).getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  /** @type {Record<string, Shaped<ArrayBufferView>>} */
  const arrays = {};
  for (const entry of /** @type {Entry[]} */ (header.arrays)) {
    const count = entry.shape.reduce((a, b) => a * b, 1);
    arrays[entry.name] = { data: new TYPES[entry.type](buffer, 8 + length + entry.offset, count), shape: entry.shape };
  }
  header.arrays = arrays;
  Object.defineProperty(header, "buffer", { value: buffer }); // as it came, for a page that is saved
  return header;
}

/** Rows of a two-dimensional array as plain lists. @param {Shaped<Float64Array>} array */
export function rowsOf(array) {
  const [rows, columns] = array.shape;
  return Array.from({ length: rows }, (_, i) => Array.from(array.data.subarray(i * columns, (i + 1) * columns)));
}
