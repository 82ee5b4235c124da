import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  filterBytes,
  assertKnown,
  assertSpread,
  capacityAt,
  MAX_CAPACITY,
  MAX_ERROR_RATE,
  MIN_ERROR_RATE,
  SEED_BYTES,
  segmentBytes,
  type Geometry,
  type Layer,
} from '#bloom';
import { SYSTEM_CLOCK } from '../clock.js';
import { MAX_MAX_AGE_SECONDS, MIN_MAX_AGE_SECONDS } from '../age.js';
import { MAX_SEGMENT_BYTES } from '../segmentation.js';
import {
  MAX_ATTEMPT,
  MAX_LEASE_MS,
  MAX_PER_HOST,
  type Filter,
  type FilterSpec,
  type PerHost,
} from '../port/index.js';
import { assertPerHost } from '../refusals.js';
import { ExportFileError } from './export-file-error.js';
import { isObject, oneOf, text, whole } from './members.js';

/** The contents of the first frame: a filter's description. */
export interface ExportHeader extends FilterSpec {
  /** Unique to this export. */
  readonly id: string;
  /** Generation of the exported filter. */
  readonly generation: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly exportedAt: number;
}

/** The header of an export that begins now. */
export function exportHeader(filter: Filter): ExportHeader {
  const { name, kind, type, semantics, capacity, errorRate, geometry, layers, seed } = filter;
  const { urlProfile, maxAttempts, maxAgeSeconds, perHost } = filter;
  const { generation, createdAt } = filter;
  const spec = { name, kind, type, semantics, capacity, errorRate, geometry, seed };
  return {
    id: randomUUID(),
    ...spec,
    ...(layers !== undefined && { layers }),
    ...(urlProfile !== undefined && { urlProfile }),
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
    ...(perHost !== undefined && { perHost }),
    ...{ generation, createdAt, exportedAt: SYSTEM_CLOCK.now() },
  };
}

export function encodeHeader(header: ExportHeader): Buffer {
  return Buffer.from(JSON.stringify({ ...header, seed: Buffer.from(header.seed).toString('hex') }));
}

/**
 * Maximum number of segments smaller than MIN_BYTES_OF_MANY. Finding the segments' cluster slots takes quadratic time.
 */
const MANY_SEGMENTS = 1_024;
const MIN_BYTES_OF_MANY = 2 ** 20;
const MAX_SEGMENTS = 2 ** 16;
/** Maximum number of runs of segments. In the embedded store, each mutation writes the counts of all runs. */
const MAX_SPREAD = 64;
/** Maximum k. An item's changes must fit in a byte counter. */
const MAX_HASHES = 32;
/** 32 bits of hash choose exactly among this many pages. */
const MAX_PAGES_PER_SEGMENT = 2 ** 21;
const MAX_NAME_LENGTH = 64;

/** Reads a header from an untrusted source. Checks every member, and allocates nothing. */
export function decodeHeader(json: unknown): ExportHeader {
  if (!isObject(json)) throw new ExportFileError('the header must be a JSON object');
  const type = oneOf(json, 'type', ['counting', 'standard'] as const);
  const cellBits = 'maxAgeSeconds' in json ? 8 : type === 'counting' ? 4 : 1;
  const header: ExportHeader = {
    id: text(json, 'id', /^[0-9a-f-]{36}$/),
    name: text(json, 'name', new RegExp(`^[^\\0]{1,${MAX_NAME_LENGTH}}$`)),
    kind: oneOf(json, 'kind', ['filter', 'visited-set'] as const),
    type,
    semantics: oneOf(json, 'semantics', ['set', 'multiset'] as const),
    capacity: whole(json, 'capacity', 1, MAX_CAPACITY),
    errorRate: errorRateOf(json),
    geometry: geometryOf(json['geometry'], cellBits),
    ...('layers' in json && { layers: layersOf(json['layers'], cellBits) }),
    seed: Buffer.from(text(json, 'seed', new RegExp(`^[0-9a-f]{${SEED_BYTES * 2}}$`)), 'hex'),
    ...('urlProfile' in json && { urlProfile: json['urlProfile'] }),
    ...('maxAttempts' in json && { maxAttempts: whole(json, 'maxAttempts', 1, MAX_ATTEMPT) }),
    ...('maxAgeSeconds' in json && {
      maxAgeSeconds: whole(json, 'maxAgeSeconds', MIN_MAX_AGE_SECONDS, MAX_MAX_AGE_SECONDS),
    }),
    ...('perHost' in json && { perHost: perHostOf(json['perHost']) }),
    generation: text(json, 'generation', /^[0-9a-f]{16}$/),
    createdAt: whole(json, 'createdAt', 0, Number.MAX_SAFE_INTEGER),
    exportedAt: whole(json, 'exportedAt', 0, Number.MAX_SAFE_INTEGER),
  };
  refuseImpossible(header);
  return header;
}

