// An animated GIF from canvas frames: the 256 colours that are used most, LZW as in the format's description (1989).
// @ts-check

const COLOURS = 256, BITS = 5;
/** @param {Uint8ClampedArray} data @param {number} at */
const boxOf = (data, at) => ((data[at] >> (8 - BITS)) << (2 * BITS)) | ((data[at + 1] >> (8 - BITS)) << BITS) | (data[at + 2] >> (8 - BITS));

/** The colours that some frames use most, each the mean of those it stands for: the page's own, not those of a cube. */
export class Palette {
  /** @param {ImageData[]} images */
  constructor(images) {
    /** @type {Map<number, number[]>} box of colours: count and sums */
    const boxes = new Map();
    for (const { data } of images) for (let at = 0; at < data.length; at += 4) {
      const box = boxOf(data, at), sums = boxes.get(box) ?? [0, 0, 0, 0];
      sums[0] += 1;
      for (let i = 0; i < 3; i++) sums[1 + i] += data[at + i];
      boxes.set(box, sums);
    }
    const most = [...boxes.values()].sort((one, two) => two[0] - one[0]).slice(0, COLOURS);
    this.colours = most.map(([count, ...sums]) => sums.map((sum) => Math.round(sum / count)));
    /** @type {Map<number, number>} */
    this.known = new Map();
  }

  bytes() {
    const bytes = new Uint8Array(3 * COLOURS);
    this.colours.forEach((colour, k) => bytes.set(colour, 3 * k));
    return bytes;
  }

  /** @param {ImageData} image */
  indexed(image) {
    const pixels = new Uint8Array(image.width * image.height), { data } = image;
    for (let k = 0; k < pixels.length; k++) {
      const box = boxOf(data, 4 * k);
      let index = this.known.get(box);
      if (index === undefined) this.known.set(box, index = this.nearest(data[4 * k], data[4 * k + 1], data[4 * k + 2]));
      pixels[k] = index;
    }
    return pixels;
  }

  /** @param {number} r @param {number} g @param {number} b */
  nearest(r, g, b) {
    let best = 0, least = Infinity;
    this.colours.forEach(([x, y, z], k) => {
      const gap = (x - r) ** 2 + (y - g) ** 2 + (z - b) ** 2;
      if (gap < least) [best, least] = [k, gap];
    });
    return best;
  }
}

/** @param {Uint8Array} pixels @returns {number[]} the blocks of one image */
export function lzwBlocks(pixels) {
  const CLEAR = 256, END = 257;
  /** @type {number[]} */
  const bytes = [];
  let buffer = 0, bits = 0, size = 9, next = 258;
  /** @type {Map<number, number>} */
  let table = new Map();
  const put = (/** @type {number} */ code) => {
    buffer |= code << bits;
    bits += size;
    while (bits >= 8) { bytes.push(buffer & 255); buffer >>>= 8; bits -= 8; }
  };
  put(CLEAR);
  let prefix = pixels[0];
  for (let k = 1; k < pixels.length; k++) {
    const key = prefix * 256 + pixels[k], known = table.get(key);
    if (known !== undefined) { prefix = known; continue; }
    put(prefix);
    if (next < 4096) {
      table.set(key, next);
      if (next === 1 << size && size < 12) size += 1;
      next += 1;
    } else {
      put(CLEAR);
      table = new Map();
      size = 9;
      next = 258;
    }
    prefix = pixels[k];
  }
  put(prefix);
  put(END);
  if (bits > 0) bytes.push(buffer & 255);
  const blocks = [8];
  for (let k = 0; k < bytes.length; k += 255) { const part = bytes.slice(k, k + 255); blocks.push(part.length, ...part); }
  blocks.push(0);
  return blocks;
}

/**
 * @param {(k: number) => ImageData} frame
 * @param {number} count
 * @param {number} delay hundredths of a second
 * @param {(share: number) => void} onProgress
 */
export async function animatedGif(frame, count, delay, onProgress) {
  const word = (/** @type {number} */ n) => [n & 255, (n >> 8) & 255];
  const first = frame(0), { width, height } = first;
  const palette = new Palette([first, frame(count >> 1), frame(count - 1)]);
  const parts = [new Uint8Array([...new TextEncoder().encode("GIF89a"), ...word(width), ...word(height), 0xf7, 0, 0]), palette.bytes(),
    new Uint8Array([0x21, 0xff, 11, ...new TextEncoder().encode("NETSCAPE2.0"), 3, 1, 0, 0, 0])];
  for (let k = 0; k < count; k++) {
    const image = frame(k);
    parts.push(new Uint8Array([0x21, 0xf9, 4, 0, ...word(k === count - 1 ? 150 : delay), 0, 0, 0x2c, 0, 0, 0, 0, ...word(width), ...word(height), 0]), new Uint8Array(lzwBlocks(palette.indexed(image))));
    onProgress((k + 1) / count);
    await new Promise((resolve) => setTimeout(resolve));
  }
  parts.push(new Uint8Array([0x3b]));
  return new Blob(parts, { type: "image/gif" });
}
