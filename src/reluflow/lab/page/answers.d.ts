/** What the server sends: the frames of answers.py, run_answer.py and session.py. */
import type { ExtremalKind, RunState } from "./model.d.ts";

/** An array of a frame. */
export interface Shaped<Numbers> {
  data: Numbers;
  shape: number[];
}
export type Doubles = Shaped<Float64Array>;
export type Singles = Shaped<Float32Array>;
export type Integers = Shaped<Int32Array>;
export type Bytes = Shaped<Int8Array>;

/** What every frame holds. */
export interface Frame {
  /** The page's number of the request. */
  id?: number;
  /** Which of the two runs of the page it is about. */
  tag?: string;
  /** The theorem of a verdict. */
  key?: string;
  /** The frame as it came, for a page that is saved. */
  buffer: ArrayBuffer;
}

export interface Hello extends Frame {
  what: "hello";
  state: RunState;
  defaults: RunState;
  datasets: DatasetEntry[];
  schemes: Scheme[];
  ffmpeg: boolean;
}

export interface Scheme {
  name: string;
  paper: string;
  summary: string;
}

/** A registered dataset with the objective it is used with. */
export interface DatasetEntry extends Scheme {
  n: number;
  d: number;
  loss: RunState["loss"];
  reduction: RunState["reduction"];
  factor: number;
  leak: number | null;
  /** x, y and label of its samples, of a dataset of the plane. */
  points: number[][] | null;
}

export interface DataAnswer extends Frame {
  what: "data";
  name: string;
  log_scale: number;
  num_neurons: number;
  classes: string[] | null;
  command: string;
  python: string;
  arrays: {
    X: Doubles;
    y: Doubles;
    w: Doubles;
    a: Doubles;
    /** How many neurons each stands for; of infinitely many its quadrature weight. */
    weight: Doubles;
    /** Of several outputs. */
    v?: Doubles;
    /** Of one output. */
    forces?: Doubles;
  };
}

/** An extremal vector; its direction stands in `arrays.directions`. */
export interface ExtremalRow {
  vector: number[];
  norm: number;
  side: number;
  kind: ExtremalKind;
  pattern: string | number[];
}

interface GeometryWords extends Frame {
  what: "geometry";
  exact: boolean;
  degenerate: string[];
  extremal: ExtremalRow[];
  counts: Record<string, number>;
  ends: string[];
}

export interface KnownGeometry extends GeometryWords {
  open?: undefined;
  arrays: { directions: Doubles; end: Bytes; target: Integers; alignment_time: Doubles };
}

export interface OpenGeometry extends GeometryWords {
  /** Why nothing is listed. */
  open: string;
}

export type GeometryAnswer = KnownGeometry | OpenGeometry;

export interface Phase {
  name: string;
  start: number | null;
  end: number | null;
}

export interface RunAnswer extends Frame {
  what: "run";
  method: string;
  /** The code of the outcome; "running" while there is more to come. */
  outcome: string;
  sentence: string;
  /** Null where it lies beyond a double. */
  time: number | null;
  log_time: number | null;
  loss: number;
  steps: number;
  crossings: number;
  slides: number;
  phases: Phase[];
  events_complete: boolean;
  num_outputs?: number;
  leak: number;
  arrays: {
    t: Doubles;
    log_t: Doubles;
    frame_loss: Doubles;
    change: Doubles;
    units: Singles;
    log_w: Singles;
    log_a: Singles;
    signs: Bytes;
    weight: Doubles;
    outs?: Singles;
    b?: Singles;
    record_t: Doubles;
    record_log_t: Doubles;
    record_loss: Doubles;
    event_neuron: Integers;
    event_sample: Integers;
    event_t: Doubles;
    event_kind: Bytes;
    predictions: Doubles;
  };
}

/** What the end of a run is. */
export interface Limit {
  kind: string;
  proof: boolean;
  reason: string;
  reasons: string[];
  residuals: Record<string, number | null>;
  margin: number | null;
  best_linear_margin: number | null;
  global_margin: number | null;
  ignored: number[];
}
export interface LimitAnswer extends Frame, Limit {
  what: "limit";
}

export interface Condition {
  key: string;
  paper: string;
  statement: string;
  holds: boolean | null;
  margin: number | null;
  detail: string;
}

export interface TheoremEntry {
  key: string;
  applicable: boolean | null;
  why: string;
  statement: string;
}

export interface DiagnosisAnswer extends Frame {
  what: "diagnosis";
  conditions: Condition[];
  theorems: TheoremEntry[];
}

export interface Conclusion {
  name: string;
  source: string;
  measured: number | null;
  bound: number | null;
  slack: number | null;
}

export interface VerdictAnswer extends Frame {
  what: "verdict";
  key: string;
  verdict: string;
  why: string;
  conclusions: Conclusion[];
  erratum: string | null;
}

export interface ReportAnswer extends Frame {
  what: "report";
  html: string;
}

export interface MovieAnswer extends Frame {
  what: "movie";
  arrays: { mp4: Shaped<Int8Array<ArrayBuffer>> };
}

/** What is being done for a request. */
export interface Stage extends Frame {
  what: "stage";
  sentence: string;
}

/** All of an answer has come. */
export interface Done extends Frame {
  what: "done";
  of: string;
}

export interface Failure extends Frame {
  what: "error";
  sentence: string;
  of?: string;
}

export interface Pong extends Frame {
  what: "pong";
}

export type Answer =
  | Hello
  | DataAnswer
  | GeometryAnswer
  | RunAnswer
  | LimitAnswer
  | DiagnosisAnswer
  | VerdictAnswer
  | ReportAnswer
  | MovieAnswer
  | Stage
  | Done
  | Failure
  | Pong;