function errorRateOf(json: Readonly<Record<string, unknown>>, least = MIN_ERROR_RATE): number {
  const { errorRate } = json;
  if (typeof errorRate === 'number' && errorRate >= least && errorRate <= MAX_ERROR_RATE) {
    return errorRate;
  }
  throw new ExportFileError(`the header's errorRate must be from ${least} to ${MAX_ERROR_RATE}`);
}

const PER_HOST_LIMITS = { delayMs: MAX_LEASE_MS, maxLeased: MAX_PER_HOST, maxUrls: MAX_PER_HOST } as const;

const isLimit = (key: string): key is keyof PerHost => Object.hasOwn(PER_HOST_LIMITS, key);

/** Rejects unknown members, because they may be limits that this version doesn't enforce. */
function perHostOf(json: unknown): PerHost {
  if (!isObject(json)) throw new ExportFileError("the header's perHost must be an object");
  const perHost: { -readonly [K in keyof PerHost]: number } = {};
  for (const key of Object.keys(json)) {
    if (!isLimit(key))
      throw new ExportFileError("the header's perHost has a limit that this version does not know");
    perHost[key] = whole(json, key, 1, PER_HOST_LIMITS[key]);
  }
  return perHost;
}

/** Maximum number of layers in a filter. */
const MAX_LAYERS = 6;
/** Minimum error rate of a layer, which is a share of the filter's error rate. */
const MIN_LAYER_RATE = MIN_ERROR_RATE / 100;
/** Tolerance for rounding when adding up the shares of an error rate. */
const ROUNDING = 1e-9;

function layersOf(json: unknown, cellBits: Geometry['cellBits']): Layer[] {
  if (!Array.isArray(json) || json.length < 1 || json.length > MAX_LAYERS) {
    throw new ExportFileError(`the header's layers must be a list of 1 to ${MAX_LAYERS}`);
  }
  return json.map((layer: unknown) => {
    if (!isObject(layer)) throw new ExportFileError('each layer in the header must be an object');
    return {
      capacity: whole(layer, 'capacity', 1, MAX_CAPACITY),
      errorRate: errorRateOf(layer, MIN_LAYER_RATE),
      geometry: geometryOf(layer['geometry'], cellBits),
    };
  });
}

