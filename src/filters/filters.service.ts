import { Injectable } from '@nestjs/common';
import type { Operation } from '#store';
import { filterBytes } from '#bloom';
import type { Principal } from '../request/principal.js';
import { invalid } from '../errors/problem.js';
import { FilterLifecycle } from './filter-lifecycle.js';
import type { CreateFilterDto, ListQueryDto, PlanDto } from './filter.dto.js';
import { FilterPlanner } from './filter-planner.js';
import {
  filterView,
  geometryView,
  growthOf,
  lostFilterView,
  plannedLayerView,
  type FilterListView,
  type FilterView,
  type PlanView,
} from './filter.view.js';
import { perHostOf, perHostView } from './per-host.js';

/** Standard and counting filters as the API shows them. */
@Injectable()
export class FiltersService {
  constructor(
    private readonly filterLifecycle: FilterLifecycle,
    private readonly planner: FilterPlanner,
  ) {}

  plan(dto: PlanDto): PlanView {
    const { perHost: hosts, ...asked } = dto;
    const { type, capacity, errorRate, maxAgeSeconds } = asked;
    const perHost = hosts === undefined ? undefined : perHostOf(hosts);
    const { geometry, layers } = this.planner.plan({ ...asked, ...(perHost && { perHost }) });
    return {
      type,
      capacity,
      errorRate,
      growth: growthOf(layers),
      ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
      ...(perHost && { perHost: perHostView(perHost) }),
      geometry: geometryView(geometry),
      memoryBytes: filterBytes(geometry),
      ...(layers !== undefined && { plannedLayers: layers.map(plannedLayerView) }),
    };
  }

  async create(
    dto: CreateFilterDto,
    operation: Operation,
    caller: Principal,
  ): Promise<{ view: FilterView; created: boolean }> {
    const { name, type, semantics = 'set', capacity, errorRate, growth = 'none' } = dto;
    if (type === 'standard' && semantics === 'multiset') {
      throw invalid(
        '#/semantics',
        'semantics must be "set", not "multiset", because a standard filter cannot count',
      );
    }
    const spec = { name, kind: 'filter', type, semantics, capacity, errorRate, growth } as const;
    const { filter, stats, created } = await this.filterLifecycle.create(spec, operation, caller);
    return { view: filterView(filter, stats), created };
  }

  async get(name: string): Promise<FilterView> {
    const { filter, stats } = await this.filterLifecycle.get(name, 'filter');
    return filterView(filter, stats);
  }

  async list(query: ListQueryDto, caller: Principal): Promise<FilterListView> {
    const { page, ...rest } = await this.filterLifecycle.list('filter', query, caller);
    const filters = page.map(({ filter, stats }) =>
      stats ? filterView(filter, stats) : lostFilterView(filter),
    );
    return { filters, ...rest };
  }

  drop(name: string, operation: Operation): Promise<void> {
    return this.filterLifecycle.drop(name, 'filter', operation);
  }

  async clear(name: string, operation: Operation): Promise<FilterView> {
    const { filter, stats } = await this.filterLifecycle.clear(name, 'filter', operation);
    return filterView(filter, stats);
  }
}
