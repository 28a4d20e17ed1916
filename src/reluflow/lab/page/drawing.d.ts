/** What is drawn on: a canvas of the screen, or SVG text. */

/** How a shape looks. */
export interface Look {
  stroke?: string | null;
  fill?: string | null;
  width?: number;
  dash?: number[];
  alpha?: number;
  close?: boolean;
  /** Of an arc: with both radii. */
  wedge?: boolean;
  /** Of marks: diamonds instead of circles. */
  diamond?: boolean;
}

/** How words look. */
export interface TextLook {
  color?: string;
  size?: number;
  align?: "left" | "center" | "right";
  base?: "top" | "middle" | "alphabetic";
  weight?: string;
  alpha?: number;
  /** The colour of a rim that keeps words readable over lines. */
  halo?: string | null;
}

export interface Surface {
  readonly width: number;
  readonly height: number;
  clear(color: string): void;
  /** A line through points; points that are not numbers break it. */
  path(points: number[][], look?: Look): void;
  arc(x: number, y: number, radius: number, start: number, end: number, look?: Look): void;
  circle(x: number, y: number, radius: number, look?: Look): void;
  /** Many equal marks: x and y of each, one after the other. */
  marks(places: number[], radius: number, look?: Look): void;
  rect(x: number, y: number, width: number, height: number, look?: Look): void;
  text(x: number, y: number, words: string, look?: TextLook): void;
  /** A small picture of pixels, stretched. */
  image(canvas: HTMLCanvasElement, x: number, y: number, width: number, height: number): void;
}
