import { Inject, Injectable } from '@nestjs/common';
import { filterBytes, planGeometry, planLayers, type Geometry, type Segmentation } from '#bloom';
import type { Filter, FilterSpec, SyncPlan } from '#store';
import { Config } from '../config/config.js';
import { invalid, ProblemError, unwanted } from '../errors/problem.js';
import { Store } from '../store/store.token.js';
import { humanBytes } from './bytes.js';
import type { PlanDto } from './filter.dto.js';

/** The parameters that determine a filter's size, besides `perHost`. */
type Asked = Omit<PlanDto, 'perHost'>;
type Planned = Pick<FilterSpec, 'geometry' | 'layers'>;

/** Plans filter geometries. */
@Injectable()
export class FilterPlanner {
  constructor(
    @Inject(Store) private readonly store: Store,
    @Inject(Config) private readonly config: Config,
  ) {}

  /**
   * For a filter that grows, plans all layers that fit into MAX_FILTER_BYTES. With `perHost`, keeps each host's URLs
   * together. Throws VALIDATION_FAILED for members that contradict each other.
   */
  plan({ perHost, ...dto }: Asked & Pick<FilterSpec, 'perHost'>): Planned {
    const { segmentation, runs } = this.store;
    if (!perHost) return this.within(dto, segmentation);
    const { type, growth } = dto;
    if (type !== 'counting') throw unwanted('perHost', perHost, 'only visited sets have it');
    if (growth !== 'auto')
      throw invalid(
        '#/growth',
        growth === undefined
          ? 'growth is missing; it must be "auto" for a set with perHost'
          : `growth must be "auto" for a set with perHost, not "${growth}"`,
      );
    return this.within(dto, { ...segmentation, spread: runs });
  }

  /**
   * Plans the layers that a sync fills. They grow as the filter does, and may have a different capacity or error rate.
   * Each item must keep its hash and its segment. So the plan has the filter's hash scheme, and its number of segments
   * is a multiple of the number that the filter was created with. Throws FILTER_TOO_LARGE.
   */
  planSync(filter: Filter, asked: Partial<Pick<PlanDto, 'capacity' | 'errorRate'>>): SyncPlan {
    const { capacity = filter.capacity, errorRate = filter.errorRate } = asked;
    const growth = filter.layers === undefined ? 'none' : 'auto';
    const { spread } = filter.geometry;
    const segments = { minSegments: filter.spread, minSegmentBytes: 0, spread };
    const segmentation = { ...this.store.segmentation, ...segments };
    const { type, maxAgeSeconds } = filter;
    const aged = maxAgeSeconds === undefined ? {} : { maxAgeSeconds };
    const planned = this.within({ type, capacity, errorRate, growth, ...aged }, segmentation);
    this.refuseTooLarge(planned.geometry);
    const { hashScheme } = filter.geometry;
    const layers = planned.layers?.map((layer) => ({
      ...layer,
      geometry: { ...layer.geometry, hashScheme },
    }));
    return {
      capacity,
      errorRate,
      geometry: { ...planned.geometry, hashScheme },
      ...(layers !== undefined && { layers }),
    };
  }

  /** Throws FILTER_TOO_LARGE if the geometry exceeds the limit for one filter. */
  refuseTooLarge(geometry: Geometry): void {
    const bytes = filterBytes(geometry);
    const { maxFilterBytes } = this.config;
    if (bytes <= maxFilterBytes) return;
    throw new ProblemError(
      'FILTER_TOO_LARGE',
      `the filter would take ${humanBytes(bytes)} (${bytes} bytes); MAX_FILTER_BYTES allows ${humanBytes(maxFilterBytes)}. Ask for a lower capacity or a higher errorRate`,
    );
  }

  private within(
    { type, capacity, errorRate, growth, maxAgeSeconds }: Asked,
    segmentation: Segmentation,
  ): Planned {
    if (maxAgeSeconds !== undefined && type !== 'counting')
      throw unwanted('maxAgeSeconds', maxAgeSeconds, `a ${type} filter does not age`);
    const cellBits = maxAgeSeconds !== undefined ? 8 : type === 'counting' ? 4 : 1;
    const sizing = { capacity, errorRate, cellBits } as const;
    if (growth !== 'auto') return { geometry: planGeometry(sizing, segmentation) };
    const layers = planLayers(sizing, segmentation, this.config.maxFilterBytes);
    return { geometry: layers[0].geometry, layers };
  }
}