function geometryOf(json: unknown, cellBits: Geometry['cellBits']): Geometry {
  if (!isObject(json)) throw new ExportFileError("the header's geometry must be an object");
  whole(json, 'cellBits', cellBits, cellBits);
  const geometry: Geometry = {
    hashScheme: knownScheme(whole(json, 'hashScheme', 1, 2 ** 16)),
    cellBits,
    hashes: whole(json, 'hashes', 1, MAX_HASHES),
    pageCells: oneOf(json, 'pageCells', [128, 256, 512, 1024, 2048, 4096] as const),
    pagesPerSegment: whole(json, 'pagesPerSegment', 1, MAX_PAGES_PER_SEGMENT),
    segments: whole(json, 'segments', 1, MAX_SEGMENTS),
    ...('spread' in json && { spread: whole(json, 'spread', 1, MAX_SPREAD) }),
  };
  fitting(() => assertSpread(geometry));
  const bytes = segmentBytes(geometry);
  if (bytes > MAX_SEGMENT_BYTES) {
    throw new ExportFileError(`a segment of ${bytes} bytes is too large; the limit is ${MAX_SEGMENT_BYTES}`);
  }
  if (geometry.segments > MANY_SEGMENTS && bytes < MIN_BYTES_OF_MANY) {
    throw new ExportFileError(
      `${geometry.segments} segments for ${filterBytes(geometry)} bytes are too many; the limit is ${MANY_SEGMENTS}`,
    );
  }
  return geometry;
}

function knownScheme(number: number): number {
  fitting(() => assertKnown(number));
  return number;
}

function fitting(check: () => void): void {
  try {
    check();
  } catch (cause) {
    throw new ExportFileError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function refuseTooSmall({ capacity, errorRate, geometry }: Layer): void {
  const held = capacityAt(geometry, errorRate);
  if (capacity <= held) return;
  throw new ExportFileError(
    `the geometry holds ${held} items at errorRate ${errorRate}, fewer than the capacity ${capacity}`,
  );
}

/**
 * Throws unless an item has the same cells in its page, and belongs to the same segment of the filter, in every layer.
 */
function refuseOtherLayers({ layers, geometry, capacity, errorRate }: ExportHeader): void {
  if (!layers) {
    // Each run's limit is its share of a layer, so a filter without layers can't limit its runs.
    if (geometry.spread !== undefined) throw new ExportFileError('a filter with a spread must have layers');
    return;
  }
  const [first] = layers;
  if (first?.capacity !== capacity || !isDeepStrictEqual(first.geometry, geometry)) {
    throw new ExportFileError("the first layer must have the header's capacity and geometry");
  }
  const rate = layers.reduce((sum, layer) => sum + layer.errorRate, 0);
  if (rate > errorRate * (1 + ROUNDING)) {
    throw new ExportFileError(`the layers' error rates add up to ${rate}, more than errorRate ${errorRate}`);
  }
  for (const layer of layers) {
    const { hashScheme, hashes, pageCells, segments, spread } = layer.geometry;
    const same =
      hashScheme === geometry.hashScheme &&
      hashes === geometry.hashes &&
      pageCells === geometry.pageCells &&
      spread === geometry.spread;
    if (!same || segments % geometry.segments !== 0) {
      throw new ExportFileError(
        "layers differ: each must match the first in hash scheme, hashes, page size and spread; its segment count must be a multiple of the first layer's",
      );
    }
  }
}

function refuseImpossible(header: ExportHeader): void {
  const { kind, type, semantics, urlProfile, maxAttempts, maxAgeSeconds, capacity, errorRate, geometry } =
    header;
  for (const layer of header.layers ?? [{ capacity, errorRate, geometry }]) refuseTooSmall(layer);
  refuseOtherLayers(header);
  fitting(() => assertPerHost(header));
  if (type === 'standard' && semantics !== 'set') {
    throw new ExportFileError(`the header's semantics must be "set" for a standard filter`);
  }
  const visitedSet = kind === 'visited-set';
  if (visitedSet && (type !== 'counting' || semantics !== 'set')) {
    throw new ExportFileError('a visited set is a counting filter with the semantics "set"');
  }
  if (!visitedSet && urlProfile !== undefined) {
    throw new ExportFileError('only a visited set has a urlProfile');
  }
  if (!visitedSet && maxAttempts !== undefined) {
    throw new ExportFileError('only a visited set has maxAttempts');
  }
  if (!visitedSet && maxAgeSeconds !== undefined) {
    throw new ExportFileError('only a visited set has maxAgeSeconds');
  }
}
