// An animated GIF from canvas frames: 216 colours of a cube and 40 greys, LZW as in the format's description (1989).
// @ts-check

const GREYS = 40;

function paletteBytes() {
  const bytes = new Uint8Array(768);
  for (let k = 0; k < 216; k++) bytes.set([51 * Math.floor(k / 36), 51 * (Math.floor(k / 6) % 6), 51 * (k % 6)], 3 * k);
  for (let k = 0; k < GREYS; k++) bytes.fill(Math.round((255 * (k + 0.5)) / GREYS), 3 * (216 + k), 3 * (216 + k) + 3);
  return bytes;
}

/** Nearest colours of the palette. */
function indexed(image) {
  const pixels = new Uint8Array(image.width * image.height), { data } = image;
  for (let k = 0; k < pixels.length; k++) {
    const r = data[4 * k], g = data[4 * k + 1], b = data[4 * k + 2];
    const spread = Math.max(r, g, b) - Math.min(r, g, b);
    pixels[k] = spread < 14 && r > 3 && r < 252
      ? 216 + Math.min(GREYS - 1, Math.floor((r / 256) * GREYS))
      : 36 * Math.round(r / 51) + 6 * Math.round(g / 51) + Math.round(b / 51);
  }
  return pixels;
}

/** @param {Uint8Array} pixels @returns {number[]} the blocks of one image */
export function lzwBlocks(pixels) {
  const CLEAR = 256, END = 257;
  const bytes = [];
  let buffer = 0, bits = 0, size = 9, next = 258;
  let table = new Map();
  const put = (code) => {
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
  const word = (n) => [n & 255, (n >> 8) & 255];
  const first = frame(0), { width, height } = first;
  const parts = [new Uint8Array([...new TextEncoder().encode("GIF89a"), ...word(width), ...word(height), 0xf7, 0, 0]), paletteBytes(),
    new Uint8Array([0x21, 0xff, 11, ...new TextEncoder().encode("NETSCAPE2.0"), 3, 1, 0, 0, 0])];
  for (let k = 0; k < count; k++) {
    const image = k ? frame(k) : first;
    parts.push(new Uint8Array([0x21, 0xf9, 4, 0, ...word(k === count - 1 ? 150 : delay), 0, 0, 0x2c, 0, 0, 0, 0, ...word(width), ...word(height), 0]), new Uint8Array(lzwBlocks(indexed(image))));
    onProgress((k + 1) / count);
    await new Promise((resolve) => setTimeout(resolve));
  }
  parts.push(new Uint8Array([0x3b]));
  return new Blob(parts, { type: "image/gif" });
}
