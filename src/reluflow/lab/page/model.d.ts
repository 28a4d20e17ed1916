/** What the parts of the page hand to each other. */
import type { GeometryAnswer } from "./answers.d.ts";
import type { Run } from "./run.js";
import type { Palette } from "./surface.js";

export type Point = [number, number];

/** A run as a link describes it (state.py). */
export interface RunState {
  name: string;
  /** Samples and labels that are given; null where `name` is a registered dataset. */
  X: number[][] | null;
  y: number[] | null;
  bias: boolean;
  loss: "square" | "logistic" | "exponential" | "softmax";
  reduction: "mean" | "sum";
  factor: number;
  leak: number;
  width: number | "inf";
  /** A decimal of any exponent. */
  scale: string;
  init: string;
  seed: number;
  /** Rows (w, a) placed by hand, in units of the scale. */
  neurons: number[][] | null;
  method: "flow" | "gd";
  lr: number;
  iterations: number;
}

/** In what a second run differs. */
export type SecondRun = Partial<Pick<RunState, "scale" | "seed" | "method" | "lr" | "iterations" | "width" | "leak" | "init" | "loss">>;

export type TimeAxis = "log" | "change" | "linear";
export type LossAxis = "log" | "linear";

/** Where one looks. */
export interface View {
  /** The place on the axis of time, from 0 to 1. */
  at: number;
  neuron: number | null;
  axis: TimeAxis;
  loss: LossAxis;
  plane: string;
  scene: number | null;
}

/** Samples that are not trained on, with as many coordinates as the data have. */
export interface Held {
  X: number[][];
  y: number[];
}

/** The same with the objective of the run. */
export type HeldOut = Held & Pick<RunState, "loss" | "factor" | "reduction">;

/** All that a link holds. */
export interface State {
  version: number;
  run: RunState;
  ghost: SecondRun | null;
  held: Held | null;
  view: View;
}

export interface Selection {
  sample: number | null;
  neuron: number | null;
}

/** What lies under a pointer. */
export interface Found {
  sample?: number;
  neuron?: number;
}

/** The samples, and the neurons at the start. */
export interface Data {
  X: number[][];
  /** Labels; of several classes their numbers from 0. */
  y: number[];
  w: number[][];
  /** Output weights; of several outputs their sizes. */
  a: number[];
  /** Output weights of several outputs. */
  v: number[][] | null;
  classes: string[] | null;
  /** ln of the factor by which all weights are multiplied. */
  logScale: number;
}

export type ExtremalKind = "maximum" | "minimum" | "saddle";

export interface Extremal {
  vector: number[];
  /** Where it attracts or repels: a unit vector along or against `vector`. */
  direction: number[];
  norm: number;
  side: number;
  kind: ExtremalKind;
  pattern: string | number[];
}

/** One of the plane. */
export interface PlanarExtremal extends Extremal {
  pattern: number[];
  angle: number;
  /** Its place in the list. */
  index: number;
}

/** A cone of the plane: the angles between two walls. */
export interface Arc {
  start: number;
  end: number;
  D: number[];
  pattern: number[];
  numActive: number;
  /** The extremal vectors inside. */
  inside: PlanarExtremal[];
}

/** Directions from which neurons turn to the same end. */
export interface Segment {
  start: number;
  end: number;
  target: PlanarExtremal | "dead" | "open";
}

export interface PlanarGeometry {
  arcs: Arc[];
  extremal: PlanarExtremal[];
  /** By the sign of a. */
  basins: { 1: Segment[]; "-1": Segment[] };
}

/** Where each neuron is at one moment of a run. */
export interface NeuronStates {
  /** w_j/|w_j|, one after the other. */
  units: Float32Array;
  logW: Float32Array;
  logA: Float32Array;
  signs: Int8Array;
  /** v_j/|v_j|, of several outputs. */
  outs?: Float32Array;
  /** The class a neuron speaks for most, of several outputs. */
  classOf?: (j: number) => number;
}

/** The same as it is drawn. */
export interface ShownNeurons extends NeuronStates {
  m: number;
  d: number;
  isDead: ((j: number) => boolean) | null;
}

/** A neuron that is active on a sample in one run and not in the other. */
export interface Gate {
  neuron: number;
  sample: number;
}

/** What the viewer shows. */
export interface Model {
  data: Data;
  /** In the plane, and with one output. */
  geometry: PlanarGeometry | null;
  geometryAnswer?: GeometryAnswer | null;
  extremal: Extremal[];
  run: Run | null;
  /** The second run. */
  ghost: Run | null;
  isDescentBeside?: boolean;
  held?: HeldOut | null;
  view: View;
  selection: Selection;
  /** Layers of the circle that are not drawn. */
  hidden?: Set<string>;
  leak: number;
  isDragging?: boolean;
  /** Why there is no run. */
  absent?: string;
}

export interface PaintedModel extends Model {
  palette: Palette;
}

export interface ChangeOptions {
  isDragging?: boolean;
  /** Samples and neurons where they are already known here, as during a drag. */
  data?: Data | null;
  /** Samples held out from now on, or none; without it those of before. */
  held?: Held | null;
}

/** What dragging needs of the page it happens on: the laboratory or a saved run. */
export interface Draggable {
  readonly localData: Data | null;
  readonly selection: Selection;
  /** The label of a sample that a click adds. */
  adding: number | null;
  readonly state: { run: { loss: string; scale: string } };
  select(found: Found): void;
  change(changes: Partial<RunState>, options?: ChangeOptions): void;
}

/** Changes to samples and neurons, made by hand. */
export interface Editing {
  setSamples(X: number[][], y: number[], options?: ChangeOptions): void;
  moveSample(k: number, x: number[], options?: ChangeOptions): void;
  relabel(k: number, label: number, options?: ChangeOptions): void;
  flip(k: number): void;
  addSample(x: number[], label: number): void;
  canEditNeurons(): boolean;
  /** Rows (w, a), in units of the scale. */
  neuronRows(): number[][];
  moveNeuron(j: number, w: number[], a: number, options?: ChangeOptions): void;
  remove(selection: Selection): void;
}
